"""Bytes as Connect's workers write them, for tests: names such as `file`, `file-0` are connectors and their tasks.

Knows the layouts of version 2; must not know who sends them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from itertools import groupby

from rollcall.schemas.connect_protocol import CONNECTOR_ITSELF

VERSION = 2
URL = "http://10.0.0.1:8083/"


def worker_state(owned: Iterable[str] = ()) -> bytes:
    """What a worker says as it joins."""
    names = list(owned)
    allocation = worker_assignment(names) if names else None
    length = struct.pack(">i", -1) if allocation is None else struct.pack(">i", len(allocation)) + allocation
    return struct.pack(">h", VERSION) + _text(URL) + struct.pack(">q", 5) + length


def worker_assignment(given: Iterable[str] = (), revoked: Iterable[str] = (), delay_ms: int = 0) -> bytes:
    """What a leader gives a worker."""
    head = struct.pack(">hh", VERSION, 0) + _text("leader") + _text(URL) + struct.pack(">q", 5)
    return head + _tasks(given) + _tasks(revoked) + struct.pack(">i", delay_ms)


def _tasks(names: Iterable[str]) -> bytes:
    pairs = [name.partition("-")[::2] for name in sorted(names)]
    numbered = [(connector, int(number) if number else CONNECTOR_ITSELF) for connector, number in pairs]
    entries = {connector: [number for _, number in same] for connector, same in groupby(numbered, lambda one: one[0])}
    if not entries:
        return struct.pack(">i", -1)
    parts = [_text(name) + struct.pack(f">i{len(each)}i", len(each), *each) for name, each in entries.items()]
    return struct.pack(">i", len(parts)) + b"".join(parts)


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text.encode())) + text.encode()
