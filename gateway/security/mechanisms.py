"""The server's side of SASL/PLAIN (RFC 4616) and SCRAM (RFC 5802, RFC 7677): tokens in, tokens out, and a name.

Knows credentials; knows no message of Kafka's. A step may take some milliseconds: it is run in a thread.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from typing import NamedTuple, Protocol

from listeners.credentials import Credential, Users

_NONCE_BYTES = 24


class AuthenticationError(Exception):
    """A client cannot prove its name, or does not follow the mechanism; the text may be sent to it."""


class Step(NamedTuple):
    """One answer of a conversation."""

    token: bytes
    """The token for the client."""
    name: str | None
    """The client's name, once it is proven."""


class Mechanism(Protocol):
    """One conversation with one client."""

    def step(self, token: bytes) -> Step:
        """Raises AuthenticationError."""


class Plain:
    """One token: authorization id, name and password, parted by NUL."""

    def __init__(self, users: Users) -> None:
        self._users = users

    def step(self, token: bytes) -> Step:
        try:
            authorization_id, name, password = token.decode().split("\0")
        except ValueError:
            raise AuthenticationError("the token is not of the form [id] NUL name NUL password") from None
        if authorization_id not in ("", name):
            raise AuthenticationError("the authorization id is another than the name")
        if not name or not password or not self._users.is_password(name, password):
            raise AuthenticationError("invalid user name or password")
        return Step(b"", name)


class Scram:
    """Two tokens: the client's name and nonce, then its proof."""

    def __init__(self, users: Users, mechanism: str) -> None:
        self._users = users
        self._mechanism = mechanism
        self._credential: Credential | None = None

    def step(self, token: bytes) -> Step:
        try:
            text = token.decode()
            return self._first(text) if self._credential is None else self._final(self._credential, text)
        except (ValueError, KeyError, binascii.Error):
            raise AuthenticationError(f"a malformed {self._mechanism} message") from None

    def _first(self, text: str) -> Step:
        flag, authorization_id, bare = text.split(",", 2)
        if flag not in ("n", "y"):
            raise AuthenticationError("channel binding is not offered")
        self._header = f"{flag},{authorization_id},"
        given = attributes(bare)
        self._name = _unescaped(given["n"])
        if authorization_id and _unescaped(authorization_id.removeprefix("a=")) != self._name:
            raise AuthenticationError("the authorization id is another than the name")
        if not given["r"]:
            raise AuthenticationError("an empty nonce")
        self._credential = self._users.credential(self._name, self._mechanism)
        self._nonce = given["r"] + secrets.token_urlsafe(_NONCE_BYTES)
        salt = base64.b64encode(self._credential.salt).decode()
        answer = f"r={self._nonce},s={salt},i={self._credential.iterations}"
        self._auth_message = f"{bare},{answer}"
        return Step(answer.encode(), None)

    def _final(self, credential: Credential, text: str) -> Step:
        without_proof, _, proof = text.rpartition(",p=")
        given = attributes(without_proof)
        if base64.b64decode(given["c"], validate=True).decode() != self._header or given["r"] != self._nonce:
            raise AuthenticationError("the channel binding or the nonce is not the one of before")
        message = f"{self._auth_message},{without_proof}".encode()
        signature = hmac.digest(credential.stored_key, message, credential.hash_name)
        sent = base64.b64decode(proof, validate=True)
        if len(sent) != len(signature):
            raise AuthenticationError("invalid user name or password")
        client_key = bytes(a ^ b for a, b in zip(sent, signature, strict=True))
        stored_key = hashlib.new(credential.hash_name, client_key).digest()
        if not hmac.compare_digest(stored_key, credential.stored_key):
            raise AuthenticationError("invalid user name or password")
        verifier = hmac.digest(credential.server_key, message, credential.hash_name)
        return Step(b"v=" + base64.b64encode(verifier), self._name)


def attributes(text: str) -> dict[str, str]:
    """`n=alice,r=abc` by letter. Raises ValueError: also for a letter that comes twice, and for the mandatory extension
    `m=`. By RFC 5802 a side that does not know a mandatory extension must end the conversation; none is known.
    """
    pairs = [part.split("=", 1) for part in text.split(",")]
    given = {letter: value for letter, value in pairs}
    if "m" in given or len(given) != len(pairs):
        raise ValueError(f"{text!r} has an extension or a letter twice")
    return given


def escaped(name: str) -> str:
    """A name as it stands among attributes; `_unescaped` takes it back."""
    return name.replace("=", "=3D").replace(",", "=2C")


def _unescaped(name: str) -> str:
    return name.replace("=2C", ",").replace("=3D", "=")


def mechanism(name: str, users: Users) -> Mechanism:
    """A conversation by one of the mechanisms that the settings know."""
    return Plain(users) if name == "PLAIN" else Scram(users, name)
