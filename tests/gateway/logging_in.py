"""A client that authenticates. Knows SASL as RFCs and Kafka's messages have it; must not know the server's side."""

from __future__ import annotations

import base64
import hashlib
import hmac
from pathlib import Path
from typing import Any

from tests.wire_client import Client

MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
CERTIFICATES = Path(__file__).parent / "certificates"
TLS = {"gateway.ssl.certificate": f"{CERTIFICATES}/server.pem", "gateway.ssl.key": f"{CERTIFICATES}/server.key"}


class ScramClient:
    """The client's side of SCRAM, written from RFC 5802 apart from the server's."""

    def __init__(self, mechanism: str, name: str, password: str, nonce: str = "fyko+d2lbbFgONRv9qkxdawL") -> None:
        self.hash = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}[mechanism]
        self.password = password
        self.bare = f"n={name.replace('=', '=3D').replace(',', '=2C')},r={nonce}"

    def first(self) -> bytes:
        return f"n,,{self.bare}".encode()

    def final(self, server_first: bytes) -> bytes:
        said = dict(part.split("=", 1) for part in server_first.decode().split(","))
        salt, rounds = base64.b64decode(said["s"]), int(said["i"])
        salted = hashlib.pbkdf2_hmac(self.hash, self.password.encode(), salt, rounds)
        client_key = hmac.new(salted, b"Client Key", self.hash).digest()
        without_proof = f"c=biws,r={said['r']}"
        message = f"{self.bare},{server_first.decode()},{without_proof}".encode()
        signature = hmac.new(hashlib.new(self.hash, client_key).digest(), message, self.hash).digest()
        proof = base64.b64encode(bytes(a ^ b for a, b in zip(client_key, signature, strict=True))).decode()
        server_key = hmac.new(salted, b"Server Key", self.hash).digest()
        self.verifier = b"v=" + base64.b64encode(hmac.new(server_key, message, self.hash).digest())
        return f"{without_proof},p={proof}".encode()


async def log_in(client: Client, mechanism: str, name: str = "alice", password: str = "wonderland") -> Any:
    """The last answer of the attempt."""
    shaken = await client.call("SaslHandshake", 1, mechanism=mechanism)
    if shaken.error_code:
        return shaken
    if mechanism == "PLAIN":
        return await client.call("SaslAuthenticate", 2, auth_bytes=f"\0{name}\0{password}".encode())
    scram = ScramClient(mechanism, name, password)
    first = await client.call("SaslAuthenticate", 2, auth_bytes=scram.first())
    final = await client.call("SaslAuthenticate", 2, auth_bytes=scram.final(first.auth_bytes))
    assert final.error_code or final.auth_bytes == scram.verifier
    return final
