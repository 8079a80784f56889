"""Reads messages by kio's declarations, and refuses one whose arrays or strings are longer than they may be.

kio's own reader allocates as many elements as an array claims to have, so that ten bytes could end the process. It
accepts null for an array that cannot be null, and strings that older versions cannot carry. It refuses unknown tagged
fields, which the protocol ignores. So it is used here for single values alone.

Knows the layout of Kafka's types; knows no message by name.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import Field, fields
from functools import cache
from typing import Any, get_args, get_origin

from kio.serial._parse import get_reader
from kio.serial.readers import (
    read_compact_array_length,
    read_int8,
    read_legacy_array_length,
    read_unsigned_varint,
)

from rollcall.schemas.strings import STRING_MAX_BYTES

MAX_ELEMENTS = 50_000
"""The most elements of all arrays of a request together; some APIs take fewer. Kafka's clients are far below."""
MAX_TAGS = 100
"""No head and no part of a message may have more tagged fields; the protocol knows of three at most."""


class Elements:
    """Counts the elements of a message's arrays. most: how many they may be together."""

    __slots__ = ("_found", "_most")

    def __init__(self, most: int) -> None:
        self._most, self._found = most, 0

    def count(self, elements: int) -> None:
        """Raises ValueError: there are too many."""
        self._found += elements
        if self._found > self._most:
            raise ValueError(f"an array of {elements} elements, {self._most} in a message at most")


Read = Callable[[bytes, int, Elements], tuple[Any, int]]
"""(message, where a value starts, the elements so far) -> the value, and where it ends. Raises SerialError, ValueError,
KeyError: there is no such value.
"""


@cache
def reader(entity_type: Any) -> Read:
    """The reader of a message, a head or a part of a message."""
    is_flexible: bool = entity_type.__flexible__
    plain: list[tuple[str, Read]] = []
    tagged: dict[int, tuple[str, Read]] = {}
    for field in fields(entity_type):
        # A client id keeps its old form in every version of a request's head.
        is_old = entity_type.__name__ == "RequestHeader" and field.name == "client_id"
        named = field.name, _field(field, is_flexible and not is_old, entity_type.__name__)
        if "tag" in field.metadata:
            tagged[int(field.metadata["tag"])] = named
        else:
            plain.append(named)

    def read(message: bytes, at: int, elements: Elements) -> tuple[Any, int]:
        values = {}
        for name, read_field in plain:
            values[name], at = read_field(message, at, elements)
        if is_flexible:
            count, at = _varint(message, at)
            if count > MAX_TAGS:
                raise ValueError(f"{count} tagged fields, {MAX_TAGS} at most")
            for _ in range(count):
                tag, at = _varint(message, at)
                length, at = _varint(message, at)
                if at + length > len(message):
                    raise ValueError(f"{at + length - len(message)} bytes are missing")
                if tag in tagged:
                    name, read_field = tagged[tag]
                    values[name], _ = read_field(message, at, elements)
                at += length
        return entity_type(**values), at

    return read


def _field(field: Field[Any], is_flexible: bool, owner: str) -> Read:
    declared: Any = without_none(field.type)
    is_nullable = declared is not field.type and "tag" not in field.metadata
    if get_origin(declared) is tuple:
        inner = without_none(get_args(declared)[0])
        is_entity = hasattr(inner, "__flexible__")
        element = reader(inner) if is_entity else _single(field, is_flexible, is_nullable=False)
        return _array(element, is_flexible, None if is_nullable else f"{field.name}: null in {owner}")
    if hasattr(declared, "__flexible__"):
        return _nullable(reader(declared)) if is_nullable else reader(declared)
    return _single(field, is_flexible, is_nullable)


def without_none(declared: Any) -> Any:
    """The type itself where null is allowed as well."""
    is_union = isinstance(declared, types.UnionType)
    return next(part for part in get_args(declared) if part is not types.NoneType) if is_union else declared


def _single(field: Field[Any], is_flexible: bool, is_nullable: bool) -> Read:
    native = get_reader(field.metadata["kafka_type"], is_flexible, is_nullable)
    is_string = field.metadata["kafka_type"] == "string"

    def read(message: bytes, at: int, elements: Elements) -> tuple[Any, int]:
        value, size = native(message, at)
        if is_string and size > STRING_MAX_BYTES and (length := len(value.encode())) > STRING_MAX_BYTES:
            raise ValueError(f"a string of {length} bytes, {STRING_MAX_BYTES} at most")
        return value, at + size

    return read


def _nullable(read_value: Read) -> Read:
    def read(message: bytes, at: int, elements: Elements) -> tuple[Any, int]:
        marker, size = read_int8(message, at)
        return (None, at + size) if marker < 0 else read_value(message, at + size, elements)

    return read


def _array(read_element: Read, is_flexible: bool, why_not_null: str | None) -> Read:
    read_length = read_compact_array_length if is_flexible else read_legacy_array_length

    def read(message: bytes, at: int, elements: Elements) -> tuple[Any, int]:
        count, size = read_length(message, at)
        if count is None or count < 0:
            if why_not_null is not None:
                raise ValueError(why_not_null)
            return None, at + size
        elements.count(count)
        if count > len(message) - at:
            raise ValueError(f"an array of {count} elements in {len(message) - at} bytes")
        at += size
        values = []
        for _ in range(count):
            value, at = read_element(message, at, elements)
            values.append(value)
        return tuple(values), at

    return read


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value, size = read_unsigned_varint(message, at)
    return value, at + size
