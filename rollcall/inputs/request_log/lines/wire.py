"""The JSON of a line as the messages of `schemas`: one decoder for each API and version, made from the declared fields.

A decoder asks for exactly the fields that its version carries, in Kafka's camelCase, bytes as base64. A field that is
missing or of another type is an error that names the field. The rest of the line is ignored.

Knows JSON and the declared messages; knows no rule of the protocol and no timestamps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec

from rollcall.schemas.errors import ERROR_BY_CODE, Error
from rollcall.schemas.messages import API_OF, APIS, GroupRequest, Response, Shape
from rollcall.schemas.shapes import Int32, Int64
from rollcall.schemas.wire_fields import carried_names

LONGEST_MS = 2**31 - 1
"""No request takes longer: a rebalance timeout, the longest wait, has 32 bits."""
Milliseconds = Annotated[float, msgspec.Meta(ge=0, le=LONGEST_MS)]
_Int16 = Annotated[int, msgspec.Meta(ge=-(2**15), le=2**15 - 1)]


CONNECTION_LENGTH = 1_000
"""The two ends of a connection, by name or address, are shorter."""


class Header(msgspec.Struct, rename="camel", gc=False):
    request_api_version: Int32
    correlation_id: Int32
    client_id: str | None


class Completed(msgspec.Struct, rename="camel", gc=False):
    """What every line holds beside the two messages."""

    request_header: Header
    connection: Annotated[str, msgspec.Meta(max_length=CONNECTION_LENGTH)]
    total_time_ms: Milliseconds
    request_queue_time_ms: Milliseconds = 0.0
    local_time_ms: Milliseconds = 0.0
    remote_time_ms: Milliseconds = 0.0
    response_queue_time_ms: Milliseconds = 0.0
    send_time_ms: Milliseconds = 0.0
    principal: str | None = None


class Message(msgspec.Struct, frozen=True):
    """How one version of one API is read."""

    api: str
    version: int
    decoder: msgspec.json.Decoder[Any]
    """Reads a line's JSON."""
    request: Callable[[Any, dict[str, Any]], Any]
    """Makes the request of what the decoder read and the fields of the envelope."""
    response: Callable[[Any], Response]
    """Makes the response of what the decoder read."""


@cache
def message_of(api: str, version: int) -> Message:
    """The reader of one version of one API, which must be among `APIS`."""
    known = APIS[api]
    line = msgspec.defstruct(
        f"{api}Line{version}",
        [("request", _wire_type(known.request, version)), ("response", _wire_type(known.response, version))],
        bases=(Completed,),
        rename="camel",
        kw_only=True,
        gc=False,
    )
    return Message(
        api=api,
        version=version,
        decoder=msgspec.json.Decoder(line),
        request=_request_reader(known.request, version),
        response=_response_reader(known.response, version),
    )


def answer_type(api: str, version: int) -> type[msgspec.Struct]:
    """What the decoder of one version of one API makes of an answer."""
    return _wire_type(APIS[api].response, version)


def error_of(code: int) -> Error:
    """The error with this number; an unknown one counts as UNKNOWN_SERVER_ERROR."""
    return ERROR_BY_CODE.get(code, Error.UNKNOWN_SERVER_ERROR)


@cache
def _wire_type(shape: type[Shape], version: int) -> type[msgspec.Struct]:
    """The shape with only the fields of one version, all mandatory, in camelCase."""
    hints = get_type_hints(shape, include_extras=True)
    fields = [(name, _wire_hint(hints[name], version)) for name, _ in carried_names(shape, version)]
    return msgspec.defstruct(f"{shape.__name__}{version}", fields, rename="camel", gc=False)


def _wire_hint(hint: Any, version: int) -> Any:
    """The same type with the shapes of one version; a number keeps its bounds, and has at most 64 bits."""
    origin = get_origin(hint)
    if origin is Annotated:
        bounds = tuple(mark for mark in hint.__metadata__ if isinstance(mark, msgspec.Meta))
        inner = int if bounds and hint.__origin__ is int else _wire_hint(hint.__origin__, version)
        return Annotated[(inner, *bounds)] if bounds else inner
    if origin in (Union, UnionType):
        return Union[tuple(_wire_hint(arm, version) for arm in get_args(hint))]  # noqa: UP007
    if origin is list:
        return list[_wire_hint(get_args(hint)[0], version)]  # type: ignore[misc]
    if hint is Error:
        return _Int16
    if hint is int:
        return Int64
    if isinstance(hint, type) and hint is not NoneType and issubclass(hint, Shape):
        return _wire_type(hint, version)
    return hint


def _request_reader(shape: type[Shape], version: int) -> Callable[[Any, dict[str, Any]], Any]:
    """Wire struct and envelope -> the request."""
    hints = get_type_hints(shape)
    plain = tuple(name for name, is_nested in carried_names(shape, version) if not is_nested)
    nested = tuple((name, hints[name]) for name, is_nested in carried_names(shape, version) if is_nested)

    def read(wire: Any, envelope: dict[str, Any]) -> Any:
        for name in plain:
            envelope[name] = getattr(wire, name)
        for name, hint in nested:
            envelope[name] = msgspec.convert(getattr(wire, name), hint, from_attributes=True)
        return shape(**envelope)

    return read


@cache
def _response_reader(shape: type[Shape], version: int) -> Callable[[Any], Any]:
    """Wire struct -> the shape, error numbers as errors."""
    hints = get_type_hints(shape)
    names = carried_names(shape, version)
    plain = tuple(name for name, is_nested in names if not is_nested and hints[name] is not Error)
    errors = tuple(name for name, _ in names if hints[name] is Error)
    nested = tuple((name, _response_reader(_shape_in(hints[name]), version)) for name, is_nested in names if is_nested)

    def read(wire: Any) -> Any:
        fields = {name: getattr(wire, name) for name in plain}
        for name in errors:
            fields[name] = error_of(getattr(wire, name))
        for name, build in nested:
            value = getattr(wire, name)
            fields[name] = [build(item) for item in value] if isinstance(value, list) else value and build(value)
        return shape(**fields)

    return read


def _shape_in(hint: Any) -> type[Shape]:
    """The shape that a list of shapes, null allowed, is made of."""
    if isinstance(hint, type) and get_origin(hint) is None:
        return hint
    return next(_shape_in(arm) for arm in get_args(hint) if arm is not NoneType)


def code_of(request: GroupRequest, response: Any) -> int:
    """The error number of a wire response: the first that is not 0 among its API's error fields."""
    paths = API_OF[type(request)].errors
    return next((code for path in paths for code in _codes(response, path.split("."))), 0)


def _codes(wire: Any, path: list[str]) -> Iterator[int]:
    """The error numbers there that are not 0; none where this version has no such field."""
    found = getattr(wire, path[0], None)
    if len(path) > 1:
        for one in found or ():
            yield from _codes(one, path[1:])
    elif found:
        yield found
