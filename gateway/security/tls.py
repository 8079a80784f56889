"""TLS from PEM files, and who a client's certificate says it is. Knows certificates; knows no socket."""

from __future__ import annotations

import ssl
from typing import Any

from coordinator_udfs.protocol.config import ConfigError
from gateway.settings import Settings

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
    try:
        context.load_cert_chain(settings.ssl_certificate, settings.ssl_key)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"gateway.ssl.certificate={settings.ssl_certificate}: {_why(error)}") from None
    if settings.ssl_client_ca is not None:
        try:
            context.load_verify_locations(settings.ssl_client_ca)
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(f"gateway.ssl.client.ca={settings.ssl_client_ca}: {_why(error)}") from None
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _why(error: OSError) -> str:
    return error.strerror or str(error)


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
