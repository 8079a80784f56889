"""The client's side of SASL/PLAIN and SCRAM, for a gateway that authenticates at its upstream.

Each conversation is a generator: it yields the client's tokens, is sent the server's, and ends once the client is
authenticated. Knows tokens; knows no message of Kafka's.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Generator
from functools import lru_cache

from gateway.security.mechanisms import AuthenticationError, attributes, escaped
from listeners.credentials import HASHES, keys_of

MOST_ITERATIONS = 65_536
"""Kafka takes 16,384 at most; more only costs the clients time."""
_NONCE_BYTES = 24
_NO_CHANNEL_BINDING = "n,,"
_keys_of = lru_cache(maxsize=16)(keys_of)
"""A server's salt stays the same from connection to connection."""

Tokens = Generator[bytes, bytes, None]


def tokens(mechanism: str, name: str, password: str) -> Tokens:
    """A client's conversation by a mechanism. Raises AuthenticationError: the server does not prove itself."""
    return _plain(name, password) if mechanism == "PLAIN" else _scram(mechanism, name, password)


def _plain(name: str, password: str) -> Tokens:
    yield f"\0{name}\0{password}".encode()


def _scram(mechanism: str, name: str, password: str) -> Tokens:
    hash_name = HASHES[mechanism]
    nonce = secrets.token_urlsafe(_NONCE_BYTES)
    bare = f"n={escaped(name)},r={nonce}"
    try:
        first = (yield f"{_NO_CHANNEL_BINDING}{bare}".encode()).decode()
        given = attributes(first)
        both_nonces, salt, iterations = given["r"], base64.b64decode(given["s"], validate=True), int(given["i"])
        if not both_nonces.startswith(nonce) or not 0 < iterations <= MOST_ITERATIONS:
            raise AuthenticationError("the server's nonce or number of iterations is unfit")
        client_key, server_key = _keys_of(password, mechanism, iterations, salt)
        last = f"c={_encoded(_NO_CHANNEL_BINDING.encode())},r={both_nonces}"
        message = f"{bare},{first},{last}".encode()
        signature = hmac.digest(hashlib.new(hash_name, client_key).digest(), message, hash_name)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        final = attributes((yield f"{last},p={_encoded(proof)}".encode()).decode())
        verifier = hmac.digest(server_key, message, hash_name)
        if not hmac.compare_digest(base64.b64decode(final["v"], validate=True), verifier):
            raise AuthenticationError("the server does not know the password")
    except (ValueError, KeyError):
        raise AuthenticationError("the server's SCRAM message is malformed") from None


def _encoded(value: bytes) -> str:
    return base64.b64encode(value).decode()
