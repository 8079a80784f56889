"""One client's part in a rebalance: when it learnt of it, asked to join and joined, and who held it by that.

Knows one client's facts of one rebalance. Must not know how lines are worded.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rollcall.inputs.printed.absence import could_stand
from rollcall.inputs.printed.groups.leaders import members_of
from rollcall.inputs.printed.logged_facts import (
    AWAITS_APPLICATION,
    FactKind,
    LoggedFact,
    between_ms,
    says_that_it_is_no_member,
)
from rollcall.inputs.printed.logged_rebalances import Holder, LoggedRebalance
from rollcall.inputs.tolerances import BACK_AT_HEARTBEAT_MS
from rollcall.schemas.causes import CauseKind

LEFT = "left"
"""The outcome of a rebalance that a client set off by going: it sees no end of it."""
WAITED = "this client had asked to join and waited for others, whom its log does not name"
WAITED_ALONE = "only this client joined: its coordinator waited for more members, or for some that did not join again"
NOT_BACK = "it had learnt of the rebalance and had not asked to join again"
WAITS_FOR_APPLICATION = "it waits for its application to give partitions up, and has not asked to join again"
OWN = (NOT_BACK, WAITS_FOR_APPLICATION)
"""Why a client itself kept the others waiting, though its lines may not name it."""
OUTLASTED = "the rebalance outlasted this client's own session timeout, so a member did not join again in time"
LONGEST_MS = 300_000
"""The longest that clients have a rebalance wait for them as shipped: max.poll.interval.ms."""
JOINS = (FactKind.JOINED, FactKind.JOINED_AND_SYNCED)


@dataclass
class OwnPart:
    """A client in a rebalance."""

    one: LoggedRebalance
    is_joined: bool = False
    """It has the generation of it."""
    is_first: bool = False
    """It joined as it began itself."""
    learnt: LoggedFact | None = None
    """When it learnt that others rebalance."""
    asked: LoggedFact | None = None
    """When it asked to join."""
    waits_since: LoggedFact | None = None
    """When it asked to join and was not refused since."""
    given_up: LoggedFact | None = None
    """When it gave its session up, where its log had nothing of the rebalance before."""
    left: dict[FactKind, LoggedFact] = field(default_factory=dict)
    """Its first line of each kind by which it leaves."""
    is_of_others: bool = False
    """It left while others waited for it."""

    @property
    def is_left(self) -> bool:
        """Whether it left, and has not joined since."""
        return self.one.outcome == LEFT

    @property
    def is_over(self) -> bool:
        """Whether what comes next is of another rebalance."""
        return self.is_joined or self.is_left

    @property
    def is_known(self) -> bool:
        """Whether its group rebalanced. Otherwise it asked to join, and no answer is here: an attempt."""
        shown = self.is_joined or self.learnt is not None or self.given_up is not None
        return shown or self.one.cause.kind is not CauseKind.UNKNOWN or bool(self.one.outcome)

    def leave(self, fact: LoggedFact) -> None:
        """It leaves by a line."""
        self.one.facts.append(fact)
        self.left.setdefault(fact.kind, fact)

    def holder(self, name: str, latest: LoggedFact | None) -> Holder | None:
        """Others, if it had asked and waited; itself, if it had learnt of the rebalance and did not ask."""
        one, since = self.one, self.waits_since
        if one.joined_at_ms is not None and since is not None and since.at_ms is not None:
            waited_ms = one.joined_at_ms - since.at_ms
            is_joined = any(fact.kind in JOINS for fact in one.facts)
            is_near = is_joined or waited_ms <= LONGEST_MS
            if waited_ms >= BACK_AT_HEARTBEAT_MS and is_near and one.generation_id != 1:
                return Holder(waited_ms, "", not is_joined, WAITED_ALONE if members_of(one) == 1 else WAITED)
        if self.given_up is not None and self.asked is None:
            return Holder(None, "", True, OUTLASTED)
        out = next(filter(says_that_it_is_no_member, one.facts), latest)
        is_over = self.is_joined or one.ended_at_ms is not None  # Its lines may lack that it asked.
        until = self.asked or (None if is_over else out)
        return None if until is None else self.held_others(name, until)

    def held_others(self, name: str, until: LoggedFact) -> Holder | None:
        """Return the client itself if others waited for it until a line. name: the client's."""
        length_ms = None if self.learnt is None else between_ms(self.learnt, until)
        if length_ms is None or not BACK_AT_HEARTBEAT_MS <= length_ms <= LONGEST_MS:
            return None
        if self.asked is None and until.state in AWAITS_APPLICATION:
            return Holder(length_ms, name, False, WAITS_FOR_APPLICATION)
        return Holder(length_ms, name, True, NOT_BACK) if could_stand(until, FactKind.JOIN_SENT) else None
