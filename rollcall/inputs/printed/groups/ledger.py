"""One group's history by its coordinator's lines, each taken once: its rebalances, and the effects of a home.

An effect stands at the time of its line. Lines are missing in what people keep: what a missing line would have said is
None, empty or -1. If no line says when a member joined, it joined at the latest by the generation before its first
line. Knows one group's lines in order. Must not know how lines are worded, nor a table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set

from rollcall.coordinator_udfs.protocol.consumer.states import GroupType
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.inputs.printed.groups.causes import Causes
from rollcall.inputs.printed.groups.epochs import Epochs
from rollcall.inputs.printed.groups.generations import Generations
from rollcall.inputs.printed.groups.holders import holder_of
from rollcall.inputs.printed.groups.running import Running
from rollcall.inputs.printed.groups.standing import UNKNOWN_STATE
from rollcall.inputs.printed.logged_facts import NEWER, FactKind, LoggedFact, is_dated
from rollcall.schemas.effects import UNKNOWN_END
from rollcall.schemas.shown_effects import ShownEffect


class Ledger:
    """One group. lines: its coordinator's. clients: each one's lines. names_goers: a member that goes has a line."""

    def __init__(
        self, lines: Sequence[LoggedFact], clients: Sequence[Sequence[LoggedFact]], causes: Causes, *, names_goers: bool
    ) -> None:
        self._lines, self._causes = lines, causes
        self._running = Running(lines, clients)
        self.rebalances = self._running.rebalances
        """Those of the lines, in order."""
        self._written, self._standing = self._running.written, self._running.standing
        self._generations = Generations(lines, causes, self._running)
        self._epochs = Epochs(lines, causes, self._running, names_goers=names_goers)
        for place, line in enumerate(lines):
            self._take(place, line)
        self._epochs.end()
        self._causes.settle()
        if self._generations.running is not None:
            self._generations.running.held_by = holder_of(self._generations.running)

    def effects(self, rests_on: Set[int], *, goes_on: bool) -> list[ShownEffect]:
        """Return the effects that rest on lines and rebalances with these ids, in order.

        goes_on: the next line may be about what runs after the last one.
        """
        if not goes_on:
            self._end_with_lines()
        return self._running.effects(rests_on, self.rebalances, are_leaves_said=False)

    def _end_with_lines(self) -> None:
        """What a classic group is seen to begin still runs at the end; when an epoch was reached, no line says."""
        self._follow_owners(math.inf)
        one = self._running.one
        if self._standing.type is GroupType.CONSUMER or (one is not None and not one.is_begun):
            self._running.end(UNKNOWN_END)
        if self._running.members.current and self._standing.state in ("", GroupState.EMPTY.value):
            self._standing.move(UNKNOWN_STATE)

    def _take(self, place: int, line: LoggedFact) -> None:
        """One line. A time earlier than that of the line before is that one's: partitions' lines interleave."""
        at_ms = max(self._written.at_ms, line.at_ms or 0) if is_dated(line) else self._written.at_ms
        if self._standing.type is not None:
            self._follow_owners(at_ms)
        self._written.at_ms, self._written.line = at_ms, line
        if self._standing.type is None:
            self._standing.begin(self._lines, place)
        after = self._standing.type_by(line)
        if after is not None and after is not self._standing.type:
            self._running.end(UNKNOWN_END)
            self._epochs.end()
            self._standing.change_type(line, after)
        self._causes.take(place, line)
        match line.kind:
            case FactKind.GROUP_UNLOADED | FactKind.GROUP_TAKEN_OVER:
                self._running.end(UNKNOWN_END)
                self._standing.observe(line)
                self._generations.shown = line.generation_id or self._generations.shown
            case FactKind.GROUP_DIED | FactKind.GROUPS_DELETED:
                self._generations.die(line)
                self._running.end(UNKNOWN_END)
                self._epochs.end()
                self._standing.forget("deleted" if line.kind is FactKind.GROUPS_DELETED else "unknown")
            case kind if kind in NEWER:
                self._epochs.take(place, line)
            case _:
                self._generations.take(place, line)

    def _follow_owners(self, until_ms: float) -> None:
        self._running.owners.until(until_ms, is_of_epochs=self._standing.type is GroupType.CONSUMER)
