"""Random messages of any API and version from kio's own declarations, with hostile values. Knows no meaning."""

from __future__ import annotations

import datetime
import types
import uuid
from collections.abc import Callable
from dataclasses import Field, fields
from functools import cache
from random import Random
from typing import Any, get_args, get_origin

from kio.schema.errors import ErrorCode

from tests.attack import hostile

Make = Callable[[Random], Any]

_EPOCH = datetime.datetime.fromtimestamp(0, datetime.UTC)
_NULL = 0.1
"""So often a value is null that may be."""
_MS_BITS = 40
"""As many bits of milliseconds as Python's durations have room for."""


def random_entity(random: Random, entity_type: Any) -> Any:
    """A message of a type."""
    return _maker(entity_type)(random)


@cache
def _maker(entity_type: Any) -> Make:
    makers = [(field.name, _of_field(field, field.type)) for field in fields(entity_type)]

    def make(random: Random) -> Any:
        return entity_type(**{name: make_value(random) for name, make_value in makers})

    return make


def _of_field(field: Field[Any], declared: Any) -> Make:
    if isinstance(declared, types.UnionType):
        inner = _of_field(field, next(part for part in get_args(declared) if part is not types.NoneType))
        return lambda random: None if random.random() < _NULL else inner(random)
    if get_origin(declared) is tuple:
        element = _of_field(field, get_args(declared)[0])
        return lambda random: _many(random, element)
    kafka_type = field.metadata.get("kafka_type")
    return _maker(declared) if kafka_type is None else _PRIMITIVES[kafka_type]


def _many(random: Random, element: Make) -> tuple[Any, ...]:
    size = hostile.count(random)
    if size > 10:
        # The same again and again, which is what floods are made of, or different ones.
        pool = [element(random) for _ in range(random.choice((1, 10)))]
        return tuple(random.choices(pool, k=size))
    return tuple([element(random) for _ in range(size)])


def _number(bits: int) -> Make:
    return lambda random: hostile.integer(random, bits)


def _duration(bits: int) -> Make:
    return lambda random: datetime.timedelta(milliseconds=hostile.integer(random, bits))


def _bytes(random: Random) -> bytes:
    return random.randbytes(random.choice((0, 1, 14, 100, 5000)))


_PRIMITIVES: dict[str, Make] = {
    "int8": _number(8),
    "int16": _number(16),
    "int32": _number(32),
    "int64": _number(64),
    "bool": lambda random: random.random() < 0.5,
    "string": lambda random: _short_enough(hostile.text(random)),
    "bytes": _bytes,
    "records": _bytes,
    "uuid": lambda random: uuid.UUID(int=random.choice((1, 2, random.getrandbits(128)))),
    "error_code": lambda random: random.choice(list(ErrorCode)),
    "timedelta_i32": _duration(32),
    "timedelta_i64": _duration(_MS_BITS),
    "datetime_i64": lambda random: _EPOCH + datetime.timedelta(milliseconds=random.getrandbits(_MS_BITS)),
}


def _short_enough(text: str) -> str:
    # kio writes no longer ones in versions that have no room for them.
    return text if len(text.encode()) < 32_768 else text[:8000]
