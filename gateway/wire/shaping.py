"""Between kio's entities and our own shapes, field by field by name: written once for every API and version.

The names are the same on both sides, but that kio speaks of a `session_timeout` where we say `session_timeout_ms`.
A field that a version does not carry is left out on the way to kio; one that we do not set has Kafka's default.

Knows names and types; knows no API by name.
"""

from __future__ import annotations

import datetime
import types
import uuid
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

from kio.schema.errors import ErrorCode

from gateway.wire.codec import WireError
from schemas.errors import Error
from schemas.shapes import Shape
from schemas.wire_fields import carried_names

Convert = Callable[[Any], Any]

_ERROR_CODES = {error: ErrorCode(error.code) for error in Error}
_MILLISECOND = datetime.timedelta(milliseconds=1)
_ZERO = datetime.timedelta(0)
_DEFAULTS: dict[str, Any] = {
    "string": "",
    "bytes": b"",
    "records": b"",
    "bool": False,
    "error_code": ErrorCode.none,
    "timedelta_i32": _ZERO,
    "timedelta_i64": _ZERO,
    "uuid": None,
}


class _Step(NamedTuple):
    kio_name: str
    own_name: str
    convert: Convert | None
    default: Any


# ---------------------------------------------------------------- to kio


def entity_of(entity_type: type, source: Shape | Mapping[str, Any]) -> Any:
    """The entity with the values of a shape, or of a mapping by our names; what is missing has its default."""
    values = source if isinstance(source, Mapping) else _Attributes(source)
    filled = {}
    for kio_name, own_name, convert, default in _filling(entity_type):
        value = values.get(own_name, MISSING)
        if value is MISSING:
            filled[kio_name] = default
        else:
            filled[kio_name] = value if convert is None or value is None else convert(value)
        if filled[kio_name] is None:
            filled[kio_name] = default
    return entity_type(**filled)


def elements_in(shape: Shape) -> int:
    """How many elements the lists of a shape have, those of its elements included."""
    count = 0
    for name in _lists(type(shape)):
        value = getattr(shape, name)
        if value:
            count += len(value)
            if isinstance(value[0], Shape) and (_lists(type(value[0])) or _nested(type(value[0]))):
                count += sum(map(elements_in, value))
    for name in _nested(type(shape)):
        inner = getattr(shape, name)
        count += 0 if inner is None else elements_in(inner)
    return count


@cache
def _nested(shape_type: type[Shape]) -> tuple[str, ...]:
    """The fields that hold a shape by itself."""
    return tuple(name for name, hint in get_type_hints(shape_type).items() if _shape_in(hint) is not None)


@cache
def _lists(shape_type: type[Shape]) -> tuple[str, ...]:
    """The fields that hold lists."""
    return tuple(name for name, hint in get_type_hints(shape_type).items() if _element_type(hint) is not None)


class _Attributes:
    """A shape's fields as a mapping has them."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape

    def get(self, name: str, default: Any) -> Any:
        return getattr(self._shape, name, default)


@cache
def _filling(entity_type: Any) -> tuple[_Step, ...]:
    return tuple(_Step(field.name, _own_name(field), _to_kio(field), _default(field)) for field in fields(entity_type))


def _own_name(field: Field[Any]) -> str:
    return f"{field.name}_ms" if _kafka_type(field).startswith("timedelta") else field.name


def _kafka_type(field: Field[Any]) -> str:
    return str(field.metadata.get("kafka_type", ""))


def _default(field: Field[Any]) -> Any:
    if field.default is not MISSING:
        return field.default
    if _admits_none(field.type):
        return None
    if get_origin(field.type) is tuple:
        return ()
    return _DEFAULTS.get(_kafka_type(field), 0)


def _admits_none(declared: Any) -> bool:
    return types.NoneType in get_args(declared)


def _element_type(declared: Any) -> Any:
    """What an array holds, None for what is no array."""
    declared = _without_none(declared)
    return get_args(declared)[0] if get_origin(declared) in (tuple, list) else None


def _without_none(declared: Any) -> Any:
    return (
        next(part for part in get_args(declared) if part is not types.NoneType) if _admits_none(declared) else declared
    )


def _to_kio(field: Field[Any]) -> Convert | None:
    element = _element_type(field.type)
    if element is not None:
        return _many(element) if is_dataclass(element) else tuple
    nested = _without_none(field.type)
    return _one(nested) if is_dataclass(nested) else _TO_KIO.get(_kafka_type(field))


def _one(entity_type: Any) -> Convert:
    return lambda item: entity_of(entity_type, item)


def _many(entity_type: Any) -> Convert:
    return lambda items: tuple(entity_of(entity_type, item) for item in items)


def _timedelta(milliseconds: int) -> datetime.timedelta:
    return datetime.timedelta(milliseconds=milliseconds) if milliseconds else _ZERO


def _error_code(error: Error | ErrorCode) -> ErrorCode:
    return _ERROR_CODES[error] if isinstance(error, Error) else error


def _uuid(value: str | uuid.UUID) -> uuid.UUID | None:
    return uuid.UUID(value) if isinstance(value, str) and value else value or None


_TO_KIO: dict[str, Convert] = {
    "timedelta_i32": _timedelta,
    "timedelta_i64": _timedelta,
    "error_code": _error_code,
    "uuid": _uuid,
}


# ---------------------------------------------------------------- from kio


def values_of(entity: Any, shape_type: type[Shape]) -> dict[str, Any]:
    """The values of a shape's fields as an entity has them. Raises WireError: null where our shape allows none."""
    values = {}
    entity_type: Any = type(entity)
    for kio_name, own_name, convert, default in _reading(entity_type, shape_type):
        value = getattr(entity, kio_name)
        if value is None:
            if default is MISSING:
                raise WireError(f"{own_name}: null in {type(entity).__name__}")
            values[own_name] = default
        else:
            values[own_name] = value if convert is None else convert(value)
    return values


@cache
def _reading(entity_type: Any, shape_type: type[Shape]) -> tuple[_Step, ...]:
    names = {name for name, _ in carried_names(shape_type, entity_type.__version__)}
    hints = get_type_hints(shape_type)
    steps = []
    for field in fields(entity_type):
        own_name = _own_name(field)
        if own_name in names:
            steps.append(
                _Step(field.name, own_name, _from_kio(field, hints[own_name]), _for_null(field, hints[own_name]))
            )
    return tuple(steps)


def _for_null(field: Field[Any], own_type: Any) -> Any:
    if _kafka_type(field) == "uuid":
        return ""
    return None if _admits_none(own_type) else MISSING


def _from_kio(field: Field[Any], own_type: Any) -> Convert | None:
    shape_type = _element_type(own_type)
    if shape_type is None:
        nested = _shape_in(own_type)
        if nested is not None:
            return lambda item: nested(**values_of(item, nested))
        return _FROM_KIO.get(_kafka_type(field))
    if isinstance(shape_type, type) and issubclass(shape_type, Shape):
        return lambda items: [shape_type(**values_of(item, shape_type)) for item in items]
    return list


def _shape_in(own_type: Any) -> type[Shape] | None:
    """The shape that a field holds by itself, null allowed; None for another kind of field."""
    nested = _without_none(own_type)
    return nested if isinstance(nested, type) and issubclass(nested, Shape) else None


def _milliseconds(value: datetime.timedelta) -> int:
    return value // _MILLISECOND


def _error(code: ErrorCode) -> Error:
    return _ERRORS[code]


_ERRORS = {code: error for error, code in _ERROR_CODES.items()}
_FROM_KIO: dict[str, Convert] = {
    "timedelta_i32": _milliseconds,
    "timedelta_i64": _milliseconds,
    "error_code": _error,
    "uuid": str,
}
