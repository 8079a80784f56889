"""A host and a port, as users write them, and whether a server can listen there before it is started."""

from __future__ import annotations

import ipaddress
import socket
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from rollcall.programs.errors import ConfigError

MAX_PORT = 65_535


class Address(NamedTuple):
    """A host, which may be a name, and a port; port 0 lets the system choose."""

    host: str
    port: int

    @classmethod
    def from_text(cls, text: str) -> Address:
        """`host:port`, `[::1]:port` or `:port` (every address). Raises ValueError, saying what the text is not."""
        host, colon, port = text.rpartition(":")
        if not colon or not port.isdecimal() or int(port) > MAX_PORT:
            raise ValueError("is not of the form host:port")
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        elif ":" in host:
            raise ValueError("an IPv6 address stands in brackets, [::1]:9092")
        return cls(host, int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def is_wildcard(self) -> bool:
        """Whether it means every address of the machine, so that no client can be sent to it."""
        try:
            return ipaddress.ip_address(self.host).is_unspecified
        except ValueError:
            return not self.host


def parse_address(key: str, text: str) -> Address:
    """As Address.from_text; raises ConfigError, naming the key."""
    try:
        return Address.from_text(text)
    except ValueError as unfit:
        raise ConfigError(str(unfit), key, text) from None


CLUSTER_SCHEME = "kafka://"


def servers_of(text: str) -> list[str]:
    """Return the servers of `kafka://host:port,host:port`, each as Kafka's clients write it. Raises ValueError."""
    parts = urlsplit(text)
    servers = [Address.from_text(server) for server in parts.netloc.split(",")]
    if not text.startswith(CLUSTER_SCHEME) or not all(server.host for server in servers) or parts.path.strip("/"):
        raise ValueError("is not an address of a cluster")
    return [str(server) for server in servers]


def listen_at(made: socket.socket, place: Any, backlog: int = 1) -> None:
    """Raises OSError."""
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if made.family == socket.AF_INET6:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    made.bind(place)
    made.listen(backlog)


def refuse_unusable(address: Address, another: str, who: str = "the gateway") -> None:
    """Listens there for a moment. Raises ConfigError: it cannot. another: how to name another place for who."""
    host = address.host or None
    try:
        for family, kind, protocol, _, place in socket.getaddrinfo(
            host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        ):
            with socket.socket(family, kind, protocol) as tried:
                listen_at(tried, place)
    except OSError as error:
        raise ConfigError(
            f"{who} cannot start: nothing can listen on {address} ({error.strerror}): "
            f"name another place with {another} host:port."
        ) from None
