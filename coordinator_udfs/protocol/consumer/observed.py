"""A member of a consumer group, and its group, brought to where a recorded answer shows them.

For a group that is older than its recording, and for what a recording has lost. Knows how a member comes to be told
what it was told; must not know what proves it.
"""

from __future__ import annotations

from coordinator_udfs.protocol.consumer import history
from coordinator_udfs.protocol.consumer.deadlines import keep_alive
from coordinator_udfs.protocol.consumer.fencing import remove_members
from coordinator_udfs.protocol.consumer.group import ConsumerGroup, ConsumerMember, Owned
from coordinator_udfs.protocol.consumer.lifecycle import (
    become_consumer_group,
    look_at_topics,
    raise_epoch,
    see_cluster,
    settle_state,
)
from coordinator_udfs.protocol.consumer.states import MemberState
from coordinator_udfs.protocol.group import Group
from coordinator_udfs.protocol.turn import Turn
from schemas.causes import Cause, CauseKind, EndCause
from schemas.messages import GoneMember, ObservedConsumer

REBALANCE_TIMEOUT_MS = 300_000
"""That of a member that never said its own: what clients take unless they are told."""


def see_consumer(group: Group, seen: ObservedConsumer, turn: Turn) -> None:
    """The group is a consumer group of at least the epoch told; the member's next step leads to what it was told."""
    consumer = group.consumer
    if consumer is None:
        consumer = become_consumer_group(group, seen.told_epoch)
        history.type_changed(group, None, "observed", turn, seen.client_id)
    elif seen.told_epoch > group.generation_id:
        raise_epoch(group, consumer, Cause(kind=CauseKind.UNKNOWN, is_inferred=True), turn)
        group.generation_id = seen.told_epoch
    consumer.target_epoch = group.generation_id
    member = _member(consumer, seen, turn)
    told = seen.told_partitions or {}
    if seen.topics is not None:
        member.topics = tuple(sorted(set(seen.topics)))
    elif not member.pattern:
        member.topics = tuple(sorted({*member.topics, *told}))
    if seen.pattern is not None:
        consumer.set_pattern(member, seen.pattern)
    consumer.note_said(member)
    _learn_topics(group, consumer, told, turn)
    owned_before = member.owned()
    member.member_epoch = member.previous_epoch = seen.member_epoch
    member.state = _place(consumer, member, seen)
    wanted = member.owned() if seen.told_partitions is None else told
    member.target = {topic: tuple(sorted(partitions)) for topic, partitions in wanted.items() if partitions}
    if member.owned() != owned_before:
        history.note_assigned(member, turn)
    keep_alive(group, member, turn)
    settle_state(group, consumer, turn)


def _member(consumer: ConsumerGroup, seen: ObservedConsumer, turn: Turn) -> ConsumerMember:
    member = consumer.members.get(seen.member_id)
    if member is None:
        member = ConsumerMember(
            seen.member_id,
            seen.client_id,
            seen.client_host,
            joined_at_ms=turn.now_ms,
            instance_id=seen.instance_id,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS if seen.rebalance_timeout_ms < 0 else seen.rebalance_timeout_ms,
        )
        consumer.add(member)
        consumer.table.put(member.member_id)
        history.member_joined(member, turn)
    return member


def _learn_topics(group: Group, consumer: ConsumerGroup, told: dict[str, list[int]], turn: Turn) -> None:
    """What a member is told that it may use is there. Topics that were not known do not set off a rebalance."""
    known = consumer.cluster or {}
    shown = {topic: max(known.get(topic, 0), *(p + 1 for p in partitions), 0) for topic, partitions in told.items()}
    consumer.learn_cluster(known | shown)
    see_cluster(consumer, turn)
    look_at_topics(group, consumer, turn)


def _place(consumer: ConsumerGroup, member: ConsumerMember, seen: ObservedConsumer) -> MemberState:
    """What it owns before the answer, and the state out of which its next step leads to it.

    Behind the target's epoch it stays with what it has, as a member that is still to give something up. What it is
    told to use is its own alone.
    """
    is_behind = seen.told_epoch < consumer.target_epoch
    if seen.told_partitions is None:
        return MemberState.UNREVOKED if is_behind else MemberState.STABLE
    for other in list(consumer.members.values()):
        consumer.own(other, _without(other.assigned, seen), _without(other.pending_revocation, seen))
    if is_behind:
        told = {t: dict.fromkeys(ps, seen.told_epoch) for t, ps in seen.told_partitions.items() if ps}
        consumer.own(member, told, {})
        return MemberState.UNREVOKED
    consumer.own(member, {}, {})
    return MemberState.UNRELEASED


def _without(owned: Owned, seen: ObservedConsumer) -> Owned:
    given = seen.told_partitions or {}
    left = {topic: {p: at for p, at in ps.items() if p not in given.get(topic, ())} for topic, ps in owned.items()}
    return {topic: partitions for topic, partitions in left.items() if partitions}


def see_consumers_gone(group: Group, consumer: ConsumerGroup, gone: list[GoneMember], turn: Turn) -> None:
    """Removes members as their session timers would."""
    for identity in gone:
        member = consumer.members.get(identity.member_id)
        if member is not None:
            cause = history.cause_by(CauseKind.UNKNOWN, member)
            cause.is_inferred = True
            remove_members(group, consumer, [(member, EndCause(identity.end_cause), None)], cause, turn)
