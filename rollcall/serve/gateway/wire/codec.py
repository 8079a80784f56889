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

from kio.serial import entity_writer
from kio.serial.errors import SerialError

from rollcall.serve.gateway.wire.reading import MAX_ELEMENTS, Elements, reader

_HEAD = Struct(">hhi")
HEAD_BYTES = _HEAD.size
CORRELATION_ID_BYTES = 4
"""The end of the head."""
_LENGTH = Struct(">i")
_ROOM_FOR_LENGTH = bytes(_LENGTH.size)


class WireError(ValueError):
    """Bytes that are no request, or a request that is not answered; as with Kafka, the connection ends."""


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
    _LENGTH.pack_into(frame, 0, len(frame) - _LENGTH.size)
    return bytes(frame)
