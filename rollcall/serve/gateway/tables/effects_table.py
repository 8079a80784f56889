"""The effects table as a gateway reads it: the rows of each new version, and which groups there are. Only this
gateway's replies and the events of groups are read. Knows the table's columns; must not know who waits for a reply.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from rollcall.schemas.effect_names import LASTING, EffectName
from rollcall.tables.lasting_facts import Fact, lasting_facts
from rollcall.tables.replies import REPLY_COLUMNS, Reply, replies
from rollcall.tables.table_follower import TableFollower

_COLUMNS = sorted({*Fact._fields, *REPLY_COLUMNS})
KINDS = (*LASTING, EffectName.REQUEST_PARKED, EffectName.REQUEST_DROPPED)
"""The effects beside replies that a gateway reads."""


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
        """The events that say how groups and members are now, in order; `news` goes on from there."""
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
