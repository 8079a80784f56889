"""How the gateway gets into its upstream: TLS, and as whom it authenticates on each connection.

The upstream sees every client under this one name; which client it is, only the gateway knows. Knows the settings and
SASL's two messages; knows no socket.
"""

from __future__ import annotations

import ssl
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from gateway.security.client import tokens
from gateway.security.mechanisms import AuthenticationError
from gateway.security.tls import upstream_tls_context
from gateway.settings import PREFIX, Settings
from gateway.wire.codec import codec
from gateway.wire.shaping import entity_of
from programs.errors import ConfigError

CLIENT_ID = "rollcall-gateway"
PATIENCE_S = 10.0
"""So long it may take to connect and to get in."""
_VERSION = 1
"""Of both messages; every broker of the last years answers it."""

Conversation = Generator[bytes, bytes, None]
"""Yields requests with their lengths, is sent each one's answer without, and ends when the gateway is in."""


class NotLetIn(OSError):
    """The upstream does not let the gateway in; the text says why."""


@dataclass(frozen=True, slots=True)
class Entrance:
    """What the upstream's listener asks of the gateway."""

    tls: ssl.SSLContext | None = None
    """None: the listener speaks no TLS."""
    mechanism: str | None = None
    """None: nobody authenticates at the listener."""
    name: str = ""
    password: str = ""

    def conversation(self) -> Conversation:
        """What is said on each connection before anything else. Raises NotLetIn, WireError."""
        if self.mechanism is None:
            return
        handshake = codec("SaslHandshake", _VERSION)
        wish = entity_of(handshake.request_type, {"mechanism": self.mechanism})
        _, offered = handshake.read_response((yield handshake.write_request(1, CLIENT_ID, wish)))
        if offered.error_code:
            raise NotLetIn(f"it offers {', '.join(offered.mechanisms) or 'no mechanism'} and not {self.mechanism}")
        authenticate = codec("SaslAuthenticate", _VERSION)
        said = tokens(self.mechanism, self.name, self.password)
        try:
            token = next(said)
            while True:
                proof = entity_of(authenticate.request_type, {"auth_bytes": token})
                _, told = authenticate.read_response((yield authenticate.write_request(2, CLIENT_ID, proof)))
                if told.error_code:
                    raise NotLetIn(f"it does not let {self.name!r} in: {told.error_message or told.error_code.name}")
                token = said.send(told.auth_bytes)
        except StopIteration:
            return
        except AuthenticationError as error:
            raise NotLetIn(str(error)) from None


def next_of(conversation: Conversation, answer: bytes) -> bytes | None:
    """The next request of a conversation, None: the gateway is in. Raises NotLetIn, WireError."""
    try:
        return conversation.send(answer)
    except StopIteration:
        return None


def entrance_of(settings: Settings) -> Entrance:
    """The entrance that the settings describe. Raises ConfigError: a file that cannot be used."""
    protocol = settings.upstream_security_protocol
    tls = upstream_tls_context(settings) if protocol.endswith("SSL") else None
    if not protocol.startswith("SASL"):
        return Entrance(tls)
    assert settings.upstream_sasl_password_file is not None
    password = _password_in(settings.upstream_sasl_password_file)
    return Entrance(tls, settings.upstream_sasl_mechanism, settings.upstream_sasl_username, password)


def _password_in(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise ConfigError(f"{PREFIX}upstream.sasl.password.file={path}: cannot be read: {why}") from None
