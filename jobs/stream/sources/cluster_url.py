"""The address of a Kafka cluster, or of a topic in it, as a user writes it: `kafka://host:port,host:port/topic`.

Knows only its form.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

from listeners.addresses import Address

SCHEME = "kafka://"


class ClusterUrl(NamedTuple):
    """A cluster's servers, and a topic or none."""

    servers: tuple[Address, ...]
    topic: str = ""
    """Empty: the cluster itself is meant."""

    @classmethod
    def from_text(cls, text: str) -> ClusterUrl:
        """Raises ValueError: not of that form, a server without a port, several topics."""
        parts = urlsplit(text)
        topic = parts.path.strip("/")
        servers = tuple(Address.from_text(server) for server in parts.netloc.split(","))
        if not text.startswith(SCHEME) or not all(server.host for server in servers) or "/" in topic:
            raise ValueError("is no address of a cluster")
        return cls(servers, topic)

    @property
    def server_texts(self) -> list[str]:
        """Each server as Kafka's clients write it."""
        return [str(server) for server in self.servers]
