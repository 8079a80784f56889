"""Who a client's certificate says it is. Knows certificates; knows no socket."""

from __future__ import annotations

from typing import Any

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


def principal_of(certificate: dict[str, Any] | None) -> str | None:
    """`User:CN=alice,O=org` of a verified certificate (RFC 2253, as Kafka names it), None if there is none."""
    if not certificate:
        return None
    parts = [
        "+".join(f"{_SHORT_NAMES.get(name, name)}={value.translate(_ESCAPED)}" for name, value in relative)
        for relative in reversed(certificate.get("subject", ()))
    ]
    return f"User:{','.join(parts)}"
