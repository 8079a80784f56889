"""A classic group's rebalances, by its coordinator's lines: `Preparing to rebalance` begins one and says why.

`Stabilized` ends its join phase, and `Assignment received` completes it. Knows one group's lines in order, and what
runs. Must not know how lines are worded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from rollcall.coordinator_udfs.protocol.consumer.states import GroupType
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.inputs.printed.groups.causes import Causes
from rollcall.inputs.printed.groups.holders import holder_of
from rollcall.inputs.printed.groups.reasons import cause_of, gone_by, read_reason
from rollcall.inputs.printed.groups.running import Running
from rollcall.inputs.printed.logged_facts import GOES, NEW_IDS, FactKind, LoggedFact
from rollcall.inputs.printed.logged_rebalances import LoggedRebalance, rebalance_of
from rollcall.inputs.tolerances import NOT_WAITED_MS, TOGETHER_MS
from rollcall.schemas.causes import CauseKind, EndCause
from rollcall.schemas.effects import UNKNOWN_END, JoinPhaseEnded

_IN_COMPLETING = "during CompletingRebalance"
"""In the reason of a rebalance that began while the assignment of the one before was awaited."""


class Generations:
    """One group, whose lines are taken in order."""

    def __init__(self, lines: Sequence[LoggedFact], causes: Causes, running: Running) -> None:
        self._lines, self._causes, self._running = lines, causes, running
        self._members, self._owners = running.members, running.owners
        self._standing, self._written = running.standing, running.written
        self._gone: list[LoggedFact] = []
        """Who left or expired since the latest rebalance began: the next one may be theirs."""
        self.shown: int | None = None
        """The latest generation that lines have."""

    @property
    def running(self) -> LoggedRebalance | None:
        return self._running.one if self._standing.type is GroupType.CLASSIC else None

    def take(self, place: int, line: LoggedFact) -> None:
        """Take a line that only groups of this protocol have, or that both have about a member."""
        match line.kind:
            case FactKind.REBALANCE_BEGAN:
                self._begin(place, line)
            case FactKind.JOIN_PHASE_ENDED:
                self._end_join_phase(line)
            case FactKind.ASSIGNMENT_RECEIVED:
                self._complete(line)
            case FactKind.GROUP_EMPTIED:
                self._empty(line)
            case _:
                self._take_evidence(line)

    def _take_evidence(self, line: LoggedFact) -> None:
        """A line that neither begins, numbers nor ends a rebalance: most are about a member."""
        members = self._members
        if self.running is not None:
            self.running.facts.append(line)
        match line.kind:
            case FactKind.MEMBER_ADDED | FactKind.MEMBER_LOADED:
                members.join(line, is_inferred=line.kind is FactKind.MEMBER_LOADED)
            case FactKind.STATIC_MEMBER_REPLACED if line.other_member_id:
                members.replace(line.member_id, line.other_member_id, line.instance_id)
                if self._standing.state == GroupState.STABLE.value:
                    members.store(self._standing.count)
            case kind if kind in GOES:
                members.leave(line)
                self._gone.append(line)
                self._blame_for_emptying()
            case FactKind.MEMBERS_NOT_BACK:
                for member_id in line.member_ids:
                    members.remove(member_id, EndCause.REBALANCE_TIMEOUT)
            case _:
                pass

    def _begin(self, place: int, line: LoggedFact) -> None:
        self._running.end("superseded" if _is_too_soon(self.running, line) else UNKNOWN_END)
        one, reason = rebalance_of(line), read_reason(line.reason)
        one.from_generation_id, one.began_at_ms = line.generation_id, line.at_ms
        one.generation_id = one.to_generation_id
        removed = self._causes.removed(place, self._gone)
        one.cause = self._causes.of(place, reason, one, removed)
        gone = [each for each in removed if each.member_id == one.cause.member_id]
        one.facts, self._gone = [*gone, line], []
        self._see_before(place, one)
        if one.cause.kind is CauseKind.MEMBER_JOINED and not line.may_be_forged:
            self._members.add_culprit(one.cause)
        for member_id in reason.member_ids if reason is not None and reason.kind is CauseKind.SYNC_TIMEOUT else ():
            self._members.remove(member_id, EndCause.SYNC_TIMEOUT)
        self._running.begin(one, is_beginning=True)
        if one.generation_id is not None:
            self._written.generation_id = line.generation_id
            self._owners.begin(one.generation_id)
        if self._standing.state != GroupState.PREPARING_REBALANCE.value:
            self._standing.move(GroupState.PREPARING_REBALANCE.value)

    def _see_before(self, place: int, one: LoggedRebalance) -> None:
        """What the lines have of the group as a rebalance begins at a place."""
        number, asked = one.from_generation_id, self._lines[max(place - 1, 0)]
        was_found_empty = asked.kind in NEW_IDS and asked.state == GroupState.EMPTY.value
        is_empty = self._standing.state == GroupState.EMPTY.value and self._written.generation_id == number
        one.began_empty = is_empty or was_found_empty
        one.follows_known = number is not None and number == self.shown
        one.others = tuple(member_id for member_id in self._members.current if member_id != one.cause.member_id)

    def _of_generation(self, line: LoggedFact) -> LoggedRebalance:
        """The rebalance that led to the line's generation: the running one, or one whose beginning is missing."""
        one = self.running
        if one is not None and one.generation_id is None:
            one.generation_id = line.generation_id
        if one is None or line.generation_id not in (None, one.generation_id):
            self._running.end(UNKNOWN_END)
            one, self._gone = rebalance_of(line), []
            one.generation_id = line.generation_id
            self._running.begin(one, is_beginning=False)
        if one.generation_id is not None:
            self._written.generation_id = self.shown = one.generation_id
        one.facts.append(line)
        return one

    def _end_join_phase(self, line: LoggedFact) -> None:
        one, standing = self._of_generation(line), self._standing
        self._owners.form(standing.generation_id)
        known = [*self._members.current]
        standing.is_whole = standing.is_whole if line.members is None else len(known) == line.members
        one.joined_at_ms = line.at_ms
        one.members = one.members_after = len(known) if standing.is_whole else line.members
        self._running.changes = self._members.form()
        if standing.is_whole and known:
            self._written.emit(
                JoinPhaseEnded(
                    at_ms=self._written.at_ms,
                    generation_id=standing.generation_id,
                    protocol_name=None,
                    leader_id=None,
                    member_ids=known,
                )
            )
        standing.move(GroupState.COMPLETING_REBALANCE.value)

    def _complete(self, line: LoggedFact) -> None:
        one = self._of_generation(line)
        one.ended_at_ms = line.at_ms
        one.members = one.members_after = one.members if line.members is None else line.members
        if line.member_id:
            self._members.known(line.member_id)
        self._owners.give(self._standing.generation_id)
        self._standing.move(GroupState.STABLE.value, line.member_id or None)
        self._running.end("completed")

    def _empty(self, line: LoggedFact) -> None:
        one = self._of_generation(line)
        one.ended_at_ms = line.at_ms
        one.members = one.members_after = 0
        self._count_before(one)
        self._members.remove_all()
        self._standing.is_whole, self._running.changes = True, self._members.form()
        self._standing.move(GroupState.EMPTY.value)
        self._running.end("empty")
        self._blame_for_emptying()

    def die(self, line: LoggedFact) -> None:
        """Kafka 0.9 removes a group as its last member goes: then the running rebalance has no end of its own."""
        one = self.running if line.generation_id is not None else None
        if one is not None and one.joined_at_ms is None and one.from_generation_id == line.generation_id:
            one.generation_id, one.ended_at_ms = None, line.at_ms  # None was formed.
            one.members = one.members_after = 0
            one.facts.append(line)
            self._running.end("empty")

    def _count_before(self, emptied: LoggedRebalance) -> None:
        """Where one member's end emptied a group at once, it had been alone in the generation before."""
        before = next(iter(self._running.rebalances[-2:-1]), None)
        gone = {each.member_id for each in (*emptied.facts, *self._gone) if each.kind in GOES}
        is_at_once = emptied.began_at_ms is not None and (emptied.ended_at_ms or 0) - emptied.began_at_ms <= TOGETHER_MS
        if before is None or before.members is not None or len(gone) != 1 or not is_at_once:
            return
        if before.joined_at_ms is not None and before.generation_id == emptied.from_generation_id:
            before.members = before.members_after = emptied.members_before = 1
            before.held_by = holder_of(before)

    def _blame_for_emptying(self) -> None:
        """Who emptied a group whose rebalance has no line of its beginning: who went at that moment."""
        last = next(iter(self._running.rebalances[-1:]), None) if self._running.one is None else None
        if last is None or last.outcome != "empty" or last.began_at_ms is not None or last.cause.member_id:
            return
        for line in self._gone:
            if line.at_ms is None or last.ended_at_ms is None or abs(line.at_ms - last.ended_at_ms) > TOGETHER_MS:
                continue
            last.facts.append(line)
            last.cause = cause_of(gone_by(line))


def _is_too_soon(before: LoggedRebalance | None, line: LoggedFact) -> bool:
    """Whether a rebalance began before the previous one's assignment could come: otherwise its line may be missing."""
    if before is None or before.joined_at_ms is None or line.generation_id != before.generation_id:
        return False
    after_ms = math.inf if line.at_ms is None or line.is_whole_seconds else line.at_ms - before.joined_at_ms
    return _IN_COMPLETING in line.reason or after_ms <= NOT_WAITED_MS
