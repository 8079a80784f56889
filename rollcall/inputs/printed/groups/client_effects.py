"""A group's clients' lines as effects, where none of its coordinator's is there: what they prove.

Members are those that print lines: of others it is not known when they came. A member whose lines just end stays one,
unless a leader's assignment is without it. Clocks of clients differ: what begins earlier ends where the next begins.
Knows one group's lines and rebalances. Must not know how lines are worded, nor a table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from rollcall.coordinator_udfs.protocol.consumer.states import GroupType
from rollcall.inputs.printed.groups.client_history import knew_that_it_was_out
from rollcall.inputs.printed.groups.logged_effects import Written, made
from rollcall.inputs.printed.groups.logged_holdings import JOINS, given_by_leaders
from rollcall.inputs.printed.groups.logged_members import Members
from rollcall.inputs.printed.groups.members_apart import by_client
from rollcall.inputs.printed.groups.owners import Owners
from rollcall.inputs.printed.groups.reasons import cause_in_words
from rollcall.inputs.printed.groups.rebalance_effects import ended
from rollcall.inputs.printed.groups.standing import SILENT_BUMPS, UNKNOWN_STATE, Standing
from rollcall.inputs.printed.lines.entries import DATED
from rollcall.inputs.printed.logged_facts import (
    LEAVE_REFUSED,
    OWN_ENDS,
    FactKind,
    LoggedFact,
    is_unknown_member,
    says_that_it_is_no_member,
)
from rollcall.inputs.printed.logged_rebalances import GROUP_NOT_NAMED, LoggedGroup, LoggedRebalance
from rollcall.schemas.causes import CauseKind, EndCause
from rollcall.schemas.effects import UNKNOWN_END, Effect, GroupFound, GroupNotCovered

EITHER = (EndCause.MEMBER_LEFT, EndCause.POLL_TIMEOUT)
"""How a member may have ended that leaves without a word."""
_OUT = ("STALE", "UNSUBSCRIBED", "FENCED", "FATAL")
"""States of a client of the newer protocol that is not a member."""
_FITS = {
    FactKind.POLL_TIMEOUT: (EndCause.POLL_TIMEOUT,),
    FactKind.LEAVE_SENT: EITHER,
    FactKind.CLOSED: (EndCause.MEMBER_LEFT,),
}
"""How a member may have ended, where the line of its end says more than that."""
_OF_WORDS = {CauseKind.MEMBER_LEFT: EndCause.MEMBER_LEFT, CauseKind.POLL_TIMEOUT: EndCause.POLL_TIMEOUT}


class _Came(NamedTuple):
    """A client is a member by now."""

    line: LoggedFact
    is_inferred: bool


class _Went(NamedTuple):
    """A member is none by now."""

    member_id: str
    ends: tuple[EndCause, ...]
    """Those that fit."""
    words: str = ""


_Event = _Came | _Went | LoggedRebalance | tuple[str, ...]
"""Of a rebalance: it is over, or its last line is here. Of a tuple: all members that a leader has."""


def client_effects_of(group: LoggedGroup) -> list[Effect]:
    """The group's effects by its clients' lines, in order of time; none if these have no dates or name no group."""
    if group.group_id.startswith(GROUP_NOT_NAMED[:-1]):
        return []
    clients = by_client(group.facts)
    timed = [(at_ms, event) for facts in clients for at_ms, event in _of_client(facts)]
    timed += _endings(group.rebalances)
    if not timed:
        return []
    timed.sort(key=lambda one: one[0])
    if group.group_type in SILENT_BUMPS:
        return [GroupNotCovered(at_ms=timed[0][0], why=group.group_type)]
    return _History(group, clients, timed[0][0]).through(timed)


def _of_client(facts: Sequence[LoggedFact]) -> list[tuple[int, _Event]]:
    """What one client's dated lines say of its membership."""
    client = _Client()
    for fact in facts:
        if fact.at_ms is not None and fact.clock in DATED:
            client.take(fact, fact.at_ms)
    return client.found


class _Client:
    """One client, of which lines are taken in their order."""

    def __init__(self) -> None:
        self.found: list[tuple[int, _Event]] = []
        self._at_ms = 0
        """The latest time so far: a line that has an earlier one stands at this."""
        self._member_id = ""
        """Of the member that it is."""
        self._gone_id = ""
        """Of the one that it was."""
        self._has_asked = False
        self._reason = ""
        """Why its application wants it to leave."""
        self._lost: LoggedFact | None = None

    def take(self, fact: LoggedFact, at_ms: int) -> None:
        """One line."""
        self._at_ms = max(self._at_ms, at_ms)
        self._has_asked = self._has_asked or fact.kind in (FactKind.CLIENT_STARTED, FactKind.JOIN_SENT)
        self._reason = fact.reason if fact.kind is FactKind.LEAVE_WANTED else self._reason
        is_out = fact.to_state in _OUT
        is_in = fact.kind in JOINS and fact.member_id and (fact.generation_id or 0) > 0 and not is_out
        if is_in and (self._has_asked or fact.member_id != self._gone_id):
            self._come(fact)
        elif fact.state == LEAVE_REFUSED:
            self._refuse_leave(fact)
        elif self._member_id and (is_out or _ends(fact)):
            self._go(fact)
        elif fact.kind is FactKind.ASSIGNED_ALL and fact.partitions.endswith("}"):
            assigned = tuple(one for _, one in given_by_leaders([fact]))
            if assigned:
                self.found.append((self._at_ms, assigned))
        if says_that_it_is_no_member(fact):
            self._lost = fact

    def _come(self, fact: LoggedFact) -> None:
        if self._member_id not in ("", fact.member_id):
            self.found.append((self._at_ms, _Went(self._member_id, (EndCause.UNKNOWN,))))
        is_inferred = not self._has_asked or fact.member_id == self._member_id
        self.found.append((self._at_ms, _Came(fact, is_inferred=is_inferred)))
        self._member_id, self._has_asked, self._reason, self._lost = fact.member_id, False, "", None

    def _go(self, fact: LoggedFact) -> None:
        words = fact.reason or self._reason
        said = _OF_WORDS.get(cause_in_words(words) or CauseKind.UNKNOWN)
        fits = _FITS.get(fact.kind, (EndCause.UNKNOWN,))
        if fact.kind is FactKind.LEAVE_SENT and knew_that_it_was_out(self._lost, fact):
            fits, words = (EndCause.UNKNOWN,), ""
        elif fact.kind is FactKind.LEAVE_SENT and said is not None:
            fits = (said,)
        elif fact.to_state == "STALE":
            fits = (EndCause.POLL_TIMEOUT,)
        self.found.append((self._at_ms, _Went(self._member_id, fits, words)))
        self._member_id, self._gone_id, self._has_asked = "", self._member_id, False

    def _refuse_leave(self, fact: LoggedFact) -> None:
        """Its leave did not end the member: that had ended before, or it is one still."""
        latest = self.found[-1][1] if self.found else None
        if not self._member_id and isinstance(latest, _Went):
            self.found.pop()
            self._member_id, self._gone_id = latest.member_id, ""
        if self._member_id and _ends(fact):
            self._go(fact)


def _ends(fact: LoggedFact) -> bool:
    """Whether a client that prints this line is not a member. One that missed a generation is one."""
    if fact.kind is FactKind.MEMBERSHIP_LOST:
        return is_unknown_member(fact)
    return fact.kind in OWN_ENDS


def _endings(rebalances: Sequence[LoggedRebalance]) -> list[tuple[int, _Event]]:
    """When each rebalance with a generation and dates was over; the one before is over where it begins."""
    found: list[tuple[int, LoggedRebalance]] = []
    first_before_ms = 0
    numbered = {one.generation_id: one for one in rebalances if one.generation_id is not None and one.clock in DATED}
    for _, one in sorted(numbered.items()):
        times = [ms for ms in (one.began_at_ms, one.joined_at_ms, one.ended_at_ms) if ms is not None]
        if not times:
            continue
        began_ms = one.began_at_ms
        first_ms, last_ms = min(times), max(times)
        if found:
            before_ms, before = found[-1]
            if first_ms < first_before_ms:
                began_ms, first_ms = None, before_ms
                last_ms = max(last_ms, first_ms)
            elif first_ms < before_ms:
                found[-1] = first_ms, before
        one.known_from_ms, one.is_begun = first_ms if began_ms is None else began_ms, began_ms is not None
        found.append((last_ms, one))
        first_before_ms = first_ms
    return [*found]


class _History:
    """One group, of which what its clients show is taken in order of time."""

    def __init__(self, group: LoggedGroup, clients: Sequence[Sequence[LoggedFact]], at_ms: int) -> None:
        self._group_type = GroupType.CONSUMER if group.group_type == "consumer" else GroupType.CLASSIC
        self._written = Written(at_ms=at_ms)
        self._members = Members.of_clients(self._written, group.facts)
        self._owners = Owners(self._written, self._members, clients)
        if self._group_type is GroupType.CLASSIC:
            self._owners.end_with_lines()

    def through(self, timed: Sequence[tuple[int, _Event]]) -> list[Effect]:
        """All effects."""
        generations = [one.line.generation_id for _, one in timed if isinstance(one, _Came)]
        first = min((one for one in generations if one is not None), default=1) - 1
        self._written.emit(GroupFound(at_ms=self._written.at_ms, group_type=self._group_type, generation_id=first))
        self._members.form()
        for at_ms, event in timed:
            self._owners.until(at_ms - 1, is_of_epochs=True)
            self._written.at_ms = max(self._written.at_ms, at_ms)
            self._take(event)
        self._owners.until(math.inf, is_of_epochs=True)
        if self._members.current:
            Standing(self._written, self._members).move(UNKNOWN_STATE)
        return made(self._written.effects)

    def _take(self, event: _Event) -> None:
        match event:
            case _Came(line, is_inferred):
                self._reach(line.generation_id or 0)
                self._members.join(line._replace(other_member_id="", length_ms=None), is_inferred=is_inferred)
            case _Went(member_id, ends, words) if member_id in self._members.current:
                self._members.remove(
                    member_id,
                    ends[0] if len(ends) == 1 else EndCause.UNKNOWN,
                    candidates=ends if len(ends) > 1 else (),
                    client_reason=words,
                )
            case LoggedRebalance():
                self._end(event)
            case tuple() if not isinstance(event, _Went):
                for member_id in [one for one in self._members.current if one not in event]:
                    self._members.remove(member_id, EndCause.UNKNOWN)

    def _reach(self, generation_id: int) -> None:
        """A member shows a later generation than all before it."""
        if generation_id <= (self._written.generation_id or 0):
            return
        self._written.generation_id = generation_id
        if self._group_type is GroupType.CONSUMER:
            self._owners.begin_epoch()
        else:
            self._owners.begin(generation_id)

    def _end(self, one: LoggedRebalance) -> None:
        at_ms, changes = self._written.at_ms, self._members.form()
        outcome = "completed" if one.outcome == "completed" else UNKNOWN_END
        held, named = one.held_by, self._members.named
        culprit, holder = named(one.cause.member_id), named("" if held is None else held.member_id)
        self._written.emit_later(at_ms, partial(ended, one, at_ms, outcome, culprit, holder, changes), one)
