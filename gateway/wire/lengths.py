"""Checks a message before kio decodes it: is every array as long as it says, and no string longer than it may be?

kio's reader makes room for as many elements as an array claims to have, whatever the frame holds, so that ten bytes
could end the process; it takes null for an array that cannot be null, and strings that no older version can carry; and
it refuses tagged fields it does not know, which the protocol asks to ignore. So the fields are walked here first, by
kio's own declarations.

Knows the layout of Kafka's types; knows no message by name.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import Field, fields, is_dataclass
from functools import cache
from typing import Any, NamedTuple, get_args, get_origin

from schemas.strings import STRING_MAX_BYTES

MAX_ELEMENTS = 50_000
"""All arrays of a request together may have so many, and those of one API fewer; Kafka's clients are far below."""
MAX_TAGS = 100
"""No head and no part of a message may have more tagged fields; the protocol knows of three at most."""

_FIXED = {
    "int8": 1,
    "uint8": 1,
    "bool": 1,
    "int16": 2,
    "uint16": 2,
    "error_code": 2,
    "int32": 4,
    "uint32": 4,
    "timedelta_i32": 4,
    "int64": 8,
    "uint64": 8,
    "float64": 8,
    "timedelta_i64": 8,
    "datetime_i64": 8,
    "uuid": 16,
}
_MAX_VARINT_BYTES = 5


class LengthError(ValueError):
    """A message that is shorter than it says, or longer than it may be."""


class Cut(NamedTuple):
    """Bytes [start, end) that are to be replaced."""

    start: int
    end: int
    by: bytes


class _Found:
    """What a walk has found so far."""

    __slots__ = ("cuts", "elements", "most")

    def __init__(self, most: int) -> None:
        self.most = most
        """So many elements there may be."""
        self.elements = 0
        self.cuts: list[Cut] = []

    def count(self, elements: int) -> None:
        """Raises LengthError: there are too many."""
        self.elements += elements
        if self.elements > self.most:
            raise LengthError(f"an array of {elements} elements, {self.most} in a message at most")


Walk = Callable[[bytes, int, _Found], int]
"""(message, where a value starts, what has been found) -> where the value ends."""


class _Kind(NamedTuple):
    walk: Walk
    least_bytes: int
    has_array: bool
    fixed_bytes: int = 0
    """How long every such value is; 0: that differs."""


@cache
def has_array(entity_type: type) -> bool:
    """Whether the message holds an array at any depth: only then must it be walked before it is decoded."""
    return _entity(entity_type).has_array


def check_lengths(entity_type: type, message: bytes, offset: int, max_elements: int) -> None:
    """Raises LengthError: the message cannot be as long as it says, or holds more than it may."""
    _entity(entity_type).walk(message, offset, _Found(max_elements))


def without_unknown_tags(frame: bytes, head_type: type, entity_type: type) -> bytes:
    """The frame without the tagged fields that the two declarations do not know. Raises LengthError."""
    found = _Found(len(frame))
    _entity(entity_type).walk(frame, _entity(head_type).walk(frame, 0, found), found)
    kept, at = bytearray(), 0
    for cut in found.cuts:
        kept += frame[at : cut.start] + cut.by
        at = cut.end
    return bytes(kept + frame[at:])


@cache
def _entity(entity_type: type) -> _Kind:
    is_flexible: bool = entity_type.__flexible__  # type: ignore[attr-defined]
    plain = [field for field in fields(entity_type) if "tag" not in field.metadata]
    tags = frozenset(int(field.metadata["tag"]) for field in fields(entity_type) if "tag" in field.metadata)
    is_request_head = entity_type.__name__ == "RequestHeader"
    # A client id keeps its old form in every version of a request's head.
    kinds = [
        _field(field, is_flexible and not (is_request_head and field.name == "client_id"), entity_type.__name__)
        for field in plain
    ]
    walks = tuple(kind.walk for kind in kinds)

    def walk(message: bytes, at: int, found: _Found) -> int:
        for step in walks:
            at = step(message, at, found)
        return _walk_tags(message, at, found, tags) if is_flexible else at

    least = sum(kind.least_bytes for kind in kinds) + is_flexible
    return _Kind(walk, least, any(kind.has_array for kind in kinds))


def _field(field: Field[Any], is_flexible: bool, owner: str) -> _Kind:
    declared = field.type
    if isinstance(declared, types.UnionType):
        declared = next(part for part in get_args(declared) if part is not types.NoneType)
    if get_origin(declared) is tuple:
        inner = get_args(declared)[0]
        return _array(_value(inner, field, is_flexible), is_flexible, field, owner)
    kind = _value(declared, field, is_flexible)
    return _nullable(kind) if is_dataclass(declared) and declared is not field.type else kind


def _value(declared: Any, field: Field[Any], is_flexible: bool) -> _Kind:
    if isinstance(declared, types.UnionType):
        declared = next(part for part in get_args(declared) if part is not types.NoneType)
    if is_dataclass(declared):
        return _entity(declared)  # type: ignore[arg-type]
    kafka_type = field.metadata["kafka_type"]
    if kafka_type in _FIXED:
        return _fixed(_FIXED[kafka_type])
    if is_flexible:
        return _Kind(_walk_compact_string if kafka_type == "string" else _walk_compact_bytes, 1, False)
    width = 2 if kafka_type == "string" else 4
    return _legacy_bytes(width)


def _fixed(width: int) -> _Kind:
    def walk(message: bytes, at: int, found: _Found) -> int:
        return _within(message, at + width)

    return _Kind(walk, width, False, fixed_bytes=width)


def _legacy_bytes(width: int) -> _Kind:
    def walk(message: bytes, at: int, found: _Found) -> int:
        length = _signed(message, at, width)
        return _within(message, at + width + max(length, 0))

    return _Kind(walk, width, False)


def _walk_compact_bytes(message: bytes, at: int, found: _Found) -> int:
    length, at = varint(message, at)
    return _within(message, at + max(length - 1, 0))


def _walk_compact_string(message: bytes, at: int, found: _Found) -> int:
    length, at = varint(message, at)
    if length - 1 > STRING_MAX_BYTES:
        raise LengthError(f"a string of {length - 1} bytes, {STRING_MAX_BYTES} at most")
    return _within(message, at + max(length - 1, 0))


def _nullable(kind: _Kind) -> _Kind:
    def walk(message: bytes, at: int, found: _Found) -> int:
        is_null = _signed(message, at, 1) < 0
        return at + 1 if is_null else kind.walk(message, at + 1, found)

    return _Kind(walk, 1, kind.has_array)


def _array(element: _Kind, is_flexible: bool, field: Field[Any], owner: str) -> _Kind:
    is_nullable = isinstance(field.type, types.UnionType)

    def walk(message: bytes, at: int, found: _Found) -> int:
        if is_flexible:
            count, at = varint(message, at)
            count -= 1
        else:
            count, at = _signed(message, at, 4), at + 4
        if count < 0 and not is_nullable:
            raise LengthError(f"{field.name}: null in {owner}")
        if count * element.least_bytes > len(message) - at:
            raise LengthError(f"an array of {count} elements in {len(message) - at} bytes")
        if count > 0:
            found.count(count)
        if element.fixed_bytes:
            return at + count * element.fixed_bytes
        for _ in range(count):
            at = element.walk(message, at, found)
        return at

    return _Kind(walk, 1 if is_flexible else 4, True)


def _walk_tags(message: bytes, at: int, found: _Found, known: frozenset[int]) -> int:
    start = at
    count, at = varint(message, at)
    if not count:
        return at
    if count > MAX_TAGS:
        raise LengthError(f"{count} tagged fields, {MAX_TAGS} at most")
    count_end = at
    unknown: list[Cut] = []
    for _ in range(count):
        field_start = at
        tag, at = varint(message, at)
        length, at = varint(message, at)
        at = _within(message, at + length)
        if tag not in known:
            unknown.append(Cut(field_start, at, b""))
    if unknown:
        found.cuts.append(Cut(start, count_end, _varint_bytes(count - len(unknown))))
        found.cuts += unknown
    return at


def _within(message: bytes, at: int) -> int:
    if at > len(message):
        raise LengthError(f"{at - len(message)} bytes are missing")
    return at


def _signed(message: bytes, at: int, width: int) -> int:
    _within(message, at + width)
    return int.from_bytes(message[at : at + width], "big", signed=True)


def varint(message: bytes, at: int) -> tuple[int, int]:
    """The unsigned number at a place, and the place behind it. Raises LengthError."""
    value = 0
    for place in range(_MAX_VARINT_BYTES):
        if at >= len(message):
            raise LengthError("1 bytes are missing")
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, at
    raise LengthError("a number of more than five bytes")


def _varint_bytes(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
