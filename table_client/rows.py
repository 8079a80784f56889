"""A request as a row of the request table, and a row of the effects table as the response it holds.

Knows columns and shapes; knows no file and no rule.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import pyarrow as pa

from schemas.errors import Error
from schemas.fan_out import group_id_of
from schemas.messages import APIS, GroupRequest, Response
from schemas.tables import REQUESTS

_encoder = msgspec.json.Encoder()


class _Detail(msgspec.Struct):
    response: msgspec.Raw


_detail_decoder = msgspec.json.Decoder(_Detail)
_response_decoders = {name: msgspec.json.Decoder(api.response) for name, api in APIS.items()}


def request_rows(requests: Iterable[GroupRequest]) -> pa.Table:
    """Rows of `schemas.tables.REQUESTS`, in the requests' order."""
    rows = [
        (group_id_of(r), r.request_id, r.received_at_ms, r.request_seq, _encoder.encode(r).decode()) for r in requests
    ]
    columns = list(zip(*rows, strict=True)) or [()] * len(REQUESTS.names)
    return pa.table(dict(zip(REQUESTS.names, columns, strict=True)), schema=REQUESTS.arrow)


def response_of(api: str, error_code: str, detail: str | None) -> Response:
    """The response in a reply's columns; without a detail it says no more than its error code."""
    if detail is None:
        return msgspec.convert({"error_code": Error(error_code)}, APIS[api].response)
    response: Response = _response_decoders[api].decode(_detail_decoder.decode(detail).response)
    return response
