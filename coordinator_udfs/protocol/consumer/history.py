"""What a consumer group tells of itself: members, epochs and their causes, targets, and each member's way to its own.

Writes the story beside the protocol; no answer to a client depends on anything here. A rebalance of a consumer group
begins when its epoch rises and ends when every member has what that epoch's target gives it; the next epoch supersedes
it. A member keeps the others waiting from that beginning until it lets go of partitions that others are to have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from coordinator_udfs.protocol.config import ConsumerConfig
from coordinator_udfs.protocol.consumer.deadlines import session_timeout_ms
from coordinator_udfs.protocol.consumer.group import ConsumerGroup, ConsumerMember
from coordinator_udfs.protocol.consumer.states import GroupType, MemberState
from coordinator_udfs.protocol.group import Group
from coordinator_udfs.protocol.history import rebalance_ended, rebalance_started
from coordinator_udfs.protocol.rebalance_record import MemberPart
from coordinator_udfs.protocol.turn import Turn
from schemas.causes import Cause, CauseKind, EndCause
from schemas.consumer_effects import (
    GroupTypeChanged,
    MemberLeftForNow,
    MemberProgressed,
    MemberSubscribed,
    MemberTarget,
    PatternsResolved,
    PatternTopics,
    TargetAssigned,
    TopicCount,
    TopicsSeen,
)
from schemas.effects import (
    Assigned,
    MemberJoined,
    MemberRemoved,
    MemberUpdated,
    StateChanged,
    TopicPartitions,
)

FACT_BYTES = 1_048_576
"""About where a fact that lists much goes on in a further one."""
_ITEM_BYTES, _TOPIC_BYTES = 100, 30
P = TypeVar("P")

Terms = tuple[int, int, list[str]]
Subscription = tuple[list[str], str, str | None, GroupType]


def cause_by(kind: CauseKind, member: ConsumerMember, client_reason: str | None = None) -> Cause:
    """A cause with its culprit."""
    return Cause(
        kind=kind,
        member_id=member.member_id,
        client_id=member.client_id,
        client_host=member.client_host,
        group_instance_id=member.instance_id,
        client_reason=client_reason or None,
    )


def type_changed(group: Group, from_type: GroupType | None, why: str, turn: Turn, client_id: str = "") -> None:
    """Tells under which protocol the group is from now on."""
    turn.emit(
        GroupTypeChanged(
            at_ms=turn.now_ms,
            from_type=from_type,
            to_type=group.group_type,
            why=why,
            generation_id=group.generation_id,
            client_id=client_id,
        )
    )


# ---------------------------------------------------------------- members


def terms_of(member: ConsumerMember, config: ConsumerConfig) -> Terms:
    """What others are told of a member in the same words as of a classic group's: timeouts and topic names."""
    return session_timeout_ms(member, config), member.rebalance_timeout_ms, list(member.topics)


def subscription_of(member: ConsumerMember) -> Subscription:
    """What else a member has said that its assignment depends on."""
    kind = GroupType.CONSUMER if member.classic is None else GroupType.CLASSIC
    return list(member.topics), member.pattern, member.server_assignor, kind


def member_joined(member: ConsumerMember, turn: Turn, replaces_member_id: str | None = None) -> None:
    """Tells of a new member, and what it subscribes to."""
    session_ms, rebalance_ms, topics = terms_of(member, turn.config.consumer)
    turn.emit(
        MemberJoined(
            at_ms=turn.now_ms,
            member_id=member.member_id,
            client_id=member.client_id,
            client_host=member.client_host,
            group_instance_id=member.instance_id,
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=rebalance_ms,
            topics=topics,
            replaces_member_id=replaces_member_id,
        )
    )
    member_subscribed(member, turn)


def member_updated(member: ConsumerMember, turn: Turn) -> None:
    """Tells of a member's new timeouts or topics."""
    session_ms, rebalance_ms, topics = terms_of(member, turn.config.consumer)
    turn.emit(
        MemberUpdated(
            at_ms=turn.now_ms,
            member_id=member.member_id,
            client_id=member.client_id,
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=rebalance_ms,
            topics=topics,
        )
    )


def member_subscribed(member: ConsumerMember, turn: Turn) -> None:
    """Tells what a member subscribes to from now on."""
    topics, pattern, assignor, kind = subscription_of(member)
    turn.emit(
        MemberSubscribed(
            at_ms=turn.now_ms,
            member_id=member.member_id,
            client_id=member.client_id,
            member_type=kind,
            topics=topics,
            pattern=pattern,
            server_assignor=assignor,
        )
    )


def member_left_for_now(member: ConsumerMember, turn: Turn) -> None:
    """Tells that a static member left and means to return; it stays a member and keeps what it may use."""
    turn.emit(
        MemberLeftForNow(
            at_ms=turn.now_ms,
            member_id=member.member_id,
            client_id=member.client_id,
            group_instance_id=member.instance_id,
        )
    )


def member_removed(
    group: Group,
    member: ConsumerMember,
    end_cause: EndCause,
    turn: Turn,
    *,
    client_reason: str | None = None,
    replaced_by: str | None = None,
) -> None:
    """Tells that a member went; one that had partitions to give up kept the others waiting until now."""
    if group.rebalance is not None and member.state is MemberState.UNREVOKED and member.pending_revocation:
        part = _part(group, member)
        part.held_others_ms = max(part.held_others_ms, turn.now_ms - group.rebalance.started_at_ms)
        part.gone_at_ms = turn.now_ms
    turn.emit(
        MemberRemoved(
            at_ms=turn.now_ms,
            member_id=member.member_id,
            client_id=member.client_id,
            client_host=member.client_host,
            group_instance_id=member.instance_id,
            generation_id=group.generation_id,
            end_cause=end_cause,
            client_reason=client_reason or None,
            replaced_by_member_id=replaced_by,
        )
    )


# ---------------------------------------------------------------- epochs


def epoch_raised(
    group: Group,
    consumer: ConsumerGroup,
    cause: Cause,
    turn: Turn,
    *,
    joined: Sequence[ConsumerMember] = (),
    gone: Sequence[tuple[ConsumerMember, EndCause]] = (),
) -> None:
    """Opens the story of the epoch that follows the present one, which is superseded if its story is still told."""
    members_before = len(consumer.members) - len(joined) + len(gone)
    rebalance_ended(group, "superseded", turn, members_before)
    rebalance_started(group, cause, consumer.state, turn, members_before=members_before, joined=joined, gone=gone)


def note_newcomer(group: Group, member: ConsumerMember) -> None:
    """Notes a member that came and raised no epoch, in a rebalance already under way."""
    if group.rebalance is not None:
        group.rebalance.joined.append(member.name)


def topics_seen(consumer: ConsumerGroup, turn: Turn) -> None:
    """Tells which of the subscribed topics exist, and how large they are."""
    counts = [TopicCount(topic=topic, partition_count=count) for topic, count in consumer.topics.items()]
    turn.emit(TopicsSeen(at_ms=turn.now_ms, topics=counts))


def patterns_resolved(consumer: ConsumerGroup, turn: Turn) -> None:
    """Tells which topics each regular expression of the group stands for, in several facts if they are many."""
    found = [PatternTopics(pattern=pattern, topics=list(topics)) for pattern, topics in consumer.patterns.items()]
    for part in _parts(found, lambda each: sum(map(len, each.topics), len(each.pattern))):
        turn.emit(PatternsResolved(at_ms=turn.now_ms, patterns=part))


def target_assigned(
    group: Group, consumer: ConsumerGroup, assignor: str, changed: Sequence[ConsumerMember], turn: Turn
) -> None:
    """Tells of a target assignment, member by member where it differs from the one before; in several facts if these
    are many.
    """
    targets = [
        MemberTarget(
            member_id=member.member_id,
            client_id=member.client_id,
            partitions=_by_topic({t: list(partitions) for t, partitions in (member.target or {}).items()}),
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
    """The items in lists that none exceeds by more than its last item; one, empty, of none."""
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


def state_changed(group: Group, from_state: str, to_state: str, turn: Turn) -> None:
    """Tells of the group's new state, by the names of its kind."""
    turn.emit(
        StateChanged(
            at_ms=turn.now_ms,
            from_state=from_state,
            to_state=to_state,
            generation_id=group.generation_id,
            protocol_type=group.protocol_type,
            protocol_name=group.protocol_name,
            leader_id=group.leader_id,
        )
    )


# ---------------------------------------------------------------- a member's way


def member_progressed(
    group: Group, consumer: ConsumerGroup, member: ConsumerMember, owned_before: dict[str, list[int]], turn: Turn
) -> None:
    """Tells of a step of a member towards its target, and what it owns if that is something else now."""
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
            partitions=_by_topic({topic: sorted(partitions) for topic, partitions in member.assigned.items()}),
            to_revoke=_by_topic({topic: sorted(ps) for topic, ps in member.pending_revocation.items()}),
            awaited=_by_topic(missing) if member.state is MemberState.UNRELEASED else [],
        )
    )
    if owned != owned_before:
        note_assigned(member, turn)
    _note_part(group, consumer, member, owned_before, owned, turn)


def note_assigned(member: ConsumerMember, turn: Turn) -> None:
    """Tells what a member owns from now on, what it is to give up included."""
    turn.emit(
        Assigned(
            at_ms=turn.now_ms,
            member_id=member.member_id,
            client_id=member.client_id,
            group_instance_id=member.instance_id,
            generation_id=member.member_epoch,
            partitions=_by_topic(member.owned()),
            assignment=b"",
        )
    )


def _note_part(
    group: Group,
    consumer: ConsumerGroup,
    member: ConsumerMember,
    owned_before: dict[str, list[int]],
    owned: dict[str, list[int]],
    turn: Turn,
) -> None:
    """Writes a member's step into the rebalance under way, once that has its target."""
    rebalance = group.rebalance
    if rebalance is None or consumer.target_epoch != group.generation_id:
        return
    part = _part(group, member)
    freed = {topic: set(partitions).difference(owned.get(topic, ())) for topic, partitions in owned_before.items()}
    if any(partitions and topic in consumer.topics for topic, partitions in freed.items()):
        part.held_others_ms = turn.now_ms - rebalance.started_at_ms
    if member.state is not MemberState.UNREVOKED and part.joined_at_ms is None:
        part.joined_at_ms = turn.now_ms
    if member.is_reconciled_to(consumer.target_epoch) and part.synced_at_ms is None:
        part.synced_at_ms = turn.now_ms


def _part(group: Group, member: ConsumerMember) -> MemberPart:
    assert group.rebalance is not None
    part = group.rebalance.parts.get(member.member_id)
    if part is None:
        part = MemberPart(member.client_id, member.client_host, member.instance_id)
        group.rebalance.parts[member.member_id] = part
    return part


def _by_topic(partitions: Mapping[str, list[int]]) -> list[TopicPartitions]:
    return [
        TopicPartitions(topic=topic, partitions=partitions[topic]) for topic in sorted(partitions) if partitions[topic]
    ]
