"""How the gateway gets into its upstream, and a connection of its own to it, which asks one request at a time.

The upstream sees every client under the name that the gateway logs in with; only the gateway knows the client. Knows
the settings, confluent-kafka's of TLS included, frames, SASL's two messages and ApiVersions; knows no other message.
"""

from __future__ import annotations

import asyncio
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from rollcall.coordinator_udfs.protocol.kafka_versions import DIFFERENCES, KafkaVersion, version_reached
from rollcall.programs.errors import ConfigError
from rollcall.serve.gateway.sasl import AuthenticationError, tokens
from rollcall.serve.gateway.settings import PREFIX, Settings
from rollcall.serve.gateway.wire.codec import WireError, codec
from rollcall.serve.gateway.wire.shaping import entity_of
from rollcall.serve.listeners.addresses import Address
from rollcall.serve.listeners.tls import naming_setting

LOGIN_WITHIN_S = 10.0
"""Connecting and authenticating may take at most this long, and so may each answer."""
_CLIENT_ID = "rollcall-gateway"
_CORRELATION_ID = 3
_ANSWER_MAX_BYTES = 67_108_864
_SASL_VERSION = 1
"""Of both messages; every broker of the last years answers it."""

Send = Callable[[bytes], Awaitable[bytes]]
"""Sends a request, its length first, and gives the answer without."""
_FEATURES_VERSION = 3
"""Of ApiVersions, which every broker answers to who has not logged in yet."""


class UpstreamError(OSError):
    """The upstream cannot be asked; the text says which and why."""


async def asked(send: Send, api: str, version: int, values: Mapping[str, Any]) -> Any:
    """The answer's message. Raises WireError, and as `send` does."""
    return codec(api, version).read_response(await send(request_of(api, version, values)))[1]


def request_of(api: str, version: int, values: Mapping[str, Any]) -> bytes:
    """A request, its length first."""
    spoken = codec(api, version)
    return spoken.write_request(_CORRELATION_ID, _CLIENT_ID, entity_of(spoken.request_type, values))


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
        """Logs a new connection in. Raises PermissionError, saying why it is refused; WireError, and as `send` does."""
        if self.mechanism is None:
            return
        offered = await asked(send, "SaslHandshake", _SASL_VERSION, {"mechanism": self.mechanism})
        if offered.error_code:
            known = ", ".join(offered.mechanisms) or "no mechanism"
            raise PermissionError(f"it offers {known} and not {self.mechanism}")
        conversation = tokens(self.mechanism, self.name, self.password)
        try:
            token = next(conversation)
            while True:
                reply = await asked(send, "SaslAuthenticate", _SASL_VERSION, {"auth_bytes": token})
                if reply.error_code:
                    why = reply.error_message or reply.error_code.name
                    raise PermissionError(f"it does not let {self.name!r} in: {why}")
                token = conversation.send(reply.auth_bytes)
        except StopIteration:
            return
        except AuthenticationError as error:
            raise PermissionError(str(error)) from None


def login_of(settings: Settings) -> UpstreamLogin:
    """The login that the settings describe. Raises ConfigError: a file that cannot be used."""
    protocol = settings.upstream_security_protocol
    tls = _tls_context(settings) if protocol.endswith("SSL") else None
    if not protocol.startswith("SASL"):
        return UpstreamLogin(tls)
    path = settings.upstream_sasl_password_file
    assert path is not None
    try:
        password = path.read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise ConfigError(f"cannot be read: {why}", f"{PREFIX}upstream.sasl.password.file", path) from None
    return UpstreamLogin(tls, settings.upstream_sasl_mechanism, settings.upstream_sasl_username, password)


def upstream_settings(settings: Settings) -> dict[str, str]:
    """How the gateway reaches its upstream, as confluent-kafka has it. Raises ConfigError: no such password."""
    login = login_of(settings)
    found = {
        "bootstrap.servers": str(settings.upstream),
        "security.protocol": settings.upstream_security_protocol,
    }
    if login.mechanism is not None:
        found |= {"sasl.mechanisms": login.mechanism, "sasl.username": login.name, "sasl.password": login.password}
    files = {
        "ssl.ca.location": settings.upstream_ssl_ca,
        "ssl.certificate.location": settings.upstream_ssl_certificate,
        "ssl.key.location": settings.upstream_ssl_key or settings.upstream_ssl_certificate,
    }
    return found | {name: str(file) for name, file in files.items() if file is not None}


def _tls_context(settings: Settings) -> ssl.SSLContext:
    """TLS that checks the upstream's host name and certificate."""
    with naming_setting(PREFIX + "upstream.ssl.ca", settings.upstream_ssl_ca):
        context = ssl.create_default_context(cafile=settings.upstream_ssl_ca)
    if settings.upstream_ssl_certificate is not None:
        with naming_setting(PREFIX + "upstream.ssl.certificate", settings.upstream_ssl_certificate):
            context.load_cert_chain(settings.upstream_ssl_certificate, settings.upstream_ssl_key)
    return context


@asynccontextmanager
async def connected_to(address: Address, login: UpstreamLogin) -> AsyncIterator[Send]:
    """Asks one request at a time over a connection that is logged in. Raises OSError, EOFError, WireError; of them
    TimeoutError: an answer takes longer than LOGIN_WITHIN_S.
    """
    async with asyncio.timeout(LOGIN_WITHIN_S):
        reader, writer = await asyncio.open_connection(*address, ssl=login.tls)

    async def send(request: bytes) -> bytes:
        async with asyncio.timeout(LOGIN_WITHIN_S):
            writer.write(request)
            (length,) = struct.unpack(">i", await reader.readexactly(4))
            if not 0 < length <= _ANSWER_MAX_BYTES:
                raise WireError(f"an answer of {length} bytes; is gateway.upstream.security.protocol its listener's?")
            return await reader.readexactly(length)

    try:
        await login.log_in(send)
        yield send
    finally:
        writer.close()


@asynccontextmanager
async def first_connected_to(bootstrap: Address, login: UpstreamLogin) -> AsyncIterator[Send]:
    """The same, for what must be known before the gateway starts. Raises UpstreamError alone."""
    try:
        async with asyncio.timeout(LOGIN_WITHIN_S), connected_to(bootstrap, login) as send:
            yield send
    except UpstreamError:
        raise
    except TimeoutError:
        raise UpstreamError(f"gateway.upstream={bootstrap}: does not answer") from None
    except (EOFError, ConnectionResetError, ConnectionAbortedError):
        raise UpstreamError(
            f"gateway.upstream={bootstrap}: ends the connection; is gateway.upstream.security.protocol its listener's?"
        ) from None
    except (OSError, WireError) as error:
        raise UpstreamError(f"gateway.upstream={bootstrap}: {error}") from None


def answered_version(settings: Mapping[str, Any]) -> KafkaVersion | None:
    """The version by whose rules it answers, as its metadata.version says; None: it does not say.

    settings: confluent-kafka's.
    """
    for server in str(settings["bootstrap.servers"]).split(","):
        try:
            level = asyncio.run(_metadata_version(Address.from_text(server), settings))
        except (OSError, EOFError, WireError, ValueError):
            continue
        if level is not None:
            return version_reached(level, lambda version: DIFFERENCES[version].last_metadata_version)
    return None


async def _metadata_version(server: Address, settings: Mapping[str, Any]) -> int | None:
    """The last level of the feature that the asked broker supports; None: it names none."""
    async with connected_to(server, UpstreamLogin(_confluent_tls(settings))) as send:
        version = {"client_software_name": "rollcall", "client_software_version": "1"}
        offered = await asked(send, "ApiVersions", _FEATURES_VERSION, version)
    levels = {feature.name: int(feature.max_version) for feature in offered.supported_features}
    return levels.get("metadata.version")


def _confluent_tls(settings: Mapping[str, Any]) -> ssl.SSLContext | None:
    """As confluent-kafka would make it; None: without TLS. Raises OSError."""
    if not str(settings.get("security.protocol", "")).endswith("SSL"):
        return None
    context = ssl.create_default_context(cafile=settings.get("ssl.ca.location"), cadata=settings.get("ssl.ca.pem"))
    if settings.get("ssl.endpoint.identification.algorithm") == "none":
        context.check_hostname = False
    if certificate := settings.get("ssl.certificate.location"):
        context.load_cert_chain(certificate, settings.get("ssl.key.location"), settings.get("ssl.key.password"))
    return context
