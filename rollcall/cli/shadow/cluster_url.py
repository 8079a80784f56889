"""The address of a Kafka cluster as a user writes it: `kafka://host:port,host:port`. Knows only its form."""

from __future__ import annotations

from urllib.parse import urlsplit

from rollcall.serve.listeners.addresses import Address

SCHEME = "kafka://"


def servers_of(text: str) -> list[str]:
    """The servers, each as Kafka's clients write it. Raises ValueError: not of that form."""
    parts = urlsplit(text)
    servers = [Address.from_text(server) for server in parts.netloc.split(",")]
    if not text.startswith(SCHEME) or not all(server.host for server in servers) or parts.path.strip("/"):
        raise ValueError("is not an address of a cluster")
    return [str(server) for server in servers]
