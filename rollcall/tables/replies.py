"""The answers that rows of the effects table hold. Knows a reply's columns and shapes; must not know who asked."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import APIS, Response
from rollcall.tables.unread import left_out

REPLY_COLUMNS = ("effect", "group_id", "request_id", "api", "error_code", "detail")
"""What `replies` needs of the effects table."""
_REPLY = EffectName.REPLY.value


class Reply(NamedTuple):
    request_id: str
    response: Response | None
    """None: the row cannot be read, which was logged."""
    group_id: str


def replies(effects: pa.Table, id_prefix: str) -> list[Reply]:
    """The answers among some effects to requests whose ids have this prefix; needs `REPLY_COLUMNS`."""
    is_ours = pc.and_(pc.equal(effects["effect"], _REPLY), pc.starts_with(effects["request_id"], id_prefix))
    ours = effects.filter(is_ours)
    columns = (ours[name].to_pylist() for name in ("group_id", "request_id", "api", "error_code", "detail"))
    return [
        Reply(request_id, _read(request_id, *reply), group_id)
        for group_id, request_id, *reply in zip(*columns, strict=True)
    ]


def _read(request_id: str, api: str, error_code: str, detail: str | None) -> Response | None:
    try:
        return response_of(api, error_code, detail)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        left_out("effects", f"the reply to request {request_id!a}", error)
        return None


def response_of(api: str, error_code: str, detail: str | None) -> Response:
    """The response in a reply's columns; without a detail the response has nothing but its error code."""
    if detail is None:
        response_type: Any = APIS[api].response
        bare: Response = response_type(error_code=Error(error_code))
        return bare
    response: Response = _DECODERS[api].decode(detail).response
    return response


_DECODERS: dict[str, msgspec.json.Decoder[Any]] = {
    name: msgspec.json.Decoder(msgspec.defstruct(f"{name}Detail", [("response", api.response)]))
    for name, api in APIS.items()
}
"""By API: reads a reply's detail, {"response": {...}}."""
