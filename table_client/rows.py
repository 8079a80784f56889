"""A request as a row of the request table, and rows of the effects table as the answers they hold.

Knows columns and shapes; knows no file and no rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from schemas.effect_names import EffectName
from schemas.errors import Error
from schemas.fan_out import group_id_of
from schemas.messages import APIS, GroupRequest, Response
from schemas.tables import REQUESTS

REPLY_COLUMNS = ("effect", "request_id", "api", "error_code", "detail")
"""What `replies` needs of the effects table."""
_REPLY = EffectName.REPLY.value

_encoder = msgspec.json.Encoder()


class Row(NamedTuple):
    """A row of the request table, its columns in order."""

    group_id: str
    request_id: str
    received_at_ms: int
    request_seq: int
    request: str


class Reply(NamedTuple):
    """An answer to a request."""

    request_id: str
    response: Response


def table_of(rows: Iterable[Row]) -> pa.Table:
    """Rows of `schemas.tables.REQUESTS`, in their order."""
    return _table(list(zip(*rows, strict=True)) or [()] * len(REQUESTS.names))


def request_rows(requests: Iterable[GroupRequest]) -> pa.Table:
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


def replies(effects: pa.Table, id_prefix: str) -> list[Reply]:
    """The answers among some effects to requests whose ids begin so; `REPLY_COLUMNS` are read."""
    is_ours = pc.and_(pc.equal(effects["effect"], _REPLY), pc.starts_with(effects["request_id"], id_prefix))
    ours = effects.filter(is_ours)
    columns = (ours[name].to_pylist() for name in ("request_id", "api", "error_code", "detail"))
    return [
        Reply(request_id, response_of(api, error_code, detail))
        for request_id, api, error_code, detail in zip(*columns, strict=True)
    ]


def response_of(api: str, error_code: str, detail: str | None) -> Response:
    """The response in a reply's columns; without a detail it says no more than its error code."""
    if detail is None:
        response_type: Any = APIS[api].response
        bare: Response = response_type(error_code=Error(error_code))
        return bare
    told: Response = _DECODERS[api].decode(detail).response
    return told


_DECODERS: dict[str, msgspec.json.Decoder[Any]] = {
    name: msgspec.json.Decoder(msgspec.defstruct(f"{name}Detail", [("response", api.response)]))
    for name, api in APIS.items()
}
"""How a reply's detail, {"response": {...}}, is read."""
