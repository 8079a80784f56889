"""How the gateway logs in to its upstream: TLS, and as whom it authenticates on each connection.

The upstream sees every client under this one name; only the gateway knows the client. Knows the settings and
SASL's two messages; knows no socket.
"""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gateway.security.client import tokens
from gateway.security.mechanisms import AuthenticationError
from gateway.security.tls import upstream_tls_context
from gateway.settings import PREFIX, Settings
from gateway.wire.codec import codec
from gateway.wire.shaping import entity_of
from programs.errors import ConfigError

CLIENT_ID = "rollcall-gateway"
LOGIN_WITHIN_S = 10.0
"""Connecting and authenticating may take at most this long."""
_VERSION = 1
"""Of both messages; every broker of the last years answers it."""

Send = Callable[[bytes], Awaitable[bytes]]
"""Sends a request, its length first, and gives the answer without."""


class LoginRefused(OSError):
    """The upstream refuses the login; the text says why."""


@dataclass(frozen=True, slots=True)
class UpstreamLogin:
    """How the upstream's listener wants the gateway to log in."""

    tls: ssl.SSLContext | None = None
    """None: the listener has no TLS."""
    mechanism: str | None = None
    """None: the listener has no authentication."""
    name: str = ""
    password: str = ""

    async def log_in(self, send: Send) -> None:
        """Logs a new connection in. Raises LoginRefused, WireError, and as `send` does."""
        if self.mechanism is None:
            return
        offered = await _asked(send, "SaslHandshake", {"mechanism": self.mechanism})
        if offered.error_code:
            raise LoginRefused(f"it offers {', '.join(offered.mechanisms) or 'no mechanism'} and not {self.mechanism}")
        conversation = tokens(self.mechanism, self.name, self.password)
        try:
            token = next(conversation)
            while True:
                reply = await _asked(send, "SaslAuthenticate", {"auth_bytes": token})
                if reply.error_code:
                    why = reply.error_message or reply.error_code.name
                    raise LoginRefused(f"it does not let {self.name!r} in: {why}")
                token = conversation.send(reply.auth_bytes)
        except StopIteration:
            return
        except AuthenticationError as error:
            raise LoginRefused(str(error)) from None


async def _asked(send: Send, api: str, values: Mapping[str, Any]) -> Any:
    spoken = codec(api, _VERSION)
    request = spoken.write_request(1, CLIENT_ID, entity_of(spoken.request_type, values))
    return spoken.read_response(await send(request))[1]


def login_of(settings: Settings) -> UpstreamLogin:
    """The login that the settings describe. Raises ConfigError: a file that cannot be used."""
    protocol = settings.upstream_security_protocol
    tls = upstream_tls_context(settings) if protocol.endswith("SSL") else None
    if not protocol.startswith("SASL"):
        return UpstreamLogin(tls)
    path = settings.upstream_sasl_password_file
    assert path is not None
    try:
        password = path.read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise ConfigError(f"{PREFIX}upstream.sasl.password.file={path}: cannot be read: {why}") from None
    return UpstreamLogin(tls, settings.upstream_sasl_mechanism, settings.upstream_sasl_username, password)
