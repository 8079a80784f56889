"""By which version of Kafka a cluster answers: the one thing that confluent-kafka's clients do not say.

Knows ApiVersions, and confluent-kafka's settings of TLS.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from typing import Any

from rollcall.coordinator_udfs.protocol.kafka_versions import DIFFERENCES, KafkaVersion, version_reached
from rollcall.serve.gateway.upstream.upstream_client import UpstreamLogin, asked, connected_to
from rollcall.serve.gateway.wire.codec import WireError
from rollcall.serve.listeners.addresses import Address

_FEATURES_VERSION = 3
"""Of ApiVersions, which every broker answers to who has not logged in yet."""


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
    async with connected_to(server, UpstreamLogin(_tls_context(settings))) as send:
        version = {"client_software_name": "rollcall", "client_software_version": "1"}
        offered = await asked(send, "ApiVersions", _FEATURES_VERSION, version)
    levels = {feature.name: int(feature.max_version) for feature in offered.supported_features}
    return levels.get("metadata.version")


def _tls_context(settings: Mapping[str, Any]) -> ssl.SSLContext | None:
    """As confluent-kafka would make it; None: without TLS. Raises OSError."""
    if not str(settings.get("security.protocol", "")).endswith("SSL"):
        return None
    context = ssl.create_default_context(cafile=settings.get("ssl.ca.location"), cadata=settings.get("ssl.ca.pem"))
    if settings.get("ssl.endpoint.identification.algorithm") == "none":
        context.check_hostname = False
    if certificate := settings.get("ssl.certificate.location"):
        context.load_cert_chain(certificate, settings.get("ssl.key.location"), settings.get("ssl.key.password"))
    return context
