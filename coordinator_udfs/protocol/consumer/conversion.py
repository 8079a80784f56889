"""Converts a group from one protocol to the other: an Empty group on request, a group with members while they work.

Upgrade: a consumer joins a classic group, whose members stay with their ids, generation and partitions. Downgrade: the
last consumer goes, and the classic members that stay rebalance as such. Source: GroupMetadataManager.
convertToConsumerGroup, convertToClassicGroup, ConsumerGroup.fromClassicGroup, ClassicGroup.fromConsumerGroup.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from rollcall.coordinator_udfs.protocol import deadlines
from rollcall.coordinator_udfs.protocol.answers import refuse_parked
from rollcall.coordinator_udfs.protocol.claims import CONSUMER
from rollcall.coordinator_udfs.protocol.config import MigrationPolicy
from rollcall.coordinator_udfs.protocol.consumer import history
from rollcall.coordinator_udfs.protocol.consumer.deadlines import keep_alive
from rollcall.coordinator_udfs.protocol.consumer.group import (
    FIRST_EPOCH,
    ClassicMember,
    ConsumerGroup,
    ConsumerMember,
    Owned,
)
from rollcall.coordinator_udfs.protocol.consumer.lifecycle import become_consumer_group, look_at_topics, state_of
from rollcall.coordinator_udfs.protocol.consumer.states import GroupType
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.history import Gone, note_assigned, rebalance_ended
from rollcall.coordinator_udfs.protocol.java_maps import hash_map_order
from rollcall.coordinator_udfs.protocol.lifecycle import create_group, forget_pending
from rollcall.coordinator_udfs.protocol.members import Member
from rollcall.coordinator_udfs.protocol.rebalance import end_timers, prepare_rebalance, select_protocol, selected_topics
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas import makers
from rollcall.schemas.causes import Cause, EndCause
from rollcall.schemas.consumer_protocol import (
    HIGHEST_VERSION,
    Assignment,
    Subscription,
    TopicPartition,
    decode_assignment,
    decode_subscription,
    encode_assignment,
)
from rollcall.schemas.errors import Error
from rollcall.schemas.layout import LayoutError

# ---------------------------------------------------------------- Empty groups


def begin_consumer_group(group: Group, client_id: str, turn: Turn) -> ConsumerGroup:
    """(none) or an Empty classic group -> an Empty consumer group at epoch 1; offsets stay."""
    from_type = group.group_type if group.is_known else None
    if not group.is_known:
        create_group(group, turn)
    forget_pending(group, EndCause.GROUP_CONVERTED, turn)
    consumer = become_consumer_group(group)
    history.type_changed(group, from_type, "replaced" if from_type else "created", turn, client_id)
    return consumer


def begin_classic_group(group: Group, client_id: str, turn: Turn) -> None:
    """An Empty consumer group -> an Empty classic group at generation 0; offsets stay."""
    group.consumer = group.held_at_most = None
    group.generation_id, group.protocol_type = 0, None
    group.state, group.previous_state = GroupState.EMPTY, GroupState.DEAD
    group.state_timestamp_ms = turn.now_ms
    history.type_changed(group, GroupType.CONSUMER, "replaced", turn, client_id)


# ---------------------------------------------------------------- upgrade


def why_no_upgrade(group: Group, turn: Turn) -> str | None:
    """Why a classic group with members refuses a consumer, as far as that is known without answering parked
    requests."""
    config = turn.consumer
    if config.migration_policy not in (MigrationPolicy.BIDIRECTIONAL, MigrationPolicy.UPGRADE):
        return _refused(group, "online upgrade is disabled.")
    if group.protocol_type != CONSUMER:
        return _refused(group, "the group does not use the consumer embedded protocol.")
    if len(group.members) > config.max_size:
        return _refused(group, "the group size exceeds the consumer group maximum size.")
    return None


def _refused(group: Group, why: str) -> str:
    return f"Cannot upgrade classic group {group.group_id} to consumer group because {why}"


def upgrade(group: Group, client_id: str, turn: Turn) -> ConsumerGroup | str:
    """A classic group with members -> a consumer group of classic members, each at the generation as its epoch.

    Parked requests are answered REBALANCE_IN_PROGRESS, and those members' sessions start anew. Returns why not, if the
    members' bytes cannot be read, or an assignment has user data of a custom assignor.
    """
    for parked in group.members.values():
        parked.is_new = False
        if refuse_parked(group, parked, Error.REBALANCE_IN_PROGRESS, turn):
            deadlines.arm_session(group, parked, parked.session_timeout_ms, turn)
    try:
        read = [(member, _subscription(group, member), _assignment(member)) for member in group.members.values()]
    except LayoutError as error:
        return _refused(group, f"the embedded consumer protocol is malformed: {error}.")
    if any(assignment.user_data for _, _, assignment in read):
        return _refused(group, "an unsupported custom assignor is in use.")
    from_state = str(group.state)
    _leave_classic(group, turn)
    consumer = become_consumer_group(group, max(group.generation_id, FIRST_EPOCH))
    for member, subscription, assignment in read:
        _take_over(group, consumer, member, subscription, assignment, turn)
    for member_id in hash_map_order(consumer.members) * 2:
        consumer.table.put(member_id)
    history.type_changed(group, GroupType.CLASSIC, "upgraded", turn, client_id)
    for taken in consumer.members.values():
        history.member_subscribed(taken, turn)
        history.note_assigned(taken, turn)
    look_at_topics(group, consumer, turn)
    consumer.state = state_of(group, consumer)
    if consumer.state != from_state:
        turn.emit(makers.state_changed(turn.now_ms, group, from_state, consumer.state))
    return consumer


def _subscription(group: Group, member: Member) -> Subscription:
    """The subscription by the group's protocol; by the member's first, if the group has none or the member not that
    one."""
    metadata = member.protocols.get(group.protocol_name or "")
    return decode_subscription(next(iter(member.protocols.values()), b"") if metadata is None else metadata)


def _assignment(member: Member) -> Assignment:
    return decode_assignment(member.assignment) if member.assignment else Assignment(())


def _leave_classic(group: Group, turn: Turn) -> None:
    """Removes all of the classic group but its generation and its offsets."""
    rebalance_ended(group, "superseded", turn)
    forget_pending(group, EndCause.GROUP_CONVERTED, turn)
    end_timers(group)
    group.new_member_added = False
    for member_id in list(group.members):
        group.remove(member_id)
    group.state, group.previous_state = GroupState.EMPTY, GroupState.DEAD


def _take_over(
    group: Group,
    consumer: ConsumerGroup,
    classic: Member,
    subscription: Subscription,
    assignment: Assignment,
    turn: Turn,
) -> None:
    topics = turn.topics or {}
    owned: Owned = {}
    for topic, partition in sorted(assignment.partitions):
        if topic in topics and consumer.owner_of(topic, partition) is None:
            owned.setdefault(topic, {})[partition] = group.generation_id
    member = ConsumerMember(
        member_id=classic.member_id,
        client_id=classic.client_id,
        client_host=classic.client_host,
        joined_at_ms=classic.joined_at_ms,
        instance_id=classic.group_instance_id,
        rack_id=subscription.rack_id,
        rebalance_timeout_ms=classic.rebalance_timeout_ms,
        topics=tuple(sorted(set(subscription.topics))),
        member_epoch=group.generation_id,
        previous_epoch=group.generation_id,
        target={topic: tuple(partitions) for topic, partitions in owned.items()},
        classic=ClassicMember(classic.session_timeout_ms, dict(classic.protocols)),
    )
    consumer.add(member)
    consumer.own(member, owned, {})
    keep_alive(group, member, turn)
    member.last_seen_at_ms = classic.last_seen_at_ms


# ---------------------------------------------------------------- downgrade


def may_downgrade(consumer: ConsumerGroup, leaving: Set[str], turn: Turn) -> bool:
    """Whether only classic members stay, at least one and no more than fit, and the policy allows it."""
    staying = [member for member_id, member in consumer.members.items() if member_id not in leaving]
    if turn.consumer.migration_policy not in (MigrationPolicy.BIDIRECTIONAL, MigrationPolicy.DOWNGRADE):
        return False
    is_fitting = 0 < len(staying) <= turn.config.group_max_size
    return is_fitting and all(member.classic is not None for member in staying)


def downgrade(
    group: Group,
    consumer: ConsumerGroup,
    cause: Cause,
    gone: Sequence[Gone],
    turn: Turn,
    *,
    is_at_target: bool = False,
) -> None:
    """A consumer group with only classic members -> a Stable classic group with their targets, and on to a rebalance.

    The generation is the epoch, the leader the first member. is_at_target: the target is that of the epoch and nobody
    left, so no rebalance is needed.
    """
    from_state = str(consumer.state)
    order = [consumer.members[member_id] for member_id in dict.fromkeys([*consumer.table, *consumer.members])]
    group.consumer = group.held_at_most = None
    for member in order:
        group.add(_classic_member(member), CONSUMER)
    group.protocol_name = select_protocol(group)
    group.subscribed_topics = selected_topics(group)
    group.state, group.previous_state = GroupState.STABLE, GroupState.DEAD
    group.state_timestamp_ms = turn.now_ms
    for classic in group.members.values():
        deadlines.arm_session(group, classic, classic.session_timeout_ms, turn)
    history.type_changed(group, GroupType.CONSUMER, "downgraded", turn, cause.client_id)
    if from_state != group.state:
        turn.emit(makers.state_changed(turn.now_ms, group, from_state, group.state))
    if not is_at_target:
        prepare_rebalance(group, cause, turn, gone=gone)
        return
    for classic in group.members.values():
        note_assigned(group, classic, turn)
    rebalance_ended(group, "completed", turn)


def _classic_member(member: ConsumerMember) -> Member:
    assert member.classic is not None
    partitions = [TopicPartition(topic, p) for topic, ps in (member.target or {}).items() for p in ps]
    return Member(
        member_id=member.member_id,
        client_id=member.client_id,
        client_host=member.client_host,
        session_timeout_ms=member.classic.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        protocols=member.classic.protocols,
        joined_at_ms=member.joined_at_ms,
        group_instance_id=member.instance_id,
        assignment=assignment_bytes(partitions, member.classic),
        last_seen_at_ms=member.last_seen_at_ms,
    )


def assignment_bytes(partitions: Sequence[TopicPartition], classic: ClassicMember) -> bytes:
    """Partitions encoded for a classic member, in the version of its subscription."""
    version = min(int.from_bytes(classic.metadata[:2], "big", signed=True), HIGHEST_VERSION)
    return encode_assignment(Assignment(tuple(partitions)), max(version, 0))
