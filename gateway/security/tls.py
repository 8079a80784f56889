"""TLS from PEM files, and who a client's certificate says it is. Knows certificates; knows no socket."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gateway.settings import PREFIX, Settings
from programs.errors import ConfigError

_SHORT_NAMES = {
    "commonName": "CN",
    "countryName": "C",
    "domainComponent": "DC",
    "localityName": "L",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "stateOrProvinceName": "ST",
    "streetAddress": "STREET",
    "userId": "UID",
}
_TO_ESCAPE = frozenset(',+"\\<>;')


def tls_context(settings: Settings) -> ssl.SSLContext | None:
    """TLS 1.2 or newer by the settings' files, None if they name no certificate. Raises ConfigError."""
    if settings.ssl_certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    with _named("ssl.certificate", settings.ssl_certificate):
        context.load_cert_chain(settings.ssl_certificate, settings.ssl_key)
    if settings.ssl_client_ca is not None:
        with _named("ssl.client.ca", settings.ssl_client_ca):
            context.load_verify_locations(settings.ssl_client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def upstream_tls_context(settings: Settings) -> ssl.SSLContext:
    """TLS to an upstream, whose host name and certificate are checked. Raises ConfigError."""
    with _named("upstream.ssl.ca", settings.upstream_ssl_ca):
        context = ssl.create_default_context(cafile=settings.upstream_ssl_ca)
    if settings.upstream_ssl_certificate is not None:
        with _named("upstream.ssl.certificate", settings.upstream_ssl_certificate):
            context.load_cert_chain(settings.upstream_ssl_certificate, settings.upstream_ssl_key)
    return context


@contextmanager
def _named(key: str, path: Path | None) -> Iterator[None]:
    """What is wrong with a file is said under its setting's name; an SSLError is an OSError."""
    try:
        yield
    except OSError as error:
        raise ConfigError(f"{PREFIX}{key}={path}: {error.strerror or error}") from None


def principal_of(certificate: dict[str, Any] | None) -> str | None:
    """`User:CN=alice,O=org` of a verified certificate (RFC 2253, as Kafka names it), None if there is none."""
    if not certificate:
        return None
    parts = [
        "+".join(f"{_SHORT_NAMES.get(name, name)}={_escaped(value)}" for name, value in relative)
        for relative in reversed(certificate.get("subject", ()))
    ]
    return f"User:{','.join(parts)}"


def _escaped(value: str) -> str:
    return "".join(f"\\{character}" if character in _TO_ESCAPE else character for character in value)
