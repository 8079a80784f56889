"""Reads and replaces the brokers at the start of a Metadata answer; the rest passes unchanged.

So the cost does not depend on the number of topics. Knows the layout of the answer's beginning;
knows no connection.
"""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from io import BytesIO
from typing import Any, NamedTuple, get_args

from kio.serial import entity_writer
from kio.serial.errors import SerialError
from kio.serial.readers import read_compact_array_length, read_legacy_array_length
from kio.serial.writers import write_compact_array_length, write_legacy_array_length

from rollcall.serve.gateway.wire.codec import LENGTH_BYTES, Elements, WireError, codec, reader

MAX_BROKERS = 1000
"""No cluster has more brokers, and each takes a port."""
_THROTTLE_TIME_SINCE = 3
_THROTTLE_TIME_BYTES = 4


class Split(NamedTuple):
    """An answer in three parts."""

    before: bytes
    brokers: tuple[Any, ...]
    behind: bytes


class _Beginning:
    """How the beginning of one version's answer is read and written."""

    def __init__(self, version: int) -> None:
        response_type: Any = codec("Metadata", version).response_type
        broker_type = get_args(next(field.type for field in fields(response_type) if field.name == "brokers"))[0]
        is_flexible = response_type.__flexible__
        self.fixed_bytes = _THROTTLE_TIME_BYTES if version >= _THROTTLE_TIME_SINCE else 0
        self.read_head = reader(response_type.__header_schema__)
        self.read_count = read_compact_array_length if is_flexible else read_legacy_array_length
        self.write_count: Any = write_compact_array_length if is_flexible else write_legacy_array_length
        self.read_broker = reader(broker_type)
        self.write_broker = entity_writer(broker_type)


_beginning = cache(_Beginning)


def split(version: int, frame: bytes) -> Split:
    """The parts of a whole answer. Raises WireError."""
    beginning, brokers, elements = _beginning(version), [], Elements(0)
    try:
        start = beginning.read_head(frame, 0, elements)[1] + beginning.fixed_bytes
        count, size = beginning.read_count(frame, start)
        if (count or 0) > MAX_BROKERS:
            raise WireError(f"names {count} brokers, {MAX_BROKERS} at most")
        at = start + size
        for _ in range(count or 0):
            broker, at = beginning.read_broker(frame, at, elements)
            brokers.append(broker)
    except (SerialError, ValueError, KeyError) as error:
        raise WireError(f"MetadataResponse v{version}: {error}") from None
    return Split(frame[:start], tuple(brokers), frame[at:])


def joined(version: int, parts: Split) -> bytes:
    """The whole answer, its length first."""
    beginning = _beginning(version)
    out = BytesIO()
    out.write(parts.before)
    beginning.write_count(out, len(parts.brokers))
    for broker in parts.brokers:
        beginning.write_broker(out, broker)
    length = out.tell() + len(parts.behind)
    return b"".join((length.to_bytes(LENGTH_BYTES, "big"), out.getbuffer(), parts.behind))
