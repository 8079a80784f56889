"""How much room a group has for offsets: every turn of a group reads and writes all of them.

Kafka has no such limit; see `GroupConfig.offsets_max_bytes`. Knows committed offsets; knows no request.
"""

from __future__ import annotations

from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.members import size_of_text

_OFFSET_BYTES = 100
"""About what an offset takes beside its names."""


class OffsetsRoom:
    """The room left in a group while one request is answered."""

    def __init__(self, group: Group, max_bytes: int) -> None:
        self._group = group
        self._max_bytes = max_bytes
        self._left_bytes: int | None = None

    def takes(self, topic: str, partition: int, metadata: str) -> bool:
        """Whether an offset has room, which it then uses; one that needs no more bytes always has."""
        stored = self._group.offsets.get((topic, partition))
        if stored is not None and metadata in ("", stored.metadata):
            return True
        grows_bytes = size_of_offset(topic, metadata) - (
            0 if stored is None else size_of_offset(topic, stored.metadata)
        )
        if grows_bytes <= 0:
            return True
        if self._left_bytes is None:
            self._left_bytes = self._max_bytes - sum(
                size_of_offset(at[0], o.metadata) for at, o in self._group.offsets.items()
            )
        if grows_bytes > self._left_bytes:
            return False
        self._left_bytes -= grows_bytes
        return True


def size_of_offset(topic: str, metadata: str) -> int:
    """Bytes that a partition's offset takes."""
    return _OFFSET_BYTES + size_of_text(topic + metadata)
