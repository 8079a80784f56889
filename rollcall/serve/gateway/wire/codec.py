"""Kafka's frames cut from a stream, and one request or response of a version between bytes and kio's entity.

Messages are read by kio's declarations, and refused if their arrays or strings are longer than they may be. kio's own
reader allocates as many elements as an array claims to have, so that ten bytes could end the process. It accepts null
for an array that cannot be null, and strings that older versions cannot carry. It refuses unknown tagged fields, which
the protocol ignores. So it is used here for single values alone.

Knows kio; knows neither what a message means nor which are answered. A kio module is loaded when its version is first
asked for: all of them together would take more memory than the rest of the gateway.
"""

from __future__ import annotations

import re
import types
from collections.abc import Callable
from dataclasses import Field, fields
from functools import cache
from importlib import import_module
from io import BytesIO
from struct import Struct
from typing import Any, NamedTuple, get_args, get_origin

from kio.serial import entity_writer
from kio.serial._parse import get_reader
from kio.serial.errors import SerialError
from kio.serial.readers import (
    read_compact_array_length,
    read_int8,
    read_legacy_array_length,
    read_unsigned_varint,
)

from rollcall.schemas.limits import STRING_MAX_BYTES

MAX_ELEMENTS = 50_000
"""The most elements of all arrays of a request together; some APIs take fewer. Kafka's clients are far below."""
MAX_TAGS = 100
"""No head and no part of a message may have more tagged fields; the protocol knows of three at most."""
_HEAD = Struct(">hhi")
HEAD_BYTES = _HEAD.size
CORRELATION_ID_BYTES = 4
"""The end of the head."""
_LENGTH = Struct(">i")
LENGTH_BYTES = _LENGTH.size
_ROOM_FOR_LENGTH = bytes(LENGTH_BYTES)


class WireError(ValueError):
    """Bytes that are not a request, or a request that is not answered; as with Kafka, the connection ends."""


class FrameError(ValueError):
    """A length that no frame may have; the rest of the stream cannot be read."""


class FrameCutter:
    """Frames from chunks of any size, requests or responses: four bytes of length, then as many bytes.

    Holds what was fed and not yet taken, never more than that.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._buffer = bytearray()
        self._at = 0

    @property
    def held_bytes(self) -> int:
        return len(self._buffer) - self._at

    def feed(self, chunk: bytes) -> None:
        if self._at:
            del self._buffer[: self._at]
            self._at = 0
        self._buffer += chunk

    def clear(self) -> None:
        self._buffer.clear()
        self._at = 0

    def next_length(self) -> int | None:
        """The length of the frame that comes next, None while it is not there. Raises FrameError."""
        if len(self._buffer) - self._at < LENGTH_BYTES:
            return None
        length: int = _LENGTH.unpack_from(self._buffer, self._at)[0]
        if not 0 <= length <= self.max_bytes:
            raise FrameError(f"frame length {length}: 0 to {self.max_bytes} bytes are read")
        return length

    def next_number(self) -> int | None:
        """The first four bytes of the frame that comes next as a number, None while they are not there."""
        at = self._at + LENGTH_BYTES
        return None if len(self._buffer) < at + 4 else int.from_bytes(self._buffer[at : at + 4], "big", signed=True)

    def take(self) -> bytes | None:
        """The next whole frame without its length, None while it is not all there. Raises FrameError."""
        length = self.next_length()
        start = self._at + LENGTH_BYTES
        if length is None or len(self._buffer) < start + length:
            return None
        self._at = start + length
        return bytes(self._buffer[start : self._at])

    def take_part(self, most: int) -> bytes:
        """The bytes that come next, length or not, as many as there are but no more than `most`."""
        start, self._at = self._at, min(self._at + most, len(self._buffer))
        return bytes(self._buffer[start : self._at])


class RequestHeader(NamedTuple):
    """The fields at the start of every request, whatever its API."""

    api_key: int
    api_version: int
    correlation_id: int


def read_head(frame: bytes) -> RequestHeader:
    """The first eight bytes of a request. Raises WireError: the frame is shorter."""
    if len(frame) < _HEAD.size:
        raise WireError(f"a request of {len(frame)} bytes has no head")
    return RequestHeader(*_HEAD.unpack_from(frame))


class Codec:
    """Reads requests and writes responses of one API in one version, and the other way round for an upstream."""

    def __init__(self, api: str, version: int) -> None:
        snake_case = re.sub(r"(?<!^)(?=[A-Z])", "_", api).lower()
        folder = f"kio.schema.{snake_case}.v{version}"
        self.api = api
        self.version = version
        self.request_type: type = getattr(import_module(f"{folder}.request"), f"{api}Request")
        self.response_type: type = getattr(import_module(f"{folder}.response"), f"{api}Response")
        self.is_flexible: bool = self.request_type.__flexible__
        self.says_error_only = {field.name for field in fields(self.response_type)} <= {"error_code", "throttle_time"}
        """Whether a response has no other field than its error and throttle time."""

    def read_request(self, frame: bytes, max_elements: int = MAX_ELEMENTS) -> tuple[str | None, Any]:
        """The client id and the message of a whole request. Raises WireError.

        max_elements: the most elements of all its arrays together.
        """
        head, message = _read(self.request_type, frame, max_elements)
        return head.client_id, message

    def write_response(self, correlation_id: int, message: Any) -> bytes:
        """A whole response, its length first."""
        return _written(self.response_type, {"correlation_id": correlation_id}, message)

    def write_request(self, correlation_id: int, client_id: str, message: Any) -> bytes:
        """A whole request to an upstream, its length first."""
        head = {
            "request_api_key": self.request_type.__api_key__,  # type: ignore[attr-defined]
            "request_api_version": self.version,
            "correlation_id": correlation_id,
            "client_id": client_id,
        }
        return _written(self.request_type, head, message)

    def read_response(self, frame: bytes, max_elements: int | None = None) -> tuple[int, Any]:
        """The correlation id and the message of an upstream's response. Raises WireError.

        max_elements: the most elements of all its arrays together; None: any number.
        """
        head, message = _read(self.response_type, frame, len(frame) if max_elements is None else max_elements)
        return head.correlation_id, message


@cache
def codec(api: str, version: int) -> Codec:
    """The codec of a version that kio knows."""
    return Codec(api, version)


def _read(entity_type: Any, frame: bytes, max_elements: int) -> tuple[Any, Any]:
    """Head and message of a whole frame. Raises WireError."""
    elements = Elements(max_elements)
    try:
        head, at = reader(entity_type.__header_schema__)(frame, 0, elements)
        message, _ = reader(entity_type)(frame, at, elements)
    except (SerialError, ValueError, KeyError) as error:
        raise WireError(f"{entity_type.__name__} v{entity_type.__version__}: {error}") from None
    return head, message


def _written(entity_type: Any, head: dict[str, Any], message: Any) -> bytes:
    """A frame, its length first, from head and message."""
    head_type = entity_type.__header_schema__
    buffer = BytesIO()
    buffer.write(_ROOM_FOR_LENGTH)
    entity_writer(head_type)(buffer, head_type(**head))
    entity_writer(entity_type)(buffer, message)
    frame = buffer.getbuffer()
    _LENGTH.pack_into(frame, 0, len(frame) - LENGTH_BYTES)
    return bytes(frame)


# ---------------------------------------------------------------- reading


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
