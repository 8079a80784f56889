"""Between kio's entities and our own shapes, field by field by name: written once for every API and version.

The names are the same on both sides, but kio's `session_timeout` is our `session_timeout_ms`.
A field that a version does not carry is left out for kio; a field that we do not set has Kafka's default.

Knows names and types; knows no API by name.
"""

from __future__ import annotations

import datetime
import types
import uuid
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache, partial
from struct import Struct
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

from kio.schema.errors import ErrorCode

from rollcall.schemas.errors import Error
from rollcall.schemas.shapes import Response, Shape
from rollcall.schemas.wire_fields import carried_names
from rollcall.serve.gateway.wire.codec import CORRELATION_ID_BYTES, Codec, WireError, without_none

Convert = Callable[[Any], Any]

_BEGINNING = Struct(">ii")
"""A response's length and its correlation id."""

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
    is_nullable: bool = False
    """Whether null is a value of its own, as in a list where null means all."""


# ---------------------------------------------------------------- to kio


def entity_of(entity_type: Any, source: Shape | Mapping[str, Any]) -> Any:
    """The entity with the values of a shape, or of a mapping by our names; what is missing has its default."""
    get = source.get if isinstance(source, Mapping) else partial(getattr, source)
    filled = {}
    for kio_name, own_name, convert, default, is_nullable in _filling(entity_type):
        value = get(own_name, MISSING)
        if value is MISSING:
            filled[kio_name] = default
            continue
        made = value if convert is None or value is None else convert(value)
        filled[kio_name] = default if made is None and not is_nullable else made
    return entity_type(**filled)


def frame_of(spoken: Codec, correlation_id: int, response: Shape | Mapping[str, Any]) -> bytes:
    """A whole response, its length first."""
    if isinstance(response, Response) and spoken.says_error_only and not response.wait_ms:
        # Most answers are a heartbeat's: their bytes are kept.
        behind = _behind_correlation_id(spoken, response.error_code)  # type: ignore[attr-defined]
        return _BEGINNING.pack(CORRELATION_ID_BYTES + len(behind), correlation_id) + behind
    return spoken.write_response(correlation_id, entity_of(spoken.response_type, response))


@cache
def _behind_correlation_id(spoken: Codec, error: Error) -> bytes:
    frame = spoken.write_response(0, entity_of(spoken.response_type, {"error_code": error}))
    return frame[_BEGINNING.size :]


@cache
def _filling(entity_type: Any) -> tuple[_Step, ...]:
    return tuple(
        _Step(field.name, _own_name(field), _to_kio(field), _default(field), _admits_none(field.type))
        for field in fields(entity_type)
    )


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
    """What an array holds, None for what is not an array."""
    declared = without_none(declared)
    return get_args(declared)[0] if get_origin(declared) in (tuple, list) else None


def _to_kio(field: Field[Any]) -> Convert | None:
    element = _element_type(field.type)
    if element is not None:
        return (lambda items: tuple(entity_of(element, item) for item in items)) if is_dataclass(element) else tuple
    nested = without_none(field.type)
    return partial(entity_of, nested) if is_dataclass(nested) else _TO_KIO.get(_kafka_type(field))


_TO_KIO: dict[str, Convert] = {
    "timedelta_i32": lambda ms: datetime.timedelta(milliseconds=ms),
    "timedelta_i64": lambda ms: datetime.timedelta(milliseconds=ms),
    "error_code": lambda error: _ERROR_CODES[error] if isinstance(error, Error) else error,
    "uuid": lambda value: uuid.UUID(value) if isinstance(value, str) and value else value or None,
}


# ---------------------------------------------------------------- from kio


def values_of(entity: Any, shape_type: type[Shape]) -> dict[str, Any]:
    """The values of a shape's fields as an entity has them. Raises WireError: null where our shape allows none."""
    values = {}
    entity_type: Any = type(entity)
    for kio_name, own_name, convert, default, _ in _reading(entity_type, shape_type):
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
            for_null = "" if _kafka_type(field) == "uuid" else None if _admits_none(hints[own_name]) else MISSING
            steps.append(_Step(field.name, own_name, _from_kio(field, hints[own_name]), for_null))
    return tuple(steps)


def _from_kio(field: Field[Any], own_type: Any) -> Convert | None:
    element = _element_type(own_type)
    shape_type = without_none(own_type) if element is None else element
    if not (isinstance(shape_type, type) and issubclass(shape_type, Shape)):
        return _FROM_KIO.get(_kafka_type(field)) if element is None else list
    if element is None:
        return lambda item: shape_type(**values_of(item, shape_type))
    return lambda items: [shape_type(**values_of(item, shape_type)) for item in items]


_FROM_KIO: dict[str, Convert] = {
    "timedelta_i32": lambda value: value // _MILLISECOND,
    "timedelta_i64": lambda value: value // _MILLISECOND,
    "error_code": {code: error for error, code in _ERROR_CODES.items()}.__getitem__,
    "uuid": str,
}
