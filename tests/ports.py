"""A port of this machine for a server that is started later. Knows sockets; no more."""

from __future__ import annotations

import socket

FIRST, END = 20_000, 32_768
"""Below those that a system gives to whoever asks for any port, so that nobody gets one of them by chance."""
_held: list[socket.socket] = []
"""A UDP socket of each given port's number, which no other process is given while this one runs."""


def free_port() -> int:
    """A TCP port that nobody listens on, and that this function gives nobody else while this process runs."""
    for port in range(FIRST, END):
        holder = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            holder.bind(("127.0.0.1", port))
            with socket.socket() as listener:
                listener.bind(("127.0.0.1", port))
        except OSError:
            holder.close()
            continue
        _held.append(holder)
        return port
    raise OSError(f"no port from {FIRST} to {END - 1} is free")
