"""One group's history by its coordinator's lines, each taken once: its rebalances, and the effects of a home.

`Preparing to rebalance` begins a classic rebalance and says why, `Stabilized` ends its join phase, and `Assignment
received` completes it. An effect stands at the time of its line. Lines are missing in what people keep: what a missing
line would have said is None, empty or -1. If no line says when a member joined, it joined at the latest by the
generation before its first line. Knows one group's lines in order, and its epochs. Must not know how lines are worded,
nor a table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from functools import partial

from rollcall.coordinator_udfs.protocol.consumer.states import GroupType
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.inputs.printed.groups.consumer_history import downgraded_by
from rollcall.inputs.printed.groups.holders import TOGETHER_MS, holder_of
from rollcall.inputs.printed.groups.logged_effects import Written, made
from rollcall.inputs.printed.groups.logged_members import ENDS, Changes, Members, explain_departure
from rollcall.inputs.printed.groups.owners import Owners
from rollcall.inputs.printed.groups.reasons import DOWNGRADED, Causes, cause_of_going, read_reason
from rollcall.inputs.printed.groups.rebalance_effects import ended, started
from rollcall.inputs.printed.groups.standing import UNKNOWN_STATE, Standing
from rollcall.inputs.printed.logged_facts import FactKind, LoggedFact, is_dated
from rollcall.inputs.printed.logged_rebalances import LoggedRebalance, rebalance_of
from rollcall.schemas.causes import CauseKind, EndCause
from rollcall.schemas.effects import UNKNOWN_END, Effect, JoinPhaseEnded

_GOES = (FactKind.MEMBER_LEFT, FactKind.MEMBER_EXPIRED)
_ASKED = (FactKind.MEMBER_ID_GIVEN, FactKind.MEMBER_ADDED)


class Ledger:
    """One group. lines: its coordinator's. epochs: its rebalances by the newer protocols. clients: each one's lines.

    log_ends_ms: the time up to which all lines are read.
    """

    def __init__(
        self,
        lines: Sequence[LoggedFact],
        epochs: Sequence[LoggedRebalance],
        clients: Sequence[Sequence[LoggedFact]],
        log_ends_ms: float | None,
    ) -> None:
        self.rebalances: list[LoggedRebalance] = []
        """The classic ones, in order."""
        self._lines = lines
        self._epochs = {id(line): one for one in epochs for line in one.facts}
        self._written = Written(at_ms=next((line.at_ms or 0 for line in lines if is_dated(line)), 0))
        self._members = Members.of_clients(self._written, (line for own in clients for line in own))
        given = [line.generation_id or 0 for line in lines if line.kind is FactKind.ASSIGNMENT_RECEIVED]
        self._owners = Owners(self._written, self._members, clients, given)
        self._standing = Standing(self._written, self._members)
        self._causes = Causes(lines, log_ends_ms)
        self._running: LoggedRebalance | None = None
        self._changes = Changes()
        """Who came and went until its generation was formed."""
        self._gone: list[LoggedFact] = []
        """Who left or expired since the latest rebalance began: the next one may be theirs."""
        self._shown: int | None = None
        """The latest generation that lines have."""
        self._reached: dict[str, int] = {}
        """By member, the epoch in which it has all that it is to have."""
        for place, line in enumerate(lines):
            self._take(place, line)
        self._causes.settle()
        if self._classic is not None:
            self._classic.held_by = holder_of(self._classic)

    def effects(self, rests_on: Set[int], *, goes_on: bool) -> list[Effect]:
        """Return the effects that rest on lines and rebalances with these ids, in order.

        goes_on: the next line may be about what runs after the last one.
        """
        if not goes_on:
            self._end_with_lines()
        rebalances = {id(line): one for one in self.rebalances for line in one.facts}
        for line_id, removed in self._members.left.items():
            one = rebalances.get(line_id) or self._epochs.get(line_id)
            if one is not None:
                explain_departure(removed, one.cause)
        return made(one for one in self._written.effects if id(one.of) in rests_on)

    def _end_with_lines(self) -> None:
        """What a classic group is seen to begin still runs at the end; when an epoch was reached, no line says."""
        self._follow_owners(math.inf)
        if self._standing.type is GroupType.CONSUMER or (self._running is not None and not self._running.is_begun):
            self._end(UNKNOWN_END)
        if self._members.current and self._standing.state in ("", GroupState.EMPTY.value):
            self._standing.move(UNKNOWN_STATE)

    @property
    def _classic(self) -> LoggedRebalance | None:
        """The classic rebalance that runs."""
        return self._running if self.rebalances and self._running is self.rebalances[-1] else None

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
            self._end(UNKNOWN_END)
            self._standing.change_type(line, after)
            self._reached = {}
        self._causes.take(place, line)
        self._follow(place, line)

    def _follow(self, place: int, line: LoggedFact) -> None:
        match line.kind:
            case FactKind.REBALANCE_BEGAN:
                self._begin(place, line)
            case FactKind.JOIN_PHASE_ENDED:
                self._end_join_phase(line)
            case FactKind.ASSIGNMENT_RECEIVED:
                self._complete(line)
            case FactKind.GROUP_EMPTIED:
                self._empty(line)
            case FactKind.EPOCH_BUMPED:
                self._bump(line)
            case FactKind.TARGET_COMPUTED:
                self._is_in_epoch(line)
            case FactKind.MEMBER_PROGRESSED:
                self._progress(line)
            case FactKind.GROUP_UNLOADED | FactKind.GROUP_TAKEN_OVER:
                self._end(UNKNOWN_END)
                self._standing.observe(line)
                self._shown = line.generation_id or self._shown
            case FactKind.GROUP_DIED | FactKind.GROUPS_DELETED:
                self._die(line)
            case _:
                self._take_evidence(line)

    def _follow_owners(self, until_ms: float) -> None:
        self._owners.until(until_ms, is_of_epochs=self._standing.type is GroupType.CONSUMER)

    def _take_evidence(self, line: LoggedFact) -> None:
        """A line that neither begins, numbers nor ends a rebalance: most are about a member."""
        members = self._members
        if self._classic is not None:
            self._classic.facts.append(line)
        match line.kind:
            case FactKind.MEMBER_ADDED | FactKind.MEMBER_JOINED_EPOCH | FactKind.MEMBER_LOADED:
                members.join(line, is_inferred=line.kind is FactKind.MEMBER_LOADED)
                self._reached.pop(line.member_id, None)
            case FactKind.STATIC_MEMBER_REPLACED if line.other_member_id:
                members.replace(line.member_id, line.other_member_id, line.instance_id)
                if self._standing.state == GroupState.STABLE.value:
                    members.store(self._standing.count)
            case FactKind.MEMBER_LEFT | FactKind.MEMBER_LEFT_EPOCH:
                members.leave(line)
            case FactKind.MEMBERS_NOT_BACK:
                for member_id in line.member_ids:
                    members.remove(member_id, EndCause.REBALANCE_TIMEOUT)
            case kind if kind in ENDS:
                members.remove(line.member_id, ENDS[line.kind], line)
            case _:
                pass
        if line.kind in _GOES:
            self._gone.append(line)
            self._blame_for_emptying()

    # ------------------------------------------------------------ classic rebalances

    def _begin(self, place: int, line: LoggedFact) -> None:
        before = self._classic
        # It follows the one whose assignment is awaited: no line is missing.
        is_next = before is not None and before.joined_at_ms is not None and line.generation_id == before.generation_id
        self._end("superseded" if is_next else UNKNOWN_END)
        one, reason = rebalance_of(line), read_reason(line.reason)
        one.from_generation_id, one.began_at_ms = line.generation_id, line.at_ms
        one.generation_id = one.to_generation_id
        downgraded = downgraded_by(self._lines, place) if DOWNGRADED in line.reason else None
        if downgraded is None:
            one.cause = self._causes.of(place, reason, one, self._gone)
            gone = [each for each in self._gone if each.member_id == one.cause.member_id]
        else:
            one.cause, gone = downgraded[0], [downgraded[1]]
        one.facts, self._gone = [*gone, line], []
        self._see_before(place, one)
        if one.cause.kind is CauseKind.MEMBER_JOINED and not line.may_be_forged:
            self._members.add_culprit(one.cause)
        for member_id in reason.member_ids if reason is not None and reason.kind is CauseKind.SYNC_TIMEOUT else ():
            self._members.remove(member_id, EndCause.SYNC_TIMEOUT)
        self.rebalances.append(one)
        self._run(one, is_beginning=True)
        if one.generation_id is not None:
            self._written.generation_id = line.generation_id
            self._owners.begin(one.generation_id)
        if self._standing.state != GroupState.PREPARING_REBALANCE.value:
            self._standing.move(GroupState.PREPARING_REBALANCE.value)

    def _see_before(self, place: int, one: LoggedRebalance) -> None:
        """What the lines have of the group as a rebalance begins at a place."""
        number, asked = one.from_generation_id, self._lines[max(place - 1, 0)]
        was_found_empty = asked.kind in _ASKED and asked.state == GroupState.EMPTY.value
        is_empty = self._standing.state == GroupState.EMPTY.value and self._written.generation_id == number
        one.began_empty = is_empty or was_found_empty
        one.follows_known = number is not None and number == self._shown
        one.others = tuple(member_id for member_id in self._members.current if member_id != one.cause.member_id)

    def _of_generation(self, line: LoggedFact) -> LoggedRebalance:
        """The rebalance that led to the line's generation: the running one, or one whose beginning is missing."""
        one = self._classic
        if one is not None and one.generation_id is None:
            one.generation_id = line.generation_id
        if one is None or line.generation_id not in (None, one.generation_id):
            self._end(UNKNOWN_END)
            one, self._gone = rebalance_of(line), []
            one.generation_id = line.generation_id
            self.rebalances.append(one)
            self._run(one, is_beginning=False)
        if one.generation_id is not None:
            self._written.generation_id = self._shown = one.generation_id
        one.facts.append(line)
        return one

    def _end_join_phase(self, line: LoggedFact) -> None:
        one, standing = self._of_generation(line), self._standing
        self._owners.form(standing.generation_id)
        known = [*self._members.current]
        standing.is_whole = standing.is_whole if line.members is None else len(known) == line.members
        one.joined_at_ms = line.at_ms
        one.members = one.members_after = len(known) if standing.is_whole else line.members
        self._changes = self._members.form()
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
        self._end("completed")

    def _empty(self, line: LoggedFact) -> None:
        one = self._of_generation(line)
        one.ended_at_ms = line.at_ms
        one.members = one.members_after = 0
        self._count_before(one)
        self._members.remove_all()
        self._standing.is_whole, self._changes = True, self._members.form()
        self._standing.move(GroupState.EMPTY.value)
        self._end("empty")
        self._blame_for_emptying()

    def _die(self, line: LoggedFact) -> None:
        """Kafka 0.9 removes a group as its last member goes: then the running rebalance has no end of its own."""
        one = self._classic if line.kind is FactKind.GROUP_DIED and line.generation_id is not None else None
        if one is not None and one.joined_at_ms is None and one.from_generation_id == line.generation_id:
            one.generation_id, one.ended_at_ms = None, line.at_ms  # None was formed.
            one.members = one.members_after = 0
            one.facts.append(line)
            self._end("empty")
        self._end(UNKNOWN_END)
        self._standing.forget("deleted" if line.kind is FactKind.GROUPS_DELETED else "unknown")
        self._reached = {}

    def _count_before(self, emptied: LoggedRebalance) -> None:
        """Where one member's end emptied a group at once, it had been alone in the generation before."""
        before = self.rebalances[-2] if len(self.rebalances) > 1 else None
        gone = {each.member_id for each in (*emptied.facts, *self._gone) if each.kind in _GOES}
        is_at_once = emptied.began_at_ms is not None and (emptied.ended_at_ms or 0) - emptied.began_at_ms <= TOGETHER_MS
        if before is None or before.members is not None or len(gone) != 1 or not is_at_once:
            return
        if before.joined_at_ms is not None and before.generation_id == emptied.from_generation_id:
            before.members = before.members_after = emptied.members_before = 1
            before.held_by = holder_of(before)

    def _blame_for_emptying(self) -> None:
        """Who emptied a group whose rebalance has no line of its beginning: who went at that moment."""
        last = self.rebalances[-1] if self.rebalances and self._classic is None else None
        if last is None or last.outcome != "empty" or last.began_at_ms is not None or last.cause.member_id:
            return
        for line in self._gone:
            if line.at_ms is None or last.ended_at_ms is None or abs(line.at_ms - last.ended_at_ms) > TOGETHER_MS:
                continue
            last.facts.append(line)
            last.cause = cause_of_going(line)

    # ------------------------------------------------------------ what runs

    def _run(self, one: LoggedRebalance, *, is_beginning: bool) -> None:
        """It runs from now on. is_beginning: it begins now; else its beginning is not in the lines."""
        self._running, self._changes = one, Changes()
        one.known_from_ms, one.is_begun = self._written.at_ms, is_beginning
        follows = one.to_generation_id is not None and self._written.generation_id == one.to_generation_id - 1
        one.members_before = self._standing.count if follows else None
        if is_beginning:
            state, culprit = self._standing.state or UNKNOWN_STATE, self._members.named(one.cause.member_id)
            self._written.emit_later(one.known_from_ms, partial(started, one, state, culprit), one)

    def _end(self, outcome: str) -> None:
        """The running rebalance is over, or the lines have no more of it."""
        one = self._running
        if one is None:
            return
        if one is self._classic:
            one.outcome = "" if outcome == UNKNOWN_END else outcome
            one.held_by = one.held_by or holder_of(one)  # Clients and doubts may have changed it since the walk.
        self._running = None
        at_ms = one.known_from_ms if outcome == UNKNOWN_END else self._written.at_ms
        held, named = one.held_by, self._members.named
        culprit, holder = named(one.cause.member_id), named("" if held is None else held.member_id)
        self._written.emit_later(at_ms, partial(ended, one, at_ms, outcome, culprit, holder, self._changes), one)
        self._standing.count = one.members_after
        if outcome in ("completed", "empty"):
            self._members.store(one.members_after)

    # ------------------------------------------------------------ epochs

    def _bump(self, line: LoggedFact) -> None:
        one, standing = self._epochs.get(id(line)), self._standing
        if one is None or one.generation_id is None:
            return
        self._end(UNKNOWN_END)
        if one.cause.kind is CauseKind.MEMBER_JOINED and not any(each.may_be_forged for each in one.facts):
            self._members.add_culprit(one.cause)
        self._run(one, is_beginning=True)
        self._written.generation_id = one.generation_id
        self._owners.begin_epoch()
        self._changes = self._members.form()
        one.members_after = len(self._members.current) if standing.is_whole else None
        self._members.store(one.members_after)
        standing.move(GroupState.EMPTY.value if one.members_after == 0 else UNKNOWN_STATE)
        if one.members_after == 0:
            self._end("empty")

    def _is_in_epoch(self, line: LoggedFact) -> bool:
        """Whether a line is of an epoch with a number; one whose beginning is missing is known from now."""
        one = self._epochs.get(id(line))
        if one is None or one.generation_id is None:
            return False
        if self._running is not one:
            self._end(UNKNOWN_END)
            self._run(one, is_beginning=False)
        self._written.generation_id = one.generation_id
        return True

    def _progress(self, line: LoggedFact) -> None:
        """At DEBUG a broker prints what state each member is in: so it shows when all have reached the epoch."""
        one = self._epochs.get(id(line))
        if one is not None and one.facts[0] is line and not self._is_in_epoch(line):
            return
        if line.state.upper() == "STABLE" and line.generation_id is not None:
            self._reached[line.member_id] = line.generation_id
        elif line.member_id:
            self._reached.pop(line.member_id, None)
        members, epoch = self._members.current, self._standing.generation_id
        have_all = all(self._reached.get(member_id) == epoch for member_id in members)
        if self._running is not None and self._standing.is_whole and members and have_all:
            self._standing.move(GroupState.STABLE.value)
            self._end("completed")
