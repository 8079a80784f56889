"""SaslHandshake and SaslAuthenticate, and their mechanisms SASL/PLAIN (RFC 4616) and SCRAM (RFC 5802, RFC 7677).

Client addresses have their tokens checked in turn, so that one that guesses passwords does not delay the others. Each
conversation is a generator of tokens, for the gateway's clients and for itself at its upstream. A step of the server's
side may take some milliseconds: it is run in a thread. Knows the two messages, credentials and the caller's principal.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import os
import secrets
from collections.abc import Generator, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

from kio.schema.errors import ErrorCode

from rollcall.serve.gateway.exchange import Answer, Ask, Building, Caller, Endpoint, Later
from rollcall.serve.gateway.fair_threads import FairThreads
from rollcall.serve.listeners.credentials import HASHES, Users, keys_of

_THREADS = min(4, os.cpu_count() or 1)
_REFUSAL_S = 0.1
"""A refusal is delayed by this much, so that guessing takes time."""
MOST_ITERATIONS = 65_536
"""Kafka takes 16,384 at most; more only costs the clients time."""
_NONCE_BYTES = 24
_NO_CHANNEL_BINDING = "n,,"
_keys_of = lru_cache(maxsize=16)(keys_of)
"""A server's salt stays the same from connection to connection."""


class Sasl:
    def __init__(self, users: Users, mechanisms: Sequence[str]) -> None:
        self._users = users
        self._mechanisms = mechanisms
        self._threads = FairThreads(_THREADS, "passwords")

    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint("SaslHandshake", 17, 1, 1, self._handshake, holds=True),
            Endpoint("SaslAuthenticate", 36, 0, 2, self._authenticate, holds=True),
        ]

    def _handshake(self, ask: Ask) -> Answer:
        name = ask.message.mechanism
        values: dict[str, Any] = {"mechanisms": self._mechanisms}
        if ask.caller.is_known:
            values["error_code"] = ErrorCode.illegal_sasl_state
        elif name not in self._mechanisms:
            values["error_code"] = ErrorCode.unsupported_sasl_mechanism
        else:
            ask.caller.conversation = conversation(name, self._users)
        return values

    def _authenticate(self, ask: Ask) -> Answer:
        if ask.caller.conversation is None:
            return _refused(ask.caller, ErrorCode.illegal_sasl_state, "SaslHandshake comes first, and once")
        return Later(asyncio.ensure_future(self._answer(ask)), lambda done: Building(0, done.result))

    async def _answer(self, ask: Ask) -> dict[str, Any]:
        try:
            step = partial(ask.caller.conversation.send, ask.message.auth_bytes)
            token, name = await self._threads.run(ask.caller.host, step)
        except AuthenticationError as error:
            await asyncio.sleep(_REFUSAL_S)
            return _refused(ask.caller, ErrorCode.sasl_authentication_failed, f"Authentication failed: {error}")
        if name is not None:
            ask.caller.principal = f"User:{name}"
            ask.caller.is_known = True
            ask.caller.conversation = None
        return {"auth_bytes": token}


def _refused(caller: Caller, code: ErrorCode, why: str) -> dict[str, Any]:
    caller.is_refused = True
    return {"error_code": code, "error_message": why}


class AuthenticationError(Exception):
    """A side cannot prove its name, or does not follow the mechanism; the text may be sent to a client."""


class TokenAnswer(NamedTuple):
    """A server's answer to a token."""

    token: bytes
    """The token for the client."""
    name: str | None = None
    """The client's name, once it is proven."""


# ---------------------------------------------------------------- the server's side

Conversation = Generator[TokenAnswer, bytes, None]
"""Is sent a client's tokens. Raises AuthenticationError."""


def conversation(mechanism: str, users: Users) -> Conversation:
    """With one client, by one of the mechanisms that the settings know; takes the first token."""
    begun = _plain_of(users) if mechanism == "PLAIN" else _scram_of(mechanism, users)
    next(begun)
    return begun


def _plain_of(users: Users) -> Conversation:
    """One token: authorization id, name and password, parted by NUL."""
    token = yield TokenAnswer(b"")
    try:
        authorization_id, name, password = token.decode().split("\0")
    except ValueError:
        raise AuthenticationError("the token is not of the form [id] NUL name NUL password") from None
    if authorization_id not in ("", name):
        raise AuthenticationError("the authorization id is another than the name")
    if not name or not password or not users.is_password(name, password):
        raise AuthenticationError("invalid user name or password")
    yield TokenAnswer(b"", name)


def _scram_of(mechanism: str, users: Users) -> Conversation:
    """Two tokens: the client's name and nonce, then its proof."""
    token = yield TokenAnswer(b"")
    try:
        flag, authorization_id, bare = token.decode().split(",", 2)
        if flag not in ("n", "y"):
            raise AuthenticationError("channel binding is not offered")
        given = _attributes(bare)
        name = _unescaped(given["n"])
        if authorization_id and _unescaped(authorization_id.removeprefix("a=")) != name:
            raise AuthenticationError("the authorization id is another than the name")
        if not given["r"]:
            raise AuthenticationError("an empty nonce")
        credential = users.credential(name, mechanism)
        nonce = given["r"] + secrets.token_urlsafe(_NONCE_BYTES)
        first = f"r={nonce},s={_encoded(credential.salt)},i={credential.iterations}"
        without_proof, _, proof = (yield TokenAnswer(first.encode())).decode().rpartition(",p=")
        given = _attributes(without_proof)
        if _decoded(given["c"]) != f"{flag},{authorization_id},".encode() or given["r"] != nonce:
            raise AuthenticationError("the channel binding or the nonce is not the one of before")
        message = f"{bare},{first},{without_proof}".encode()
        signature = hmac.digest(credential.stored_key, message, credential.hash_name)
        client_key = _xor(_decoded(proof), signature)
    except (ValueError, KeyError):
        raise AuthenticationError(f"a malformed {mechanism} message") from None
    stored_key = hashlib.new(credential.hash_name, client_key).digest()
    if not hmac.compare_digest(stored_key, credential.stored_key):
        raise AuthenticationError("invalid user name or password")
    verifier = hmac.digest(credential.server_key, message, credential.hash_name)
    yield TokenAnswer(f"v={_encoded(verifier)}".encode(), name)


# ---------------------------------------------------------------- the client's side

Tokens = Generator[bytes, bytes, None]


def tokens(mechanism: str, name: str, password: str) -> Tokens:
    """A client's tokens by a mechanism; is sent the server's, and ends once the client is authenticated.

    Raises AuthenticationError: the server does not prove itself.
    """
    return _plain(name, password) if mechanism == "PLAIN" else _scram(mechanism, name, password)


def _plain(name: str, password: str) -> Tokens:
    yield f"\0{name}\0{password}".encode()


def _scram(mechanism: str, name: str, password: str) -> Tokens:
    hash_name = HASHES[mechanism]
    nonce = secrets.token_urlsafe(_NONCE_BYTES)
    bare = f"n={name.replace('=', '=3D').replace(',', '=2C')},r={nonce}"
    try:
        first = (yield f"{_NO_CHANNEL_BINDING}{bare}".encode()).decode()
        given = _attributes(first)
        both_nonces, salt, iterations = given["r"], _decoded(given["s"]), int(given["i"])
        if not both_nonces.startswith(nonce) or not 0 < iterations <= MOST_ITERATIONS:
            raise AuthenticationError("the server's nonce or number of iterations is unfit")
        client_key, server_key = _keys_of(password, mechanism, iterations, salt)
        last = f"c={_encoded(_NO_CHANNEL_BINDING.encode())},r={both_nonces}"
        message = f"{bare},{first},{last}".encode()
        signature = hmac.digest(hashlib.new(hash_name, client_key).digest(), message, hash_name)
        final = _attributes((yield f"{last},p={_encoded(_xor(client_key, signature))}".encode()).decode())
        if not hmac.compare_digest(_decoded(final["v"]), hmac.digest(server_key, message, hash_name)):
            raise AuthenticationError("the server does not know the password")
    except (ValueError, KeyError):
        raise AuthenticationError("the server's SCRAM message is malformed") from None


# ---------------------------------------------------------------- SCRAM's messages


def _attributes(text: str) -> dict[str, str]:
    """`n=alice,r=abc` by letter. Raises ValueError: also for a letter that comes twice, and for the mandatory extension
    `m=`. By RFC 5802 a side that does not know a mandatory extension must end the conversation; none is known.
    """
    pairs = [part.split("=", 1) for part in text.split(",")]
    given = {letter: value for letter, value in pairs}
    if "m" in given or len(given) != len(pairs):
        raise ValueError(f"{text!r} has an extension or a letter twice")
    return given


def _unescaped(name: str) -> str:
    return name.replace("=2C", ",").replace("=3D", "=")


def _xor(one: bytes, other: bytes) -> bytes:
    """Raises ValueError: they are not of one length."""
    return bytes(a ^ b for a, b in zip(one, other, strict=True))


def _encoded(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _decoded(text: str) -> bytes:
    """Raises ValueError."""
    return base64.b64decode(text, validate=True)
