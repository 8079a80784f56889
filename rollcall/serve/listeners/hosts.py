"""The names by which a client may ask a server for itself.

A browser sends the name in the address that it opens. A stranger's name can be made to point here (DNS rebinding),
and then the stranger's page could read the answer. Knows Host headers; must not know what is served.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Collection

_HEADER = re.compile(r"(?:\[(?P<address>[^]]*)]|(?P<name>[^:]*))(?::\d*)?")


def is_known(header: str, names: Collection[str]) -> bool:
    """Return True if a Host header has an IP address, `localhost` or one of the names (lower case).

    Any address is known, since a name is needed for DNS rebinding. No header without a host is, though a server on
    every address has an empty name.
    """
    found = _HEADER.fullmatch(header)
    # Without the port and the last dot of a full name.
    host = (found["address"] or found["name"] or "").removesuffix(".").lower() if found else ""
    return bool(host) and (host == "localhost" or host in names or _is_address(host))


def machine_names() -> set[str]:
    """Return this machine's own names, without asking a name server."""
    name = socket.gethostname().lower()
    return {name, name.partition(".")[0]} - {""}


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
