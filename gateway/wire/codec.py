"""One request or response of one API and version between bytes and kio's entity, heads included.

Knows kio; knows neither what a message means nor which are answered. A kio module is loaded when its version is first
asked for: all of them together would take more memory than the rest of the gateway.
"""

from __future__ import annotations

import re
from dataclasses import fields
from functools import cache
from importlib import import_module
from io import BytesIO
from struct import Struct
from typing import Any, NamedTuple

from kio.serial import entity_reader, entity_writer
from kio.serial.errors import SerialError

from gateway.wire.lengths import (
    MAX_ELEMENTS,
    LengthError,
    check_lengths,
    has_array,
    without_unknown_tags,
)
from schemas.strings import STRING_MAX_BYTES

_HEAD = Struct(">hhi")
_LENGTH = Struct(">i")
_ROOM_FOR_LENGTH = bytes(_LENGTH.size)


class WireError(ValueError):
    """Bytes that are no request, or one that is not answered; as with Kafka, the connection ends."""


class Head(NamedTuple):
    """What stands at the start of every request, whatever its API."""

    api_key: int
    api_version: int
    correlation_id: int


def read_head(frame: bytes) -> Head:
    """The first eight bytes of a request. Raises WireError: the frame is shorter."""
    if len(frame) < _HEAD.size:
        raise WireError(f"a request of {len(frame)} bytes has no head")
    return Head(*_HEAD.unpack_from(frame))


class Codec:
    """Reads requests and writes responses of one API in one version, and the other way round for an upstream."""

    def __init__(self, api: str, version: int) -> None:
        folder = f"kio.schema.{_snake_case(api)}.v{version}"
        self.api = api
        self.version = version
        self.request_type: type = getattr(import_module(f"{folder}.request"), f"{api}Request")
        self.response_type: type = getattr(import_module(f"{folder}.response"), f"{api}Response")
        self.is_flexible: bool = self.request_type.__flexible__
        self._read_request = _Reader(self.request_type)
        self._write_response = _Writer(self.response_type)
        # Few such responses are different, and most answers are a heartbeat's: their bytes are kept.
        self._says_error_only = {field.name for field in fields(self.response_type)} <= {"error_code", "throttle_time"}
        self._tails: dict[Any, bytes] = {}

    def read_request(self, frame: bytes, max_elements: int = MAX_ELEMENTS) -> tuple[str | None, Any]:
        """The client id and the message of a whole request. Raises WireError.

        max_elements: so many all its arrays together may have.
        """
        head, message = self._read_request(frame, max_elements)
        return head.client_id, message

    def head_end(self, frame: bytes) -> int:
        """Where the message of a whole request begins. Raises WireError."""
        return self._read_request.head_end(frame)

    def write_response(self, correlation_id: int, message: Any) -> bytes:
        """A whole response, its length first."""
        if not self._says_error_only or getattr(message, "throttle_time", None):
            return self._write_response({"correlation_id": correlation_id}, message)
        tail = self._tails.get(message.error_code)
        if tail is None:
            tail = self._write_response({"correlation_id": 0}, message)[_LENGTH.size * 2 :]
            self._tails[message.error_code] = tail
        return _LENGTH.pack(_LENGTH.size + len(tail)) + _LENGTH.pack(correlation_id) + tail

    def write_request(self, correlation_id: int, client_id: str, message: Any) -> bytes:
        """A whole request to an upstream, its length first."""
        head = {
            "request_api_key": self.request_type.__api_key__,  # type: ignore[attr-defined]
            "request_api_version": self.version,
            "correlation_id": correlation_id,
            "client_id": client_id,
        }
        return _Writer(self.request_type)(head, message)

    def read_response(self, frame: bytes, max_elements: int | None = None) -> tuple[int, Any]:
        """The correlation id and the message of an upstream's response. Raises WireError.

        max_elements: so many all its arrays together may have; None: any number.
        """
        most = len(frame) if max_elements is None else max_elements
        head, message = _Reader(self.response_type)(frame, most)
        return head.correlation_id, message


@cache
def codec(api: str, version: int) -> Codec:
    """The codec of a version that kio knows."""
    return Codec(api, version)


class _Reader:
    """Head and message from a frame."""

    def __init__(self, entity_type: Any) -> None:
        self.head_type = entity_type.__header_schema__
        self.entity_type = entity_type
        self.read_head = entity_reader(self.head_type)
        self.read_entity = entity_reader(entity_type)
        self.must_look_first = has_array(entity_type)

    def __call__(self, frame: bytes, max_elements: int) -> tuple[Any, Any]:
        try:
            try:
                return self._read(frame, max_elements)
            except KeyError:
                # A tagged field that kio does not know: the protocol asks to pass over it.
                return self._read(without_unknown_tags(frame, self.head_type, self.entity_type), max_elements)
        except (SerialError, LengthError, ValueError, KeyError) as error:
            raise WireError(f"{self.entity_type.__name__} v{self.entity_type.__version__}: {error}") from None

    def head_end(self, frame: bytes) -> int:
        try:
            return int(self.read_head(frame, 0)[1])
        except (SerialError, ValueError, KeyError) as error:
            raise WireError(f"{self.head_type.__name__}: {error}") from None

    def _read(self, frame: bytes, max_elements: int) -> tuple[Any, Any]:
        head, at = self.read_head(frame, 0)
        if self.must_look_first or len(frame) > STRING_MAX_BYTES:
            check_lengths(self.entity_type, frame, at, max_elements)
        message, _ = self.read_entity(frame, at)
        return head, message


class _Writer:
    """A frame, its length first, from head and message."""

    def __init__(self, entity_type: Any) -> None:
        self.head_type = entity_type.__header_schema__
        self.write_head = entity_writer(self.head_type)
        self.write_entity = entity_writer(entity_type)

    def __call__(self, head: dict[str, Any], message: Any) -> bytes:
        buffer = BytesIO()
        buffer.write(_ROOM_FOR_LENGTH)
        self.write_head(buffer, self.head_type(**head))
        self.write_entity(buffer, message)
        frame = buffer.getbuffer()
        _LENGTH.pack_into(frame, 0, len(frame) - _LENGTH.size)
        return bytes(frame)


def _snake_case(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
