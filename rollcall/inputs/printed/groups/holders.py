"""Who kept a classic group's join phase waiting.

The lines name a holder where the join phase ended at the moment when somebody was removed: an id that never joined, a
member that expired, members that were not back in time. Otherwise only the length shows that somebody held it.
"""

from __future__ import annotations

from rollcall.inputs.printed.logged_facts import FactKind
from rollcall.inputs.printed.logged_rebalances import Holder, LoggedRebalance
from rollcall.inputs.tolerances import BACK_AT_HEARTBEAT_MS, HELD_AT_LEAST_MS, TIMER_LATE_MS, TOGETHER_MS
from rollcall.schemas.causes import CauseKind

INITIAL_DELAY_MS = 3_000
"""group.initial.rebalance.delay.ms as shipped."""
COMMON_TIMEOUTS_MS = (5_000, 6_000)
"""Timeouts that people set are multiples of these: 6 s is the least that brokers allow as shipped."""

_REBALANCE_TIMEOUTS_MS = (30_000, 60_000, 300_000)
"""As Kafka's clients and others have them as shipped."""
_AT_TIMEOUT = "that is a usual rebalance timeout, at which members that did not join again are removed"
_LAST_CAME = "the other members had to join again, and the last of them took that long"
_NOBODY_CAME = "only the member that had come was in it, so that those of the generation before did not join again"
_ONE_CAME = "only one member was in it: it took that long to join again, or others did not join again at all"
_MAYBE_EMPTY = "members had to join again, or the group was empty and its coordinator waited for more of them"
_ENDED_BY = {
    FactKind.PENDING_MEMBER_EXPIRED: "an id that the coordinator had given out and that never joined",
    FactKind.MEMBER_EXPIRED: "it never came back, and the join phase ended as its session expired",
    FactKind.MEMBERS_NOT_BACK: "it had not joined again when the rebalance timeout had passed",
    FactKind.LEADER_NOT_BACK: "the leader, which had not joined again when the rebalance timeout had passed",
    FactKind.MEMBER_LEFT: "the join phase ended as it left",
    FactKind.PENDING_MEMBER_LEFT: "an id that the coordinator had given out; the join phase ended as it was given back",
}


def was_empty(rebalance: LoggedRebalance) -> bool:
    """Whether the group had no member: its join phase is then the coordinator's initial delay."""
    return rebalance.began_empty or rebalance.from_generation_id == 0


def may_have_been_empty(rebalance: LoggedRebalance) -> bool:
    """Whether a member came to a generation that the lines do not show."""
    return rebalance.cause.kind is CauseKind.MEMBER_JOINED and not rebalance.follows_known


def holder_of(rebalance: LoggedRebalance) -> Holder | None:
    """Who held it; None: nobody for long, or the lines do not have its length."""
    length_ms = rebalance.join_phase_ms
    if length_ms is None or length_ms < HELD_AT_LEAST_MS or rebalance.joined_at_ms is None:
        return None
    for fact in reversed(rebalance.facts):
        why = _ENDED_BY.get(fact.kind)
        if why is None or fact.at_ms is None or not 0 <= rebalance.joined_at_ms - fact.at_ms <= TOGETHER_MS:
            continue
        members = (fact.member_id,) if fact.member_id else fact.member_ids
        if fact.member_id == rebalance.cause.member_id or not members:
            continue
        return Holder(length_ms, members[0], False, why, members if len(members) > 1 else ())
    if length_ms < BACK_AT_HEARTBEAT_MS or was_empty(rebalance):
        return None
    return Holder(length_ms, "", True, _why(rebalance, length_ms), rebalance.others)


def _why(rebalance: LoggedRebalance, length_ms: int) -> str:
    """What a join phase waited for that was long."""
    is_alone = rebalance.members == 1 and rebalance.cause.kind is CauseKind.MEMBER_JOINED
    if any(0 <= length_ms - each <= TIMER_LATE_MS for each in _REBALANCE_TIMEOUTS_MS):
        return f"{_AT_TIMEOUT}; {_NOBODY_CAME}" if is_alone else _AT_TIMEOUT
    if rebalance.members == 1:
        return _NOBODY_CAME if is_alone else _ONE_CAME
    return _MAYBE_EMPTY if may_have_been_empty(rebalance) else _LAST_CAME


def is_a_timeout(length_ms: int) -> bool:
    """Return whether a time is one that people set, and the little by which a timer fires late."""
    return any(length_ms >= each and length_ms % each <= TIMER_LATE_MS for each in COMMON_TIMEOUTS_MS)
