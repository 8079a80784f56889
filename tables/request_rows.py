"""Requests as rows of the request table. Knows its columns; must not know what a request says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa

from schemas.fan_out import group_id_of
from schemas.messages import StreamRequest
from schemas.tables import REQUESTS

_encoder = msgspec.json.Encoder()


class RequestRow(NamedTuple):
    """A row of `schemas.tables.REQUESTS`, its columns in order."""

    group_id: str
    request_id: str
    received_at_ms: int
    request_seq: int
    request: str


def table_of(rows: Iterable[RequestRow]) -> pa.Table:
    """Rows of `schemas.tables.REQUESTS`, in their order."""
    return _table(list(zip(*rows, strict=True)) or [()] * len(REQUESTS.names))


def request_rows(requests: Iterable[StreamRequest]) -> pa.Table:
    """The requests' rows, in the requests' order."""
    requests = list(requests)
    return _table(
        [
            [group_id_of(request) for request in requests],
            [request.request_id for request in requests],
            [request.received_at_ms for request in requests],
            [request.request_seq for request in requests],
            [_encoder.encode(request) for request in requests],
        ]
    )


def _table(columns: Sequence[Sequence[Any]]) -> pa.Table:
    arrays = [pa.array(values, field.type) for values, field in zip(columns, REQUESTS.arrow, strict=True)]
    return pa.Table.from_arrays(arrays, schema=REQUESTS.arrow)
