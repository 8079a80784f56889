"""The client's side of SASL/PLAIN and SCRAM, for a gateway that has to say to its upstream who it is.

Each conversation is a generator: it yields the client's tokens, is sent the server's, and ends when the client is in.
Knows tokens; knows no message of Kafka's.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Generator
from functools import lru_cache

from gateway.security.credentials import HASHES
from gateway.security.mechanisms import AuthenticationError, attributes

MOST_ITERATIONS = 1_000_000
_NONCE_BYTES = 24
_NO_CHANNEL_BINDING = "n,,"

Tokens = Generator[bytes, bytes, None]


def tokens(mechanism: str, name: str, password: str) -> Tokens:
    """A client's conversation by one of the mechanisms. Raises AuthenticationError: the server is not who it should."""
    return _plain(name, password) if mechanism == "PLAIN" else _scram(HASHES[mechanism], name, password)


def _plain(name: str, password: str) -> Tokens:
    yield f"\0{name}\0{password}".encode()


def _scram(hash_name: str, name: str, password: str) -> Tokens:
    nonce = secrets.token_urlsafe(_NONCE_BYTES)
    bare = f"n={name.replace('=', '=3D').replace(',', '=2C')},r={nonce}"
    try:
        first = (yield f"{_NO_CHANNEL_BINDING}{bare}".encode()).decode()
        said = attributes(first)
        both_nonces, salt, iterations = said["r"], base64.b64decode(said["s"], validate=True), int(said["i"])
        if not both_nonces.startswith(nonce) or not 0 < iterations <= MOST_ITERATIONS:
            raise AuthenticationError("the server's nonce or number of iterations is unfit")
        salted = _salted(hash_name, password, salt, iterations)
        client_key = hmac.digest(salted, b"Client Key", hash_name)
        last = f"c={_encoded(_NO_CHANNEL_BINDING.encode())},r={both_nonces}"
        message = f"{bare},{first},{last}".encode()
        signature = hmac.digest(hashlib.new(hash_name, client_key).digest(), message, hash_name)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        told = attributes((yield f"{last},p={_encoded(proof)}".encode()).decode())
        verifier = hmac.digest(hmac.digest(salted, b"Server Key", hash_name), message, hash_name)
        if not hmac.compare_digest(base64.b64decode(told["v"], validate=True), verifier):
            raise AuthenticationError("the server does not know the password")
    except (ValueError, KeyError):
        raise AuthenticationError("the server's SCRAM message is malformed") from None


@lru_cache(maxsize=16)
def _salted(hash_name: str, password: str, salt: bytes, iterations: int) -> bytes:
    """Takes milliseconds on purpose; a server's salt stays the same from connection to connection."""
    return hashlib.pbkdf2_hmac(hash_name, password.encode(), salt, iterations)


def _encoded(value: bytes) -> str:
    return base64.b64encode(value).decode()
