"""The epochs of a group of the newer protocols (KIP-848) that its members' own lines show.

A member prints its epoch when its state changes. That the group had that epoch is certain, and that it had it by then;
when the coordinator began it, and who else was there, is not in the line. A member that leaves brings a new epoch, and
learns no number of it. Knows facts of one group's clients in order. Must not know how lines are worded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from rollcall.inputs.printed.groups.own_generations import OwnGenerations
from rollcall.inputs.printed.groups.own_membership import (
    REMOVED,
    STALE,
    UNSUBSCRIBED,
    Event,
    OwnMembership,
)
from rollcall.inputs.printed.groups.own_part import LEFT
from rollcall.inputs.printed.groups.reasons import Reason
from rollcall.inputs.printed.logged_facts import FactKind, LoggedFact, is_unknown_member
from rollcall.inputs.printed.logged_rebalances import (
    LoggedRebalance,
    client_id_of,
    concluded,
    configured_id,
    is_open,
    rebalance_of,
)
from rollcall.schemas.causes import Cause, CauseKind

_CHANGES = (FactKind.MEMBER_PROGRESSED, FactKind.JOIN_SENT, FactKind.LEAVE_SENT)
_CLASSIC = (FactKind.JOIN_SENT, FactKind.JOINED, FactKind.SYNCED, FactKind.GROUP_IS_REBALANCING)
_LEFT = (UNSUBSCRIBED, STALE)
"""States of a member that has left, so that its next join is new to its coordinator."""
_ENDED = (CauseKind.SESSION_EXPIRED, CauseKind.REBALANCE_TIMEOUT)
"""Why a coordinator may have removed a member that was not told of it."""
_AHEAD_MS = 5_000
"""How far apart two members' clocks may be."""


class OwnHistory(NamedTuple):
    """What one client's lines say of it."""

    rebalances: list[LoggedRebalance]
    """Those that it went through, by either protocol."""
    events: list[tuple[int, Event]]
    """When it came and went."""


def own_history(facts: Sequence[LoggedFact]) -> OwnHistory:
    """Return what one client's lines say, each taken once."""
    own, found = OwnMembership(), list[LoggedRebalance]()
    shown = [fact for fact in facts if fact.kind is not FactKind.TOPIC_SEEN]
    is_newer = any(map(_is_newer, shown))
    marked = [(is_newer := _is_newer(fact) or (is_newer and fact.kind not in _CLASSIC), fact) for fact in shown]
    for newer, lines in groupby(marked, key=lambda one: one[0]):
        history = _OwnEpochs(own) if newer else OwnGenerations(own)
        for _, fact in lines:
            own.take(fact)
            history.take(fact)
        found += history.rebalances()
    return OwnHistory(found, own.events)


def _is_newer(fact: LoggedFact) -> bool:
    return fact.kind in _CHANGES and bool(fact.to_state)


class _OwnEpochs:
    """One member, of which lines are taken in their order. own: its membership, which has each line already."""

    def __init__(self, own: OwnMembership) -> None:
        self._own = own
        self._found: list[LoggedRebalance] = []
        self.epoch: int | None = None
        """0 or less: it is not a member; None: that is not known yet."""
        self.asked: LoggedFact | None = None
        self.leave: LoggedRebalance | None = None
        """The one that it sets off by going, until it asks to join again."""
        self.reason = own.reason
        """Why it goes, by the first line that says so."""
        self.removed: LoggedFact | None = None
        """Its coordinator's answer that it has no such member, until it asks to join again."""

    def rebalances(self) -> list[LoggedRebalance]:
        """Return them, in order."""
        return self._found

    def take(self, fact: LoggedFact) -> None:
        """Take a line."""
        if fact.kind is FactKind.POLL_TIMEOUT:
            self._go(fact)
        elif is_unknown_member(fact):
            self._be_removed(fact)
        elif _is_newer(fact):
            self._change(fact)
            self.epoch = 0 if fact.to_state in REMOVED else fact.generation_id

    def _change(self, fact: LoggedFact) -> None:
        epoch = fact.generation_id or 0
        if fact.kind is FactKind.LEAVE_SENT:
            self._go(fact)
        elif fact.kind is FactKind.JOIN_SENT:
            is_new = fact.state in _LEFT or self.removed is not None
            self.asked, self.leave, self.removed = fact if is_new else None, None, None
        elif self.removed is not None and fact.to_state in REMOVED:
            self._found[-1].facts.append(fact)
        elif epoch > 0 and epoch != self.epoch:
            self._reach(fact)
        elif fact.to_state == STALE or (self.leave is not None and fact.to_state in _LEFT):
            self._go(fact)

    def _reach(self, fact: LoggedFact) -> None:
        one = replace(rebalance_of(fact), generation_id=fact.generation_id, joined_at_ms=fact.at_ms, facts=[fact])
        one.from_generation_id = (fact.generation_id or 0) - 1
        if self.asked is not None and not fact.instance_id:  # A static member may come back without a new epoch.
            one.cause = concluded(CauseKind.MEMBER_JOINED, fact.member_id, fact.client_id)
            one.came, one.facts = [(self.asked, fact)], [self.asked, fact]
        if self.leave is not None:
            self.leave.from_generation_id = fact.generation_id
        self.asked = None
        self._found.append(one)

    def _go(self, fact: LoggedFact) -> None:
        """It polled too late, sends that it leaves, or has left. A static member leaves without a new epoch."""
        if self.leave is None:
            if self._own.stays or (self.epoch is not None and self.epoch <= 0):
                return
            self.reason = self._own.reason
            self.leave = replace(rebalance_of(fact), from_generation_id=self.epoch, outcome=LEFT)
            self.leave.began_at_ms = fact.at_ms if fact.length_ms is None else None  # Else it left before.
            self._found.append(self.leave)
        self.leave.facts.append(fact)
        if self.reason.kind is CauseKind.UNKNOWN:
            self.reason = self._own.reason
        self.leave.cause = self._own.cause(self.reason)

    def _be_removed(self, fact: LoggedFact) -> None:
        """When it was, no line says; a static member may have been replaced."""
        if fact.instance_id or self.removed is not None or self.leave is not None or (self.epoch or 0) <= 0:
            return
        one = replace(rebalance_of(fact), from_generation_id=self.epoch, outcome=LEFT, facts=[fact])
        one.cause = self._own.cause(Reason(CauseKind.UNKNOWN, candidates=_ENDED))
        self.removed = fact
        self._found.append(one)


def laid_together(rebalances: Sequence[LoggedRebalance]) -> list[LoggedRebalance]:
    """The epochs that members reached, each once, with the leaves that fit as the cause of the next epoch.

    That the number and the leave belong together is concluded: the member may have been behind its group.
    """
    by_epoch = {one.generation_id: one for one in rebalances if one.generation_id is not None}
    for one in by_epoch.values():
        if _was_there_before(one):
            one.cause, one.came = Cause(kind=CauseKind.UNKNOWN), []
    found = []
    for one in rebalances:
        after = None if one.from_generation_id is None else by_epoch.get(one.from_generation_id + 1)
        if not _is_a_leave(one):
            found.append(one)
        elif after is not None and is_open(after.cause) and _may_be_before(one.began_at_ms, after.joined_at_ms):
            after.cause = one.cause
            after.cause.is_inferred = True
            after.facts = [*after.facts, *one.facts]
        else:
            if after is None and _joins_two_later(one, by_epoch):
                one.generation_id = (one.from_generation_id or 0) + 1
                one.cause.is_inferred = True
                by_epoch[one.generation_id] = one
            found.append(one)
    return found


def _is_a_leave(one: LoggedRebalance) -> bool:
    return one.generation_id is None and one.outcome == LEFT and any(map(_is_newer, one.facts))


def _was_there_before(one: LoggedRebalance) -> bool:
    """Whether a member had the epoch before the one that is said to have brought it asked to join."""
    asked_ms = [asked.at_ms for asked, _ in one.came if asked.at_ms is not None and _is_newer(asked)]
    return bool(asked_ms) and not _may_be_before(min(asked_ms), one.joined_at_ms)


def _may_be_before(first_ms: int | None, then_ms: int | None) -> bool:
    return first_ms is None or then_ms is None or first_ms <= then_ms + _AHEAD_MS


def _joins_two_later(leave: LoggedRebalance, by_epoch: Mapping[int, LoggedRebalance]) -> bool:
    """Whether its own next join brought the epoch after the next: that leaves one epoch for the leave."""
    if leave.from_generation_id is None:
        return False
    joined = by_epoch.get(leave.from_generation_id + 2)
    return (
        joined is not None
        and joined.cause.kind is CauseKind.MEMBER_JOINED
        and joined.cause.member_id == leave.cause.member_id
    )


def name_clients(rebalances: Iterable[LoggedRebalance], by_client: Iterable[Sequence[LoggedFact]]) -> None:
    """A broker's lines have ids of the newer protocol alone: the client that prints such an id as its own has it."""
    names: dict[str, set[str]] = {}
    for facts in by_client:
        for fact in filter(_is_newer, facts):
            if fact.client_id and not client_id_of(fact.member_id):
                names.setdefault(fact.member_id, set()).add(configured_id(fact.client_id))
    for one in rebalances:
        named = names.get(one.cause.member_id, set())
        if len(named) == 1 and not one.cause.client_id:
            one.cause.client_id = min(named)
