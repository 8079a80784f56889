"""Requests of any API by a few numbers: how many elements each array has, how long texts and bytes are, whom they name.

A search varies these numbers and keeps what costs most. Knows kio's declarations and what fields are called; must not
know what an API does.
"""

from __future__ import annotations

import datetime
import types
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from random import Random
from typing import Any, get_args, get_origin

from kio.schema.errors import ErrorCode

COUNTS = (0, 1, 2, 10, 50, 200, 1_000, 2_500, 10_000, 50_000, 250_000)
LENGTHS = (1, 30, 240, 2_000, 32_000)
PATTERN = r"(?i)(\pL\pN?){60}x|t"
"""An expression whose compilation costs much beside its length."""
_EPOCH = datetime.datetime.fromtimestamp(0, datetime.UTC)


@dataclass(frozen=True)
class Shape:
    """One request by numbers."""

    version: int
    counts: tuple[int, int]
    """Of elements in an array of the message, and in arrays within its elements."""
    text: int
    """Characters of a text."""
    data: int
    """Bytes of a field of bytes."""
    group: str
    """Whose group it names; empty: another one in each place."""
    member_id: str
    is_distinct: bool
    """Whether elements differ."""
    is_null: bool
    """Whether what may be null is."""


def shapes(random: Random, versions: range, groups: tuple[str, ...], members: tuple[str, ...]) -> Iterator[Shape]:
    """Shapes of all kinds, without end."""
    while True:
        yield Shape(
            random.choice(versions),
            (random.choice(COUNTS), random.choice(COUNTS)),
            random.choice(LENGTHS),
            random.choice((0, *LENGTHS, 500_000)),
            random.choice(("", *groups)),
            random.choice(("", *members)),
            random.random() < 0.7,
            random.random() < 0.3,
        )


def neighbour(random: Random, shape: Shape, versions: range) -> Shape:
    """A shape that differs in one number."""
    factor = random.choice((0.25, 0.5, 0.8, 1.25, 2, 4))
    outer, inner = shape.counts
    changes: tuple[dict[str, Any], ...] = (
        {"version": random.choice(versions)},
        {"counts": (int(outer * factor) or 1, inner)},
        {"counts": (outer, int(inner * factor) or 1)},
        {"text": min(int(shape.text * factor) or 1, LENGTHS[-1])},
        {"data": int(shape.data * factor)},
        {"is_distinct": not shape.is_distinct},
        {"is_null": not shape.is_null},
    )
    return replace(shape, **random.choice(changes))


def entity_in(shape: Shape, entity_type: Any, most_bytes: int) -> Any:
    """The message of a type in a shape. Raises ValueError: it would be far longer than most_bytes."""
    return _Making(shape, most_bytes).entity(entity_type, 0, 0)


class _Making:
    def __init__(self, shape: Shape, most_bytes: int) -> None:
        self._shape = shape
        self._left = most_bytes

    def entity(self, entity_type: Any, depth: int, number: int) -> Any:
        made = {}
        for field in fields(entity_type):
            made[field.name] = self._value(field.name, field.type, field.metadata.get("kafka_type"), depth, number)
        return entity_type(**made)

    def _value(self, name: str, declared: Any, kafka_type: str | None, depth: int, number: int) -> Any:
        if isinstance(declared, types.UnionType):
            parts = [part for part in get_args(declared) if part is not types.NoneType]
            if len(parts) < len(get_args(declared)) and (self._shape.is_null or _is_left_out(name)):
                return None
            return self._value(name, parts[0], kafka_type, depth, number)
        if get_origin(declared) is tuple:
            element = get_args(declared)[0]
            count = self._shape.counts[min(depth, 1)]
            self._spend(2 * count)
            return tuple(self._value(name, element, kafka_type, depth + 1, each) for each in range(count))
        if kafka_type is None:
            return self.entity(declared, depth, number)
        return self._primitive(name, kafka_type, number)

    def _primitive(self, name: str, kafka_type: str, number: int) -> Any:
        if kafka_type == "string":
            return self._text(name, number)
        if kafka_type in ("bytes", "records"):
            self._spend(self._shape.data)
            return Random(number).randbytes(self._shape.data)
        if kafka_type.startswith("timedelta"):
            return datetime.timedelta(milliseconds=30_000)
        return _PLAIN[kafka_type](number if self._shape.is_distinct else 0)

    def _text(self, name: str, number: int) -> str:
        if name in ("group_id", "groups", "group_ids", "groups_names", "coordinator_keys"):
            return self._shape.group or self._filled(f"g{number}")
        if name == "member_id":
            return self._shape.member_id or (self._filled(f"m{number}") if number else "")
        if name in _TEXTS:
            return _TEXTS[name]
        return self._filled(f"{name[0]}{number}" if self._shape.is_distinct else name[0])

    def _filled(self, begin: str) -> str:
        length = max(self._shape.text, len(begin))
        self._spend(length)
        return begin.ljust(length, "x")

    def _spend(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise ValueError("far longer than a request may be")


def _is_left_out(name: str) -> bool:
    """A member that names itself by an instance id, or chooses an assignor, is another search's matter."""
    return name in ("group_instance_id", "instance_id", "server_assignor", "cluster_id", "transactional_id")


_TEXTS = {
    "protocol_type": "consumer",
    "protocol_name": "range",
    "subscribed_topic_regex": PATTERN,
    "client_software_name": "search",
    "client_software_version": "1",
}
_PLAIN: dict[str, Callable[[int], Any]] = {
    **dict.fromkeys(("int8", "int16"), lambda number: 0),
    **dict.fromkeys(("int32", "int64", "uint16", "uint32"), lambda number: number),
    "float64": float,
    "bool": lambda number: True,
    "uuid": lambda number: uuid.UUID(int=number + 1),
    "error_code": lambda number: ErrorCode.none,
    "datetime_i64": lambda number: _EPOCH,
}
