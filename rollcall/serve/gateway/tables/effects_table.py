"""The effects table as a gateway reads it: the answers and events in each new version, and which groups there are.

Only this gateway's replies and the events of groups are read. Knows the table's columns and a reply's shapes; must not
know who waits for a reply.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from rollcall.schemas.effect_names import LASTING, EffectName
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import APIS, Response
from rollcall.tables.lasting_facts import Fact, lasting_facts
from rollcall.tables.table_follower import TableFollower
from rollcall.tables.unread import left_out

_REPLY_COLUMNS = ("group_id", "request_id", "api", "error_code", "detail")
_COLUMNS = sorted({*Fact._fields, *_REPLY_COLUMNS})
_REPLY = EffectName.REPLY.value
KINDS = (*LASTING, EffectName.REQUEST_PARKED, EffectName.REQUEST_DROPPED)
"""The effects beside replies that a gateway reads."""


class Reply(NamedTuple):
    request_id: str
    response: Response | None
    """None: the row cannot be read, which was logged."""
    group_id: str


class News(NamedTuple):
    """The rows of one version of the table."""

    replies: list[Reply]
    facts: list[Fact]


class EffectsTable(TableFollower):
    """Follows the effects of a home for one gateway."""

    def __init__(self, path: Path, gateway_id: str) -> None:
        super().__init__(path, _COLUMNS, from_version=0)
        self._prefix = f"{gateway_id}-"

    def history(self) -> list[Fact]:
        """The events that say how groups and members are now, in order; `news` continues from there."""
        found = lasting_facts(self._path)
        self.next_version = found.version + 1
        return found.facts

    def news(self) -> News:
        news = News([], [])
        for rows in self.read_next():
            news.replies.extend(replies(rows, self._prefix))
            chosen = rows.filter(pc.is_in(rows["effect"], pa.array(KINDS)))
            columns: list[list[Any]] = [chosen[name].to_pylist() for name in Fact._fields]
            facts = zip(*columns, strict=True)
            news.facts.extend(Fact(group_id, EffectName(effect), *rest) for group_id, effect, *rest in facts)
        return news


def replies(effects: pa.Table, id_prefix: str) -> list[Reply]:
    """The answers among some effects to requests whose ids have this prefix."""
    is_ours = pc.and_(pc.equal(effects["effect"], _REPLY), pc.starts_with(effects["request_id"], id_prefix))
    ours = effects.filter(is_ours)
    columns = (ours[name].to_pylist() for name in _REPLY_COLUMNS)
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
