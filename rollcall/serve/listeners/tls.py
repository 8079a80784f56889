"""TLS of a listener, from PEM files, and whose certificate a client shows. Knows certificates; knows no socket."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rollcall.programs.errors import ConfigError
from rollcall.serve.listeners.settings import KEYS, ListenerSecurity

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
_ESCAPED = str.maketrans({character: f"\\{character}" for character in ',+"\\<>;'})


def tls_context(settings: ListenerSecurity) -> ssl.SSLContext | None:
    """TLS 1.2 or newer, None if the settings name no certificate. Raises ConfigError."""
    if settings.ssl_certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    with naming_setting(KEYS["ssl_certificate"].name, settings.ssl_certificate):
        context.load_cert_chain(settings.ssl_certificate, settings.ssl_key)
    if settings.ssl_client_ca is not None:
        with naming_setting(KEYS["ssl_client_ca"].name, settings.ssl_client_ca):
            context.load_verify_locations(settings.ssl_client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


@contextmanager
def naming_setting(key: str, path: Path | None) -> Iterator[None]:
    """An error of a file becomes a ConfigError that names its setting; an SSLError is an OSError."""
    try:
        yield
    except OSError as error:
        raise ConfigError(str(error.strerror or error), key, path) from None


def principal_of(certificate: dict[str, Any] | None) -> str | None:
    """`User:CN=alice,O=org` of a verified certificate (RFC 2253, as Kafka names it), None if there is none."""
    if not certificate:
        return None
    parts = [
        "+".join(f"{_SHORT_NAMES.get(name, name)}={value.translate(_ESCAPED)}" for name, value in relative)
        for relative in reversed(certificate.get("subject", ()))
    ]
    return f"User:{','.join(parts)}"
