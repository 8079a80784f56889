"""TLS to an upstream, and who a client's certificate says it is. Knows certificates; knows no socket."""

from __future__ import annotations

import ssl
from typing import Any

from gateway.settings import PREFIX, Settings
from listeners.tls import naming_setting

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


def upstream_tls_context(settings: Settings) -> ssl.SSLContext:
    """TLS to an upstream, whose host name and certificate are checked. Raises ConfigError."""
    with naming_setting(PREFIX + "upstream.ssl.ca", settings.upstream_ssl_ca):
        context = ssl.create_default_context(cafile=settings.upstream_ssl_ca)
    if settings.upstream_ssl_certificate is not None:
        with naming_setting(PREFIX + "upstream.ssl.certificate", settings.upstream_ssl_certificate):
            context.load_cert_chain(settings.upstream_ssl_certificate, settings.upstream_ssl_key)
    return context


def principal_of(certificate: dict[str, Any] | None) -> str | None:
    """`User:CN=alice,O=org` of a verified certificate (RFC 2253, as Kafka names it), None if there is none."""
    if not certificate:
        return None
    parts = [
        "+".join(f"{_SHORT_NAMES.get(name, name)}={value.translate(_ESCAPED)}" for name, value in relative)
        for relative in reversed(certificate.get("subject", ()))
    ]
    return f"User:{','.join(parts)}"
