"""A group's lines as the effects of its coordinator, as far as the lines prove them: the facts of a home.

A fact stands at the time of its line. What no line has is None, empty or -1, as the effects declare it. Of whom no line
says when it joined, it is inferred: by the latest generation before its first line at the latest. Knows one group's
lines and rebalances. Must not know how lines are worded, nor a table.
"""

from __future__ import annotations

import logging
import math

from rollcall.coordinator_udfs.protocol.consumer.states import GroupType
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.inputs.printed.groups.client_effects import client_effects_of
from rollcall.inputs.printed.groups.consumer_history import SILENT_BUMPS
from rollcall.inputs.printed.groups.logged_effects import Written, made
from rollcall.inputs.printed.groups.logged_members import ENDS, Changes, Members, explain_departure
from rollcall.inputs.printed.groups.members_apart import by_client
from rollcall.inputs.printed.groups.owners import Owners
from rollcall.inputs.printed.groups.reasons import read_reason
from rollcall.inputs.printed.groups.rebalance_effects import ended, started
from rollcall.inputs.printed.groups.standing import UNKNOWN_STATE, Standing
from rollcall.inputs.printed.lines.entries import DATED, reason_of
from rollcall.inputs.printed.logged_facts import BROKER, FactKind, LoggedFact
from rollcall.inputs.printed.logged_rebalances import LoggedGroup, LoggedRebalance
from rollcall.schemas.causes import CauseKind, EndCause
from rollcall.schemas.effects import (
    UNKNOWN_END,
    Effect,
    GroupNotCovered,
    JoinPhaseEnded,
    MemberRemoved,
)

log = logging.getLogger("rollcall.lines")


def effects_of(group: LoggedGroup, *, goes_on: bool = False) -> list[Effect]:
    """The group's effects, in order of time; none if its lines have no dates, or do not name it.

    goes_on: of a broker's log that grows, whose next line may be about what runs after the last one.
    """
    lines = [fact for fact in group.facts if fact.dialect == BROKER and fact.at_ms is not None and fact.clock in DATED]
    try:
        if not lines:
            return [] if goes_on else client_effects_of(group)
        if group.group_type in SILENT_BUMPS:
            return [GroupNotCovered(at_ms=lines[0].at_ms or 0, why=group.group_type)]
        history = _History(group, lines)
        for place, line in enumerate(lines):
            history.take(place, line)
        return history.so_far() if goes_on else history.ended()
    except Exception as error:
        # Lines are input: whatever one group's make a rule raise, the others have their effects.
        log.error("group %a: its lines could not be followed: %s", group.group_id, reason_of(error))
        return []


class _History:
    """One group, of which lines are taken in their order."""

    def __init__(self, group: LoggedGroup, lines: list[LoggedFact]) -> None:
        self._lines = lines
        self._rebalances = {id(line): one for one in group.rebalances for line in one.facts}
        self._written = Written()
        self._members = Members.of_clients(self._written, group.facts)
        self._standing = Standing(self._written, self._members)
        self._owners = Owners(
            self._written,
            self._members,
            by_client(group.facts),
            [one.generation_id or 0 for one in lines if one.kind is FactKind.ASSIGNMENT_RECEIVED],
        )
        self._running: LoggedRebalance | None = None
        self._changes = Changes()
        """Who came and went until its generation was formed."""
        self._departures: list[tuple[MemberRemoved, LoggedRebalance]] = []
        """Who left, and the rebalance that this may have set off."""
        self._reached: dict[str, int] = {}
        """By member, the epoch in which it has all that it is to have."""

    def take(self, place: int, line: LoggedFact) -> None:
        """One line. A time earlier than that of the line before is that one's: partitions' lines interleave."""
        at_ms = max(self._written.at_ms, line.at_ms or 0)
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
        match line.kind:
            case FactKind.REBALANCE_BEGAN | FactKind.EPOCH_BUMPED:
                self._start(line)
            case FactKind.JOIN_PHASE_ENDED:
                self._end_join_phase(line)
            case FactKind.ASSIGNMENT_RECEIVED:
                self._complete(line)
            case FactKind.GROUP_EMPTIED:
                self._empty(line)
            case FactKind.MEMBER_PROGRESSED:
                self._progress(line)
            case FactKind.TARGET_COMPUTED:
                self._is_running(line)
            case FactKind.GROUP_UNLOADED | FactKind.GROUP_TAKEN_OVER:
                self._end(UNKNOWN_END)
                self._standing.observe(line)
            case FactKind.GROUP_DIED | FactKind.GROUPS_DELETED:
                self._end(UNKNOWN_END)
                self._reached = {}
                self._standing.forget("deleted" if line.kind is FactKind.GROUPS_DELETED else "unknown")
            case _:
                self._take_member(line)

    def _follow_owners(self, until_ms: float) -> None:
        self._owners.until(until_ms, is_of_epochs=self._standing.type is GroupType.CONSUMER)

    def _take_member(self, line: LoggedFact) -> None:
        """A line about a member."""
        members = self._members
        match line.kind:
            case FactKind.MEMBER_ADDED | FactKind.MEMBER_JOINED_EPOCH | FactKind.MEMBER_LOADED:
                members.join(line, is_inferred=line.kind is FactKind.MEMBER_LOADED)
                self._reached.pop(line.member_id, None)
            case FactKind.STATIC_MEMBER_REPLACED if line.other_member_id:
                members.replace(line.member_id, line.other_member_id, line.instance_id)
                if self._standing.state == GroupState.STABLE.value:
                    members.store(self._standing.count)
            case FactKind.MEMBER_LEFT | FactKind.MEMBER_LEFT_EPOCH:
                removed, rebalance = members.leave(line), self._rebalances.get(id(line))
                if removed is not None and rebalance is not None:
                    self._departures.append((removed, rebalance))
            case FactKind.MEMBERS_NOT_BACK:
                for member_id in line.member_ids:
                    members.remove(member_id, EndCause.REBALANCE_TIMEOUT)
            case kind if kind in ENDS:
                members.remove(line.member_id, ENDS[line.kind], line)
            case _:
                pass

    def so_far(self) -> list[Effect]:
        """All effects, of a group whose lines go on."""
        for removed, rebalance in self._departures:
            explain_departure(removed, rebalance.cause)
        return made(self._written.effects)

    def ended(self) -> list[Effect]:
        """All effects. What a classic group does at the end still runs; when an epoch was reached, no line says."""
        self._follow_owners(math.inf)
        if self._standing.type is GroupType.CONSUMER:
            self._end(UNKNOWN_END)
        if self._members.current and self._standing.state in ("", GroupState.EMPTY.value):
            self._standing.move(UNKNOWN_STATE)
        return self.so_far()

    # ------------------------------------------------------------ rebalances

    def _start(self, line: LoggedFact) -> None:
        rebalance = self._rebalances.get(id(line))
        number = None if rebalance is None else rebalance.to_generation_id
        if rebalance is None or number is None:
            return
        is_superseded = self._running is not None and self._running.outcome == "superseded"
        self._end("superseded" if is_superseded else UNKNOWN_END)
        cause = rebalance.cause
        if cause.kind is CauseKind.MEMBER_JOINED and cause.member_id:
            self._members.add(self._members.named(cause.member_id, instance_id=cause.group_instance_id or ""))
        reason = read_reason(line.reason) if cause.kind is CauseKind.SYNC_TIMEOUT else None
        for member_id in () if reason is None else reason.member_ids:
            self._members.remove(member_id, EndCause.SYNC_TIMEOUT)
        self._run(rebalance, number, is_beginning=True)
        began = started(rebalance, self._standing.state or UNKNOWN_STATE, self._members)
        self._written.emit_later(self._written.at_ms, began, rebalance)
        if self._standing.type is GroupType.CLASSIC:
            self._written.generation_id = number - 1
            self._owners.begin(number)
            if self._standing.state != GroupState.PREPARING_REBALANCE.value:
                self._standing.move(GroupState.PREPARING_REBALANCE.value)
            return
        self._written.generation_id = number
        self._owners.begin_epoch()
        self._form(len(self._members.current) if self._standing.is_whole else None)
        self._members.store(rebalance.members_after)
        if rebalance.members_after == 0:
            self._standing.move(GroupState.EMPTY.value)
            self._end("empty")
        else:
            self._standing.move(UNKNOWN_STATE)

    def _run(self, rebalance: LoggedRebalance, number: int, *, is_beginning: bool) -> None:
        """It runs from now on. is_beginning: it begins now; else its beginning is not in the lines."""
        self._running, self._changes = rebalance, Changes()
        rebalance.known_from_ms, rebalance.is_begun = self._written.at_ms, is_beginning
        rebalance.members_before = self._standing.count if self._written.generation_id == number - 1 else None
        rebalance.members_after = None

    def _is_running(self, line: LoggedFact) -> bool:
        """Whether a rebalance runs that the line is of; one whose beginning is missing is known from now."""
        rebalance = self._rebalances.get(id(line))
        if rebalance is None or rebalance.generation_id is None:
            return False
        if self._running is not rebalance:
            self._end(UNKNOWN_END)
            self._run(rebalance, rebalance.generation_id, is_beginning=False)
        self._written.generation_id = rebalance.generation_id
        return True

    def _form(self, members: int | None) -> None:
        """All that will be in the generation are known: who comes or goes from now on belongs to a later one."""
        self._changes = self._members.form()
        if self._running is not None:
            self._running.members_after = members

    def _end_join_phase(self, line: LoggedFact) -> None:
        if not self._is_running(line):
            return
        self._owners.form(self._standing.generation_id)
        known = [*self._members.current]
        self._standing.is_whole = self._standing.is_whole if line.members is None else len(known) == line.members
        self._form(len(known) if line.members is None and self._standing.is_whole else line.members)
        if self._standing.is_whole and known:
            self._written.emit(
                JoinPhaseEnded(
                    at_ms=self._written.at_ms,
                    generation_id=self._standing.generation_id,
                    protocol_name=None,
                    leader_id=None,
                    member_ids=known,
                )
            )
        self._standing.move(GroupState.COMPLETING_REBALANCE.value)

    def _complete(self, line: LoggedFact) -> None:
        if not self._is_running(line):
            return
        if line.member_id:
            self._members.known(line.member_id)
        self._owners.give(self._standing.generation_id)
        self._standing.move(GroupState.STABLE.value, line.member_id or None)
        self._end("completed")

    def _empty(self, line: LoggedFact) -> None:
        if not self._is_running(line):
            return
        self._members.remove_all()
        self._standing.is_whole = True
        self._form(0)
        self._standing.move(GroupState.EMPTY.value)
        self._end("empty")

    def _progress(self, line: LoggedFact) -> None:
        """At DEBUG a broker prints what state each member is in: so it shows when all have reached the epoch."""
        rebalance = self._rebalances.get(id(line))
        if rebalance is not None and rebalance.facts[0] is line and not self._is_running(line):
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

    def _end(self, outcome: str) -> None:
        """The running rebalance is over, or the lines have no more of it."""
        running, self._running = self._running, None
        if running is None:
            return
        at_ms = running.known_from_ms if outcome == UNKNOWN_END else self._written.at_ms
        self._written.emit_later(at_ms, ended(running, at_ms, outcome, self._members, self._changes), running)
        self._standing.count = running.members_after
        if outcome in ("completed", "empty"):
            self._members.store(self._standing.count)
