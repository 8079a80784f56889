"""The effects table as a gateway reads it: what each new version brought, and which groups there are.

Only the files that a version added are read, and of them only this gateway's replies and what befell groups.
Knows the table's columns; must not know who waits for a reply.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gateway.tables.delta_log import DeltaLog
from schemas.errors import Error
from schemas.messages import APIS, Response

log = logging.getLogger("gateway")

_COLUMNS = ["group_id", "seq", "effect", "at_ms", "request_id", "api", "error_code", "cause", "detail"]
_REPLY = "reply"
_GROUP_FACTS = ("group_created", "state_changed", "group_removed")
_FACTS = (*_GROUP_FACTS, "request_parked", "request_dropped", "rebalance_started")
_LOST_AFTER_S = 5.0
"""If a version has not come for so long, it is looked whether later ones have."""


class Reply(NamedTuple):
    """An answer to one of this gateway's requests."""

    request_id: str
    response: Response


class Fact(NamedTuple):
    """What befell a group or a request. cause: of a rebalance. detail: the whole fact as JSON."""

    group_id: str
    effect: str
    at_ms: int
    seq: int
    request_id: str | None
    cause: str | None
    detail: str | None


class News(NamedTuple):
    """What one version of the table brought."""

    replies: list[Reply]
    facts: list[Fact]


class EffectsTable:
    """Follows the effects of a home for one gateway."""

    def __init__(self, path: Path, gateway_id: str) -> None:
        self._path = path
        self._log = DeltaLog(path)
        self._prefix = f"{gateway_id}-"
        self._next = 0
        self._asked_at = 0.0

    def has_news(self) -> bool:
        """Whether the next version is there; costs one look at a file's name."""
        if self._log.has(self._next):
            return True
        now = time.monotonic()
        if now - self._asked_at > _LOST_AFTER_S:
            self._asked_at = now
            self._find_place()
        return False

    def _find_place(self) -> None:
        """Goes on behind a gap: old versions are cleaned away, and a home may be made anew."""
        latest = self._log.latest()
        if latest > self._next:
            log.warning("effects: versions %d to %d were passed over: they are gone", self._next, latest - 1)
            self._next = latest
        elif latest < self._next - 1:
            self._next = 0

    def history(self) -> Iterator[Fact]:
        """What befell the groups up to now, in no order; `news` goes on from there."""
        if not self._log.exists():
            return
        # Imported here, for it takes much memory: see RequestTable.open.
        from deltalake import DeltaTable

        table = DeltaTable(str(self._path))
        self._next = table.version() + 1
        for uri in table.file_uris():
            for rows in pq.ParquetFile(uri).iter_batches(columns=_COLUMNS):
                chosen = rows.filter(pc.is_in(rows["effect"], pa.array(_GROUP_FACTS)))
                yield from _facts(pa.Table.from_batches([chosen]))

    def news(self) -> News:
        """What the next version brought."""
        paths = self._log.added(self._next) or []
        self._next += 1
        self._asked_at = time.monotonic()
        replies: list[Reply] = []
        facts: list[Fact] = []
        for path in paths:
            rows = pq.ParquetFile(path).read(columns=_COLUMNS)
            is_reply = pc.equal(rows["effect"], _REPLY)
            is_ours = pc.starts_with(rows["request_id"], self._prefix)
            replies += _replies(rows.filter(pc.and_(is_reply, is_ours)))
            facts += _facts(rows.filter(pc.is_in(rows["effect"], pa.array(_FACTS))))
        return News(replies, facts)


def _columns(rows: pa.Table, *names: str) -> Iterator[tuple[Any, ...]]:
    return zip(*(rows[name].to_pylist() for name in names), strict=True)


def _facts(rows: pa.Table) -> list[Fact]:
    return [
        Fact(*values)
        for values in _columns(rows, "group_id", "effect", "at_ms", "seq", "request_id", "cause", "detail")
    ]


def _replies(rows: pa.Table) -> list[Reply]:
    return [
        Reply(request_id, _response(api, error_code, detail))
        for request_id, api, error_code, detail in _columns(rows, "request_id", "api", "error_code", "detail")
    ]


def _response(api: str, error_code: str, detail: str | None) -> Response:
    if detail is None:
        response: Any = APIS[api].response
        answer: Response = response(error_code=Error(error_code))
        return answer
    return _DECODERS[api].decode(detail).response


_DECODERS: dict[str, msgspec.json.Decoder[Any]] = {
    name: msgspec.json.Decoder(msgspec.defstruct(f"{name}Detail", [("response", api.response)]))
    for name, api in APIS.items()
}
"""How a reply's detail, {"response": {...}}, is read."""
