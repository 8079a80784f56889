"""Follows what a home's groups do, in the effects table; shows it as a screen or as plain lines.

Knows the effects about groups, members and rebalances; must not know Spark: it reads what commits add.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Group as Stack
from rich.table import Table
from rich.text import Text

from jobs.shown.terminal import add_row, text_of
from schemas.effect_names import EffectName
from schemas.effect_rows import effect_in
from schemas.effects import GroupRemoved, MemberJoined, MemberRemoved, RebalanceEnded, StateChanged
from schemas.tables import EFFECTS_FOLDER
from tables.table_follower import TableFollower
from tables.unread import left_out, row_named

SHOWN_REBALANCES = 12
_COLUMNS = ("group_id", "seq", "effect", "detail")
_TOLD = pa.array(
    [
        EffectName.STATE_CHANGED.value,
        EffectName.MEMBER_JOINED.value,
        EffectName.MEMBER_REMOVED.value,
        EffectName.GROUP_REMOVED.value,
        EffectName.REBALANCE_ENDED.value,
    ]
)
_STYLES = {"Stable": "green", "Empty": "dim", "PreparingRebalance": "yellow", "CompletingRebalance": "cyan"}


@dataclass
class WatchedGroup:
    """A group as the effects have told of it so far."""

    state: str = "Empty"
    generation_id: int = 0
    members: dict[str, str] = field(default_factory=dict)
    """Client ids by member id."""


class Watch:
    """Follows a home from now on. `look` reads new effects and gives a line for each that a user wants to see."""

    def __init__(self, home: Path) -> None:
        self._follower = TableFollower(home / EFFECTS_FOLDER, _COLUMNS)
        self.groups: dict[str, WatchedGroup] = {}
        self.rebalances: list[str] = []

    def look(self) -> Iterator[str]:
        """Lines about what has happened since the last look."""
        for table in self._follower.poll():
            told = table.filter(pc.is_in(table["effect"], _TOLD))
            for row in told.to_pylist():
                try:
                    line = self._take(row)
                except (ValueError, KeyError, TypeError, RecursionError) as error:
                    left_out(EFFECTS_FOLDER, row_named(row["group_id"], row["seq"]), error)
                    continue
                if line is not None:
                    yield line

    def _take(self, row: Mapping[str, Any]) -> str | None:
        group_id, effect = str(row["group_id"]), effect_in(row["effect"], row["detail"])
        group = self.groups.setdefault(group_id, WatchedGroup())
        match effect:
            case StateChanged():
                group.state, group.generation_id = effect.to_state, effect.generation_id
            case MemberJoined():
                group.members[effect.member_id] = effect.client_id
                return f"{_time(effect.at_ms)}  {group_id}: {effect.client_id} became a member"
            case MemberRemoved():
                group.members.pop(effect.member_id, None)
                return (
                    f"{_time(effect.at_ms)}  {group_id}: {effect.client_id} is a member no longer ({effect.end_cause})"
                )
            case GroupRemoved():
                self.groups.pop(group_id, None)
            case RebalanceEnded():
                line = f"{_time(effect.at_ms)}  {group_id}: {_sentence(effect)}"
                self.rebalances.append(line)
                return line
        return None

    def group_at_work_with(self, client_id: str) -> WatchedGroup | None:
        """The Stable group that this client is a member of, if it is in one with others."""
        for group in self.groups.values():
            if group.state == "Stable" and client_id in group.members.values() and len(group.members) > 1:
                return group
        return None

    def screen(self) -> Stack:
        """The groups as a table, and the last rebalances below it."""
        table = Table(title="consumer groups", title_justify="left", expand=False)
        for name in ("group", "state", "generation", "members"):
            table.add_column(name, justify="right" if name == "generation" else "left")
        for group_id, group in sorted(self.groups.items()):
            state = text_of(group.state, _STYLES.get(group.state, ""))
            add_row(table, group_id, state, str(group.generation_id), ", ".join(sorted(group.members.values())))
        lines = [text_of(line) for line in self.rebalances[-SHOWN_REBALANCES:]]
        return Stack(table, Text("rebalances (UTC)", style="italic"), *lines)


def _sentence(rebalance: RebalanceEnded) -> str:
    cause = rebalance.cause
    culprit = cause.client_id or cause.group_instance_id
    by = f" by {culprit}" if culprit else ""
    reason = f' ("{cause.client_reason}")' if cause.client_reason else ""
    generations = f"generation {rebalance.from_generation_id} -> {rebalance.to_generation_id}"
    members = f"{rebalance.members_before} -> {rebalance.members_after} members"
    took = "" if rebalance.started_at_ms is None else f", {(rebalance.at_ms - rebalance.started_at_ms) / 1000:.1f} s"
    slow = ""
    if rebalance.slowest_client_id and rebalance.slowest_wait_ms:
        slow = f", waited {rebalance.slowest_wait_ms / 1000:.1f} s for {rebalance.slowest_client_id}"
    fitting = dict.fromkeys(one.kind for one in cause.candidates)
    kind = f"{cause.kind} ({' or '.join(fitting)})" if fitting else cause.kind
    return f"rebalance {rebalance.outcome}: {kind}{by}{reason}, {generations}, {members}{took}{slow}"


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%H:%M:%S.%f")[:-3]
