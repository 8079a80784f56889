"""Follows what a home's groups do, in the effects table; shows it as a screen or as plain lines.

Knows which facts a user wants to see as they come. Must not know Spark, nor how facts are folded (`known_groups`): it
reads what commits add, and what was true before.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Group as Stack
from rich.table import Table
from rich.text import Text

from rollcall.answers.why.telling import in_a_line
from rollcall.coordinator_udfs.protocol.known_groups import KnownGroup, KnownGroups
from rollcall.history import rebalances
from rollcall.history.kinds import CLASSIC, kind_of
from rollcall.history.words import clock, ended
from rollcall.programs.terminal import add_row, text_of
from rollcall.schemas.causes import EndCause
from rollcall.schemas.effect_names import LASTING, EffectName
from rollcall.schemas.effects import MemberJoined, MemberRemoved, RebalanceEnded
from rollcall.schemas.tables import EFFECTS
from rollcall.tables.lasting_facts import lasting_facts
from rollcall.tables.table_follower import TableFollower
from rollcall.tables.unread import left_out, row_named
from rollcall.tables.versions import TableError

SHOWN_REBALANCES = 12
_COLUMNS = ("group_id", "seq", "at_ms", "effect", "detail")
_WANTED = pa.array([str(name) for name in (*LASTING, EffectName.REBALANCE_ENDED)])
_STYLES = {"Stable": "green", "Empty": "dim", "PreparingRebalance": "yellow", "CompletingRebalance": "cyan"}


class Watch:
    """Follows a home from now on and knows its groups' state before: lines, and a screen of the groups with news."""

    def __init__(self, home: Path) -> None:
        self._follower = TableFollower(home / EFFECTS.name, _COLUMNS)
        self.groups = KnownGroups()
        self._rebalances: deque[str] = deque(maxlen=SHOWN_REBALANCES)
        self.with_news: set[str] = set()
        """The groups with new facts since the watch began."""
        try:
            before = lasting_facts(home / EFFECTS.name)
            self._follower.next_version = before.version + 1
            self.begin_with(fact._asdict() for fact in before.facts)
        except (TableError, OSError) as error:
            left_out(EFFECTS.name, "what was before now", error)

    def begin_with(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Takes rows of facts with the groups' present state; gives no lines."""
        list(self.lines(rows))
        self.with_news.clear()

    def look(self) -> Iterator[str]:
        """Lines about what has happened since the last look, in order of time; a batch holds its rows by groups."""
        polled = [table.filter(pc.is_in(table["effect"], _WANTED)).to_pylist() for table in self._follower.poll()]
        yield from self.lines(sorted(itertools.chain.from_iterable(polled), key=itemgetter("at_ms")))

    def lines(self, rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
        for row in rows:
            try:
                line = self.take(str(row["group_id"]), row["effect"], row["detail"])
            except (ValueError, RecursionError) as error:
                left_out(EFFECTS.name, row_named(row["group_id"], row["seq"]), error)
                continue
            if line is not None:
                yield line

    def take(self, group_id: str, name: str, detail: str | None) -> str | None:
        """The line about a fact, or None if users need no line about it."""
        self.with_news.add(group_id)
        match effect := self.groups.apply(group_id, name, detail):
            case MemberJoined():
                return f"{clock(effect.at_ms)}  {group_id}: {effect.client_id} joined"
            case MemberRemoved(end_cause=EndCause.MEMBER_LEFT, is_inferred=False):
                return f"{clock(effect.at_ms)}  {group_id}: {effect.client_id} left"
            case MemberRemoved():
                cause = ended(effect.end_cause, effect.is_inferred)
                return f"{clock(effect.at_ms)}  {group_id}: {effect.client_id} was removed ({cause})"
            case RebalanceEnded():
                group = self.groups.get(group_id)
                kind = CLASSIC if group is None else kind_of(group.group_type, group.protocol_type)
                line = f"{clock(effect.at_ms)}  {group_id}: {in_a_line(rebalances.ended(effect), kind)}"
                self._rebalances.append(line)
                return line
        return None

    def group_at_work_with(self, client_id: str) -> KnownGroup | None:
        """The Stable group that this client is a member of, if it is in one with others."""
        for group in self.groups:
            if group.state == "Stable" and client_id in client_ids(group) and len(group.members) > 1:
                return group
        return None

    def screen(self) -> Stack:
        """The groups as a table, and the last rebalances below it."""
        table = Table(title="consumer groups", title_justify="left", expand=False)
        for name in ("group", "state", "generation or epoch", "members"):
            table.add_column(name, justify="right" if name == "generation or epoch" else "left")
        for group_id, group in sorted(self.groups.by_id.items()):
            if group_id in self.with_news:
                state = text_of(group.state, _STYLES.get(group.state, ""))
                add_row(table, group_id, state, str(group.generation_id), ", ".join(client_ids(group)))
        lines = [text_of(line) for line in self._rebalances]
        return Stack(table, Text("rebalances (UTC)", style="italic"), *lines)


def client_ids(group: KnownGroup) -> list[str]:
    """The client ids of its members, in order."""
    return sorted(member.client_id for member in group.members.values())


class RebalanceLines(Watch):
    """A line for each rebalance that has ended."""

    def take(self, group_id: str, name: str, detail: str | None) -> str | None:
        line = super().take(group_id, name, detail)
        return line if name == EffectName.REBALANCE_ENDED else None
