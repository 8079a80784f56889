"""The effects table as a gateway reads it: what each new version brought, and which groups there are.

Of a version only this gateway's replies and the events of groups are read. Knows the table's columns; must not know
who waits for a reply.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from schemas.effect_names import EffectName
from tables.checkpoints import read_checkpoint
from tables.delta_log import DeltaLog
from tables.live_files import live_files
from tables.replies import REPLY_COLUMNS, Reply, replies
from tables.table_follower import TableFollower
from tables.unread import left_out, lies_in_the_file

_FACT_COLUMNS = ("group_id", "effect", "at_ms", "seq", "request_id", "cause", "detail", "member_id")
_COLUMNS = sorted({*_FACT_COLUMNS, *REPLY_COLUMNS})
_GroupFactName = Literal[
    EffectName.GROUP_CREATED, EffectName.GROUP_TYPE_CHANGED, EffectName.STATE_CHANGED, EffectName.GROUP_REMOVED
]
_MemberFactName = Literal[EffectName.MEMBER_JOINED, EffectName.MEMBER_UPDATED, EffectName.MEMBER_REMOVED]
_RequestFactName = Literal[EffectName.REQUEST_PARKED, EffectName.REQUEST_DROPPED, EffectName.REBALANCE_STARTED]
FactName = _GroupFactName | _MemberFactName | _RequestFactName
"""The effects beside replies that a gateway reads."""
_LASTING: tuple[FactName, ...] = (*get_args(_GroupFactName), *get_args(_MemberFactName))
KINDS: tuple[FactName, ...] = (*_LASTING, *get_args(_RequestFactName))


class Fact(NamedTuple):
    """An event of a group, a member or a request."""

    group_id: str
    effect: FactName
    at_ms: int
    seq: int
    request_id: str | None
    cause: str | None
    """Of a rebalance."""
    detail: str | None
    """The whole effect as JSON."""
    member_id: str | None = None


class News(NamedTuple):
    """What one version of the table brought."""

    replies: list[Reply]
    facts: list[Fact]


class EffectsTable:
    """Follows the effects of a home for one gateway."""

    def __init__(self, path: Path, gateway_id: str) -> None:
        self._path = path
        self._follower = TableFollower(path, _COLUMNS, from_version=0)
        self._prefix = f"{gateway_id}-"

    def has_news(self) -> bool:
        """Whether the next version is there; costs one look at a file's name."""
        return self._follower.has_news()

    def history(self) -> Iterator[Fact]:
        """The events of all groups and members up to now, in no order; `news` goes on from there."""
        log = DeltaLog(self._path)
        if log.latest() < 0:
            return
        live = live_files(log, read_checkpoint)
        self._follower.go_on_after(live.version)
        for path in live.paths:
            try:
                for rows in pq.ParquetFile(path).iter_batches(columns=_COLUMNS):
                    yield from _facts(pa.Table.from_batches([rows]), _LASTING)
            except Exception as error:
                if not lies_in_the_file(error):
                    raise
                left_out(self._path.name, path.name, error)

    def news(self) -> News:
        """What the next version brought."""
        news = News([], [])
        for rows in self._follower.read_next():
            news.replies.extend(replies(rows, self._prefix))
            news.facts.extend(_facts(rows, KINDS))
        return news


def _facts(rows: pa.Table, kinds: tuple[FactName, ...]) -> list[Fact]:
    chosen = rows.filter(pc.is_in(rows["effect"], pa.array(kinds)))
    columns: list[list[Any]] = [chosen[name].to_pylist() for name in _FACT_COLUMNS]
    return [Fact(*values) for values in zip(*columns, strict=True)]
