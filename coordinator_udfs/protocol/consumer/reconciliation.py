"""One member's steps from what it owns to its target: what it keeps, gives up, is given and waits for.

A partition is given to a member only when nobody owns it. It stays a member's until that member gives it up or is
removed. Knows the table of steps; knows no API. Source: Kafka's CurrentAssignmentBuilder.

| state | condition | step |
|---|---|---|
| stable | another epoch than the target's | advance |
| stable | forced: its subscription has changed | shrink |
| unrevoked | it owns, or may own, what it was to give up | none; shrink if forced |
| unrevoked | it says that it owns nothing of that | advance |
| unreleased | | advance |
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import NamedTuple

from rollcall.coordinator_udfs.protocol.consumer import history
from rollcall.coordinator_udfs.protocol.consumer.deadlines import arm
from rollcall.coordinator_udfs.protocol.consumer.group import ConsumerGroup, ConsumerMember, Owned
from rollcall.coordinator_udfs.protocol.consumer.states import MemberState, MemberTimer
from rollcall.coordinator_udfs.protocol.consumer.subscription import topics_of
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.turn import Turn

Claimed = Mapping[str, Set[int]]
"""The partitions that a member says it owns, by topic."""


class Step(NamedTuple):
    """Where a member stands after a step; the new assignment's partitions carry their assignment epochs."""

    state: MemberState
    member_epoch: int
    assigned: Owned
    pending_revocation: Owned


def reconcile(
    group: Group,
    consumer: ConsumerGroup,
    member: ConsumerMember,
    claimed: Claimed | None,
    turn: Turn,
    *,
    is_forced: bool,
) -> None:
    """Takes the member one step further, if there is one. claimed: None if the request does not list what it owns.

    A member left with partitions to give up has its rebalance timeout to do so, counted anew from each such step.
    """
    if not is_forced and member.is_reconciled_to(consumer.target_epoch):
        return
    existing = turn.topics or {}
    subscribed = {topic for topic in topics_of(consumer, member) if topic in existing}
    step = _step(consumer, member, claimed, subscribed, is_forced=is_forced)
    if step is None:
        return
    before = Step(member.state, member.member_epoch, member.assigned, member.pending_revocation)
    owned_before = member.owned()
    is_changed = step != before or member.previous_epoch != member.member_epoch
    member.previous_epoch = member.member_epoch
    member.member_epoch, member.state = step.member_epoch, step.state
    consumer.own(member, step.assigned, step.pending_revocation)
    if is_changed and member.classic is None:
        if member.state is MemberState.UNREVOKED:
            arm(group, member, MemberTimer.REBALANCE, member.rebalance_timeout_ms, turn)
        else:
            member.timers.pop(MemberTimer.REBALANCE, None)
    if step != before:
        history.member_progressed(group, consumer, member, owned_before, turn)


def _step(
    consumer: ConsumerGroup, member: ConsumerMember, claimed: Claimed | None, subscribed: Set[str], *, is_forced: bool
) -> Step | None:
    match member.state:
        case MemberState.STABLE if member.member_epoch != consumer.target_epoch:
            return _advance(consumer, member, claimed, subscribed)
        case MemberState.UNREVOKED if not _still_owns(member.pending_revocation, claimed):
            return _advance(consumer, member, claimed, subscribed)
        case MemberState.UNRELEASED:
            return _advance(consumer, member, claimed, subscribed)
        case MemberState.STABLE | MemberState.UNREVOKED:
            return _shrink(member, claimed, subscribed) if is_forced else None


def _still_owns(partitions: Owned, claimed: Claimed | None) -> bool:
    """Whether the member may still own any of these; yes if its request does not say."""
    return claimed is None or any(
        not claimed.get(topic, frozenset()).isdisjoint(partitions[topic]) for topic in partitions
    )


def _advance(consumer: ConsumerGroup, member: ConsumerMember, claimed: Claimed | None, subscribed: Set[str]) -> Step:
    """A step towards the current target. What the member gave up is free; what it is to own and is free it gets."""
    epoch, target = consumer.target_epoch, member.target or {}
    kept: Owned = {}
    revoked: Owned = {}
    given: Owned = {}
    is_waiting = False
    for topic in sorted({*target, *member.assigned}):
        wanted = frozenset(target.get(topic, ())) if topic in subscribed else frozenset()
        has = member.assigned.get(topic, {})
        _put(kept, topic, {p: at for p, at in has.items() if p in wanted})
        _put(revoked, topic, {p: at for p, at in has.items() if p not in wanted})
        missing = [p for p in sorted(wanted) if p not in has]
        free = {p: epoch for p in missing if consumer.owner_of(topic, p) in (None, member.member_id)}
        _put(given, topic, free)
        is_waiting = is_waiting or len(free) < len(missing)
    if revoked and _still_owns(revoked, claimed):
        return Step(MemberState.UNREVOKED, member.member_epoch, kept, revoked)
    for topic, partitions in given.items():
        kept[topic] = kept.get(topic, {}) | partitions
    return Step(MemberState.UNRELEASED if is_waiting else MemberState.STABLE, epoch, kept, {})


def _shrink(member: ConsumerMember, claimed: Claimed | None, subscribed: Set[str]) -> Step | None:
    """Takes away topics that the member no longer subscribes to, before there is a new target; its epoch stays."""
    dropped = {topic: partitions for topic, partitions in member.assigned.items() if topic not in subscribed}
    if not dropped:
        return None
    kept = {topic: partitions for topic, partitions in member.assigned.items() if topic in subscribed}
    pending = dict(member.pending_revocation)
    for topic, partitions in dropped.items():
        pending[topic] = pending.get(topic, {}) | partitions
    if _still_owns(pending, claimed):
        return Step(MemberState.UNREVOKED, member.member_epoch, kept, pending)
    return Step(member.state, member.member_epoch, kept, {})


def _put(owned: Owned, topic: str, partitions: dict[int, int]) -> None:
    if partitions:
        owned[topic] = partitions
