"""The epochs of a group of the newer protocols (KIP-848) that its members' own lines show.

A member prints its epoch when its state changes. That the group had that epoch is certain, and that it had it by then;
when the coordinator began it, and who else was there, is not in the line. A member that leaves brings a new epoch, and
learns no number of it. Knows facts of one group's clients in order. Must not know how lines are worded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from rollcall.inputs.printed.groups.own_generations import OwnGenerations
from rollcall.inputs.printed.groups.own_membership import REMOVED, STALE, UNSUBSCRIBED, Event, OwnMembership
from rollcall.inputs.printed.groups.own_part import LEFT
from rollcall.inputs.printed.groups.reasons import Reason
from rollcall.inputs.printed.logged_facts import FactKind, LoggedFact, is_unknown_member
from rollcall.inputs.printed.logged_rebalances import LoggedRebalance, inferred, rebalance_of
from rollcall.schemas.causes import REMOVED_FROM_AN_EPOCH, CauseKind

_CHANGES = (FactKind.MEMBER_PROGRESSED, FactKind.JOIN_SENT, FactKind.LEAVE_SENT)
_CLASSIC = (FactKind.JOIN_SENT, FactKind.JOINED, FactKind.SYNCED, FactKind.GROUP_IS_REBALANCING)
_LEFT = (UNSUBSCRIBED, STALE)
"""States of a member that has left, so that its next join is new to its coordinator."""


class OwnHistory(NamedTuple):
    """What one client's lines say of it."""

    facts: Sequence[LoggedFact]
    rebalances: list[LoggedRebalance]
    """Those that it went through, by either protocol."""
    events: list[tuple[int, Event]]
    """When it came and went."""
    last_join: LoggedFact | None
    """None: it is not a member when its lines end."""


def own_history(facts: Sequence[LoggedFact]) -> OwnHistory:
    """Return what one client's lines say, each taken once."""
    own, found = OwnMembership(), list[LoggedRebalance]()
    shown = [fact for fact in facts if fact.kind is not FactKind.TOPIC_SEEN]
    is_newer = any(map(is_newer_line, shown))
    marked = [(is_newer := is_newer_line(fact) or (is_newer and fact.kind not in _CLASSIC), fact) for fact in shown]
    for newer, lines in groupby(marked, key=lambda one: one[0]):
        history = _OwnEpochs(own) if newer else OwnGenerations(own)
        for _, fact in lines:
            own.take(fact)
            history.take(fact)
        found += history.rebalances()
    return OwnHistory(facts, found, own.events, own.last_join)


def is_newer_line(fact: LoggedFact) -> bool:
    """Whether only a member of the newer protocol prints it."""
    return fact.kind in _CHANGES and bool(fact.to_state)


class _OwnEpochs:
    """One member, whose lines are taken in order. own: its membership, which has each line already."""

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
        return self._found

    def take(self, fact: LoggedFact) -> None:
        if fact.kind is FactKind.POLL_TIMEOUT:
            self._go(fact)
        elif is_unknown_member(fact):
            self._be_removed(fact)
        elif is_newer_line(fact):
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
            one.cause = inferred(CauseKind.MEMBER_JOINED, fact.member_id, fact.client_id)
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
            self.leave.began_at_ms = fact.at_ms if fact.length_ms is None else None  # Otherwise it left before.
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
        one.cause = self._own.cause(Reason(CauseKind.UNKNOWN, candidates=REMOVED_FROM_AN_EPOCH))
        self.removed = fact
        self._found.append(one)
