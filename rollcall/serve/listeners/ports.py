"""Whether a port can be listened on, found out before anything is started that would then have to be stopped.

Knows sockets; must not know who is to listen.
"""

from __future__ import annotations

import socket
from typing import Any

from rollcall.programs.errors import ConfigError
from rollcall.serve.listeners.addresses import Address


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
            f"name another place with {another}=host:port."
        ) from None
