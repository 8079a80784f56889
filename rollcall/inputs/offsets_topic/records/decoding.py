"""Decodes one record of the topic; distinguishes unreadable records from those that are not needed.

Knows the first two bytes of keys and values. Must not know how a history uses a record.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from rollcall.inputs.offsets_topic.records.shapes import RECORD_TYPES, RecordKey
from rollcall.schemas.layout import LayoutError, LayoutShape, read_shape, write_shape

_INT16 = struct.Struct(">h")
UNKNOWN_TYPE = "unknown key type"


class Record(NamedTuple):
    partition: int
    offset: int
    timestamp_ms: int
    type: int
    key: RecordKey
    value: LayoutShape | None
    """None: a tombstone, its key is gone, or a record that is not covered."""
    is_covered: bool = True
    """False: it is of a group that is not followed."""

    @property
    def group_id(self) -> str:
        return self.key.group


class Skipped(NamedTuple):
    """A record that is not used, and why: there are few reasons, so that they can be counted."""

    reason: str


def decode(partition: int, offset: int, timestamp_ms: int, key: bytes | None, value: bytes | None) -> Record | Skipped:
    """The content of a record.

    Raises LayoutError, in this order: no key or none with a type; a key that cannot be read; a value without a
    version or with one that is not known; a value that cannot be read. A key type that is not known is skipped.
    """
    number = _number("key", key)
    assert key is not None
    known = RECORD_TYPES.get(number)
    if known is None:
        return Skipped(f"{UNKNOWN_TYPE} {number}")
    says = read_shape(known.key, 0, key, _INT16.size)
    if known.value is None:
        return Record(partition, offset, timestamp_ms, number, says, None, is_covered=False)
    if value is None:
        return Record(partition, offset, timestamp_ms, number, says, None)
    version = _number(f"{known.name} value", value)
    if not known.versions.has(version):
        raise LayoutError(
            f"{known.name} value",
            f"version {version} is not known, {known.versions.first} to {known.versions.last} are",
        )
    shape = read_shape(known.value, version, value, _INT16.size)
    return Record(partition, offset, timestamp_ms, number, says, shape)


def group_id_of(key: bytes | None) -> str | None:
    """The group that a key names, of whatever type; None where it names none that can be read."""
    try:
        number = _number("key", key)
        assert key is not None
        known = RECORD_TYPES.get(number)
        says = None if known is None else read_shape(RecordKey, 0, key, _INT16.size)
    except LayoutError:
        return None
    return None if says is None else says.group


def encode_key(type_number: int, key: RecordKey) -> bytes:
    """The bytes of a key. Raises LayoutError, see write_shape."""
    return _INT16.pack(type_number) + write_shape(key, 0)


def encode_value(version: int, value: LayoutShape) -> bytes:
    """The bytes of a value in one version. Raises LayoutError, see write_shape."""
    return _INT16.pack(version) + write_shape(value, version)


def _number(what: str, data: bytes | None) -> int:
    if data is None or len(data) < _INT16.size:
        raise LayoutError(what, "has no version" if data else "is missing")
    return int(_INT16.unpack_from(data)[0])
