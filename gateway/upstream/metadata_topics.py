"""The topics that a Metadata answer tells of, with their ids and numbers of partitions; the rest is passed over.

So the answer of a cluster of many partitions is read in a walk over its bytes. Knows the layout of the answer's v12;
knows no connection.
"""

from __future__ import annotations

import uuid
from typing import NamedTuple

from gateway.upstream.metadata_brokers import split
from gateway.wire.codec import WireError
from gateway.wire.lengths import LengthError, varint

TOPICS_VERSION = 12
"""The first whose answers tell topics by name and id alike."""
_CONTROLLER_ID_BYTES = 4
_ERROR_CODE_BYTES = 2
_UUID_BYTES = 16
_IS_INTERNAL_BYTES = 1
_OPERATIONS_BYTES = 4
_PARTITION_BYTES = 14
"""Error code, index, leader and the leader's epoch."""
_ARRAYS_A_PARTITION = 3
"""Replicas, those in sync and those offline."""
_NODE_ID_BYTES = 4


class TopicThere(NamedTuple):
    """A topic of the upstream."""

    topic_id: uuid.UUID
    partitions: int


def topics_in(frame: bytes) -> dict[str, TopicThere]:
    """The topics of a whole answer that are told without an error. Raises WireError."""
    walk = _Walk(split(TOPICS_VERSION, frame).behind)
    found: dict[str, TopicThere] = {}
    try:
        walk.skip(walk.length())
        walk.skip(_CONTROLLER_ID_BYTES)
        for _ in range(walk.length()):
            error, name, topic = walk.topic()
            if name is not None and not error and topic.topic_id.int:
                found[name] = topic
        walk.skip_tags()
    except (LengthError, UnicodeDecodeError) as error:
        raise WireError(f"MetadataResponse v{TOPICS_VERSION}: {error}") from None
    return found


class _Walk:
    """A place in the bytes. Raises LengthError where they end too early."""

    def __init__(self, message: bytes) -> None:
        self._message = message
        self._at = 0

    def skip(self, size: int) -> None:
        self._at += size
        if self._at > len(self._message):
            raise LengthError(f"{self._at - len(self._message)} bytes are missing")

    def take(self, size: int) -> bytes:
        start = self._at
        self.skip(size)
        return self._message[start : self._at]

    def number(self) -> int:
        value, self._at = varint(self._message, self._at)
        return value

    def length(self) -> int:
        """Of a string or an array; 0 for null."""
        return max(self.number() - 1, 0)

    def topic(self) -> tuple[int, str | None, TopicThere]:
        """Its error code, its name and what is there."""
        error = int.from_bytes(self.take(_ERROR_CODE_BYTES), "big")
        name = self.take(self.length()).decode()
        topic_id = uuid.UUID(bytes=self.take(_UUID_BYTES))
        self.skip(_IS_INTERNAL_BYTES)
        partitions = self.length()
        for _ in range(partitions):
            self.skip(_PARTITION_BYTES)
            for _ in range(_ARRAYS_A_PARTITION):
                self.skip(self.length() * _NODE_ID_BYTES)
            self.skip_tags()
        self.skip(_OPERATIONS_BYTES)
        self.skip_tags()
        return error, name or None, TopicThere(topic_id, partitions)

    def skip_tags(self) -> None:
        for _ in range(self.number()):
            self.number()
            self.skip(self.number())
