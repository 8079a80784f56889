"""Emits the facts of a consumer group: members, epochs and their causes, targets, and each member's steps to its own.

No answer to a client depends on anything here. A rebalance of a consumer group
begins when its epoch rises and ends when every member has what that epoch's target gives it; the next epoch supersedes
it. A member keeps the others waiting from that beginning until it lets go of partitions that others are to have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from rollcall.coordinator_udfs.protocol.config import ConsumerConfig
from rollcall.coordinator_udfs.protocol.consumer.deadlines import session_timeout_ms
from rollcall.coordinator_udfs.protocol.consumer.group import ConsumerGroup, ConsumerMember
from rollcall.coordinator_udfs.protocol.consumer.states import GroupType, MemberState
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.history import part_of
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas import makers
from rollcall.schemas.consumer_effects import (
    MemberProgressed,
    MemberTarget,
    PatternsResolved,
    PatternTopics,
    TargetAssigned,
    TopicCount,
    TopicsSeen,
)
from rollcall.schemas.makers import Subscription, Terms, of_topics

FACT_BYTES = 1_048_576
"""A fact with a longer list is split at about this size."""
_ITEM_BYTES, _TOPIC_BYTES = 100, 30
P = TypeVar("P")


def type_changed(group: Group, from_type: GroupType | None, why: str, turn: Turn, client_id: str = "") -> None:
    """Emits under which protocol the group is from now on."""
    turn.emit(makers.type_changed(turn.now_ms, from_type, group.group_type, why, group.generation_id, client_id))


# ---------------------------------------------------------------- members


def terms_of(member: ConsumerMember, config: ConsumerConfig) -> Terms:
    """A member's terms, in the same form as a classic group's."""
    return session_timeout_ms(member, config), member.rebalance_timeout_ms, list(member.topics)


def subscription_of(member: ConsumerMember) -> Subscription:
    """The rest of a member's fields that its assignment depends on."""
    kind = GroupType.CONSUMER if member.classic is None else GroupType.CLASSIC
    return list(member.topics), member.pattern, member.server_assignor, kind


def member_joined(member: ConsumerMember, turn: Turn, replaces_member_id: str | None = None) -> None:
    """Emits a new member, and what it subscribes to."""
    turn.emit(makers.member_joined(turn.now_ms, member, terms_of(member, turn.consumer), replaces_member_id))
    member_subscribed(member, turn)


def member_subscribed(member: ConsumerMember, turn: Turn) -> None:
    """Emits what a member subscribes to from now on."""
    turn.emit(makers.member_subscribed(turn.now_ms, member, subscription_of(member)))


# ---------------------------------------------------------------- epochs


def topics_seen(consumer: ConsumerGroup, turn: Turn) -> None:
    """Emits which of the subscribed topics exist, and how many partitions they have."""
    counts = [TopicCount(topic=topic, partition_count=count) for topic, count in consumer.topics.items()]
    turn.emit(TopicsSeen(at_ms=turn.now_ms, topics=counts))


def patterns_resolved(consumer: ConsumerGroup, turn: Turn) -> None:
    """Emits which topics each regular expression of the group matches, in several facts if they are many."""
    found = [PatternTopics(pattern=pattern, topics=list(topics)) for pattern, topics in consumer.patterns.items()]
    for part in _parts(found, lambda each: sum(map(len, each.topics), len(each.pattern))):
        turn.emit(PatternsResolved(at_ms=turn.now_ms, patterns=part))


def target_assigned(
    group: Group, consumer: ConsumerGroup, assignor: str, changed: Sequence[ConsumerMember], turn: Turn
) -> None:
    """Emits a target assignment: the members whose target differs from before, in several facts if they are many."""
    targets = [
        MemberTarget(
            member_id=member.member_id,
            client_id=member.client_id,
            partitions=of_topics(member.target or {}),
        )
        for member in changed
    ]
    for part in _parts(
        targets, lambda each: sum(_TOPIC_BYTES + len(t.topic) + 7 * len(t.partitions) for t in each.partitions)
    ):
        turn.emit(
            TargetAssigned(
                at_ms=turn.now_ms,
                generation_id=consumer.target_epoch,
                assignor=assignor,
                member_count=len(consumer.members),
                targets=part,
            )
        )


def _parts(items: list[P], size_of: Callable[[P], int]) -> Iterator[list[P]]:
    """The items in lists of at most this size, except for a list's last item; no items give one empty list."""
    part: list[P] = []
    size = 0
    for item in items:
        part.append(item)
        size += size_of(item) + _ITEM_BYTES
        if size >= FACT_BYTES:
            yield part
            part, size = [], 0
    if part or not items:
        yield part


# ---------------------------------------------------------------- a member's steps


def member_progressed(
    group: Group, consumer: ConsumerGroup, member: ConsumerMember, owned_before: dict[str, list[int]], turn: Turn
) -> None:
    """Emits a member's step towards its target, and what it owns if that has changed."""
    owned = member.owned()
    missing = {
        topic: [p for p in partitions if p not in member.assigned.get(topic, {})]
        for topic, partitions in (member.target or {}).items()
    }
    turn.emit(
        MemberProgressed(
            at_ms=turn.now_ms,
            member_id=member.member_id,
            client_id=member.client_id,
            generation_id=member.member_epoch,
            target_epoch=consumer.target_epoch,
            state=member.state,
            partitions=of_topics(member.assigned),
            to_revoke=of_topics(member.pending_revocation),
            awaited=of_topics(missing) if member.state is MemberState.UNRELEASED else [],
        )
    )
    if owned != owned_before:
        note_assigned(member, turn)
    _note_part(group, consumer, member, owned_before, owned, turn)


def note_assigned(member: ConsumerMember, turn: Turn) -> None:
    """Emits what a member owns from now on, including what it must give up."""
    turn.emit(makers.assigned(turn.now_ms, member, member.member_epoch, of_topics(member.owned())))


def _note_part(
    group: Group,
    consumer: ConsumerGroup,
    member: ConsumerMember,
    owned_before: dict[str, list[int]],
    owned: dict[str, list[int]],
    turn: Turn,
) -> None:
    """Notes a member's step in the rebalance under way, once that has its target."""
    rebalance = group.rebalance
    if rebalance is None or consumer.target_epoch != group.generation_id:
        return
    part = part_of(rebalance, member)
    freed = {topic: set(partitions).difference(owned.get(topic, ())) for topic, partitions in owned_before.items()}
    if any(partitions and topic in consumer.topics for topic, partitions in freed.items()):
        # Until there is a target nobody waits for a member.
        part.held_others_ms = turn.now_ms - max(rebalance.started_at_ms, consumer.target_at_ms or 0)
    if member.state is not MemberState.UNREVOKED and part.joined_at_ms is None:
        part.joined_at_ms = turn.now_ms
    if member.is_reconciled_to(consumer.target_epoch) and part.synced_at_ms is None:
        part.synced_at_ms = turn.now_ms
