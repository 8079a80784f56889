"""Follows what a home's groups do, in the effects table; shows it as a screen or as plain lines.

Knows the effects about groups, members and rebalances; must not know Spark: it reads what commits add.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Group as Stack
from rich.table import Table
from rich.text import Text

from jobs.shown.terminal import add_row, text_of
from schemas.effect_names import EffectName
from schemas.tables import EFFECTS_FOLDER
from tables.table_follower import TableFollower
from tables.unread import left_out, row_named

SHOWN_REBALANCES = 12
_COLUMNS = ("group_id", "seq", "effect", "at_ms", "generation_id", "member_id", "client_id", "cause", "detail")
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


class _Candidate(msgspec.Struct):
    kind: str


class _Culprit(msgspec.Struct):
    kind: str
    client_id: str = ""
    group_instance_id: str | None = None
    client_reason: str | None = None
    candidates: list[_Candidate] = []


class _Rebalance(msgspec.Struct):
    cause: _Culprit
    from_generation_id: int
    to_generation_id: int
    started_at_ms: int | None
    """None: not known, as of a classic group that only the offsets topic tells of."""
    outcome: str
    members_before: int
    members_after: int
    slowest_client_id: str | None = None
    slowest_wait_ms: int | None = None


class _State(msgspec.Struct):
    to_state: str


_rebalance_decoder = msgspec.json.Decoder(_Rebalance)
_state_decoder = msgspec.json.Decoder(_State)


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

    def _take(self, row: dict[str, object]) -> str | None:
        group_id, detail, at_ms = str(row["group_id"]), str(row["detail"] or "{}"), int(str(row["at_ms"]))
        group = self.groups.setdefault(group_id, WatchedGroup())
        match row["effect"]:
            case EffectName.STATE_CHANGED:
                group.state = _state_decoder.decode(detail).to_state
                group.generation_id = int(str(row["generation_id"]))
            case EffectName.MEMBER_JOINED:
                group.members[str(row["member_id"])] = str(row["client_id"])
                return f"{_time(at_ms)}  {group_id}: {row['client_id']} became a member"
            case EffectName.MEMBER_REMOVED:
                group.members.pop(str(row["member_id"]), None)
                return f"{_time(at_ms)}  {group_id}: {row['client_id']} is a member no longer ({row['cause']})"
            case EffectName.GROUP_REMOVED:
                self.groups.pop(group_id, None)
            case EffectName.REBALANCE_ENDED:
                line = f"{_time(at_ms)}  {group_id}: {_sentence(_rebalance_decoder.decode(detail), at_ms)}"
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


def _sentence(rebalance: _Rebalance, at_ms: int) -> str:
    cause = rebalance.cause
    culprit = cause.client_id or cause.group_instance_id
    by = f" by {culprit}" if culprit else ""
    reason = f' ("{cause.client_reason}")' if cause.client_reason else ""
    generations = f"generation {rebalance.from_generation_id} -> {rebalance.to_generation_id}"
    members = f"{rebalance.members_before} -> {rebalance.members_after} members"
    took = "" if rebalance.started_at_ms is None else f", {(at_ms - rebalance.started_at_ms) / 1000:.1f} s"
    slow = ""
    if rebalance.slowest_client_id and rebalance.slowest_wait_ms:
        slow = f", waited {rebalance.slowest_wait_ms / 1000:.1f} s for {rebalance.slowest_client_id}"
    fitting = dict.fromkeys(one.kind for one in cause.candidates)
    kind = f"{cause.kind} ({' or '.join(fitting)})" if fitting else cause.kind
    return f"rebalance {rebalance.outcome}: {kind}{by}{reason}, {generations}, {members}{took}{slow}"


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%H:%M:%S.%f")[:-3]
