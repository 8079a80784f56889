"""One group's history by its lines, each taken once: its rebalances, and the effects of a home.

A `Ledger` is of a coordinator's lines, a `ClientLedger` of a group that only clients' lines show.
An effect stands at the time of its line. Lines are missing in what people keep: what a missing line would have said is
None, empty or -1. If no line says when a member joined, it joined at the latest by the generation before its first
line. Knows one group's lines in order. Must not know how lines are worded, nor a table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from itertools import chain
from operator import itemgetter

from rollcall.coordinator_udfs.protocol.consumer.states import GroupType
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.inputs.printed.groups.causes import Causes
from rollcall.inputs.printed.groups.epochs import Epochs
from rollcall.inputs.printed.groups.generations import Generations
from rollcall.inputs.printed.groups.holders import holder_of
from rollcall.inputs.printed.groups.own_epochs import OwnHistory
from rollcall.inputs.printed.groups.own_membership import Came, Event, Listed, Went
from rollcall.inputs.printed.groups.reasons import Reason
from rollcall.inputs.printed.groups.running import Running
from rollcall.inputs.printed.groups.standing import UNKNOWN_STATE
from rollcall.inputs.printed.lines.entries import DATED
from rollcall.inputs.printed.logged_facts import NEWER, FactKind, LoggedFact, is_dated
from rollcall.inputs.printed.logged_rebalances import LoggedRebalance
from rollcall.schemas.causes import CauseKind
from rollcall.schemas.effects import UNKNOWN_END, GroupFound
from rollcall.schemas.shown_effects import ShownEffect

_Timed = tuple[int, Event | LoggedRebalance]
"""When it was; for a rebalance: when it ended, or the time of its last line."""


class Ledger:
    """One group by its coordinator's lines. clients: each one's lines. names_goers: a member that goes has a line."""

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

    def effects(self, rests_on: Set[int], *, is_ongoing: bool) -> list[ShownEffect]:
        """Return the effects that rest on lines and rebalances with these ids, in order.

        is_ongoing: the next line may be about what runs after the last one.
        """
        if not is_ongoing:
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


class ClientLedger:
    """One group by its clients' lines. clients: what each one's lines say. rebalances: those of all.

    Members are those that print lines: when others came is unknown. A member whose lines just end stays one, unless a
    leader's assignment is without it. Clocks of clients differ: what begins earlier ends where the next begins.
    """

    def __init__(self, group_type: str, clients: Sequence[OwnHistory], rebalances: Sequence[LoggedRebalance]) -> None:
        self._type = GroupType.CONSUMER if group_type == "consumer" else GroupType.CLASSIC
        self._clients, self._rebalances = clients, rebalances

    def effects(self, rests_on: Set[int], *, is_ongoing: bool) -> list[ShownEffect]:
        """Return the effects that rest on lines and rebalances with these ids, in order; the lines are whole."""
        timed: list[_Timed] = [*chain.from_iterable(own.events for own in self._clients), *_ends(self._rebalances)]
        timed.sort(key=itemgetter(0))
        if not timed:
            return []
        self._begin(timed)
        for at_ms, event in timed:
            self._owners.until(at_ms - 1, is_of_epochs=True)
            self._set_moment(at_ms, event)
            self._take(event)
        self._owners.until(math.inf, is_of_epochs=True)
        if self._members.current:
            self._running.standing.move(UNKNOWN_STATE)
        return self._running.effects(rests_on, self._rebalances, are_leaves_said=True)

    def _begin(self, timed: Sequence[_Timed]) -> None:
        self._running = Running((), [own.facts for own in self._clients])
        self._written, self._members, self._owners = self._running.written, self._running.members, self._running.owners
        if self._type is GroupType.CLASSIC:
            self._owners.end_with_lines()
        self._set_moment(*timed[0])
        numbers = [one.line.generation_id or 1 for _, one in timed if isinstance(one, Came)]
        first = min(numbers, default=1) - 1
        self._written.emit(GroupFound(at_ms=self._written.at_ms, group_type=self._type, generation_id=first))
        self._members.form()

    def _set_moment(self, at_ms: int, event: Event | LoggedRebalance) -> None:
        self._written.at_ms = max(self._written.at_ms, at_ms)
        self._written.line = event.facts[-1] if isinstance(event, LoggedRebalance) else event.line

    def _take(self, event: Event | LoggedRebalance) -> None:
        match event:
            case Came(line, is_inferred):
                self._reach(line.generation_id or 0)
                self._members.join(line._replace(other_member_id="", length_ms=None), is_inferred=is_inferred)
            case Went(line, member_id, reason) if not self._members.has_gone(member_id):
                self._members.go(member_id, reason, line)
            case Listed(line, member_ids):
                for member_id in [one for one in self._members.current if one not in member_ids]:
                    self._members.go(member_id, Reason(CauseKind.UNKNOWN), line)
            case LoggedRebalance():
                self._end(event)

    def _end(self, one: LoggedRebalance) -> None:
        before = next(iter(self._running.rebalances[-1:]), None)
        if before is not None and before.generation_id == (one.generation_id or 0) - 1:
            one.members_before = before.members_after
        one.members_after = one.members
        self._running.rebalances.append(one)
        self._running.changes = self._members.form()
        outcome = "completed" if one.outcome == "completed" else UNKNOWN_END
        self._running.report_end(one, self._written.at_ms, outcome)

    def _reach(self, generation_id: int) -> None:
        """A member shows a later generation than all before it."""
        if generation_id <= self._running.standing.generation_id:
            return
        self._written.generation_id = generation_id
        if self._type is GroupType.CONSUMER:
            self._owners.begin_epoch()
        else:
            self._owners.begin(generation_id)


def _ends(rebalances: Sequence[LoggedRebalance]) -> list[_Timed]:
    """When each rebalance with a generation and dates ended; the previous one ends where it begins."""
    found: list[tuple[int, LoggedRebalance]] = []
    first_before_ms = 0
    numbered = {one.generation_id: one for one in rebalances if one.generation_id is not None and one.clock in DATED}
    for _, one in sorted(numbered.items()):
        times = [ms for ms in (one.began_at_ms, one.joined_at_ms, one.ended_at_ms) if ms is not None]
        if not times:
            continue
        first_ms, last_ms = min(times), max(times)
        before_ms, before = found[-1] if found else (0, one)
        is_behind = first_ms < first_before_ms
        if is_behind:
            first_ms, last_ms = before_ms, max(last_ms, before_ms)
        elif first_ms < before_ms:
            found[-1] = first_ms, before
        began_ms = None if is_behind else one.began_at_ms
        one.known_from_ms, one.is_begun = first_ms if began_ms is None else began_ms, began_ms is not None
        found.append((last_ms, one))
        first_before_ms = first_ms
    return [*found]
