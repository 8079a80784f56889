"""Requests as rows of the request table. Knows its columns; must not know what a request says."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec
import pyarrow as pa

from rollcall.schemas.fan_out import group_id_of
from rollcall.schemas.messages import StreamRequest
from rollcall.schemas.tables import REQUESTS

_encoder = msgspec.json.Encoder()


class RequestRow(NamedTuple):
    """A row of `rollcall.schemas.tables.REQUESTS`, its columns in order."""

    group_id: str
    request_id: str
    received_at_ms: int
    request_seq: int
    request: str

    @property
    def size_bytes(self) -> int:
        """How long its request is."""
        return len(self.request.encode())


def row_of(request: StreamRequest, group_id: str) -> RequestRow:
    text = _encoder.encode(request).decode()
    return RequestRow(group_id, request.request_id, request.received_at_ms, request.request_seq, text)


def table_of(rows: Iterable[RequestRow]) -> pa.Table:
    """Rows of `rollcall.schemas.tables.REQUESTS`, in their order."""
    columns = list(zip(*rows, strict=True)) or [()] * len(REQUESTS.names)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, REQUESTS.arrow, strict=True)]
    return pa.Table.from_arrays(arrays, schema=REQUESTS.arrow)


def request_rows(requests: Iterable[StreamRequest]) -> pa.Table:
    return table_of(row_of(request, group_id_of(request)) for request in requests)


def request_line(request: StreamRequest, group_id: str) -> bytes:
    """A request's row as a line of JSON, without its end."""
    return _encoder.encode(row_of(request, group_id)._asdict())
