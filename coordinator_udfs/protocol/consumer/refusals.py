"""Why a ConsumerGroupHeartbeat is refused: every check, in Kafka's order; nothing here changes anything.

Source: GroupCoordinatorService.throwIfConsumerGroupHeartbeatRequestIsInvalid, GroupMetadataManager.
throwIfConsumerGroupIsFull, throwIfConsumerGroupMemberEpochIsInvalid, getOrMaybeSubscribeStaticConsumerMember.
"""

from __future__ import annotations

from typing import NamedTuple

from rollcall.coordinator_udfs.protocol.config import ConsumerConfig
from rollcall.coordinator_udfs.protocol.consumer.conversion import why_no_upgrade
from rollcall.coordinator_udfs.protocol.consumer.group import ConsumerGroup, ConsumerMember, Owned
from rollcall.coordinator_udfs.protocol.consumer.reconciliation import Claimed
from rollcall.coordinator_udfs.protocol.consumer.regex import why_refused
from rollcall.coordinator_udfs.protocol.group import Group, Roster
from rollcall.coordinator_udfs.protocol.group_room import why_no_room_to_beat
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import ConsumerGroupHeartbeatRequest

JOIN, LEAVE, LEAVE_FOR_NOW = 0, -1, -2
MEMBER_ID_MADE_BY_CLIENT_SINCE = 1
"""From here on the client brings its member id (KIP-1082); the fields are the same as before."""


class Refusal(NamedTuple):
    """Why a request is refused; the message is for people."""

    error: Error
    message: str


def _invalid(message: str) -> Refusal:
    return Refusal(Error.INVALID_REQUEST, message)


def _is_blank(text: str | None) -> bool:
    return text is not None and not text.strip()


def refusal_of_request(request: ConsumerGroupHeartbeatRequest, config: ConsumerConfig) -> Refusal | None:
    """What is wrong with the request itself, whatever the group."""
    epoch = request.member_epoch
    needs_id = request.api_version >= MEMBER_ID_MADE_BY_CLIENT_SINCE or epoch > 0 or epoch == LEAVE
    if needs_id and _is_blank(request.member_id):
        return _invalid("MemberId can't be empty.")
    if _is_blank(request.group_id):
        return _invalid("GroupId can't be empty.")
    if _is_blank(request.instance_id):
        return _invalid("InstanceId can't be empty.")
    if _is_blank(request.rack_id):
        return _invalid("RackId can't be empty.")
    if epoch == JOIN and request.rebalance_timeout_ms == -1:
        return _invalid("RebalanceTimeoutMs must be provided in first request.")
    if epoch == JOIN and (request.topic_partitions is None or request.topic_partitions):
        return _invalid("TopicPartitions must be empty when (re-)joining.")
    if epoch == JOIN and request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        return _invalid("Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")
    if epoch == LEAVE_FOR_NOW and request.instance_id is None:
        return _invalid("InstanceId can't be null.")
    if epoch < LEAVE_FOR_NOW:
        return _invalid("MemberEpoch is invalid.")
    if request.server_assignor is not None and request.server_assignor not in config.assignors:
        known = ", ".join(config.assignors)
        message = f"ServerAssignor {request.server_assignor} is not supported. Supported assignors: {known}."
        return Refusal(Error.UNSUPPORTED_ASSIGNOR, message)
    return None


def refusal_of_leaving(group: Group, request: ConsumerGroupHeartbeatRequest) -> Refusal | None:
    """Why this member cannot leave. Its epoch and other fields are not checked."""
    if not group.is_known:
        return Refusal(Error.GROUP_ID_NOT_FOUND, f"Group {group.group_id} not found.")
    if group.consumer is None:
        return _other_kind(group)
    if request.instance_id is not None:
        return _refusal_of_static(group.consumer, request.member_id, request.instance_id)
    return _refusal_of_dynamic(group.consumer, request)


def refusal_of_beat(
    group: Group, request: ConsumerGroupHeartbeatRequest, member_id: str, claimed: Claimed | None, turn: Turn
) -> Refusal | None:
    """Why this heartbeat is refused. member_id: the request's, or the one made for it."""
    is_join = request.member_epoch == JOIN
    if not group.is_known and not is_join:
        return Refusal(Error.GROUP_ID_NOT_FOUND, f"Consumer group {group.group_id} not found.")
    if group.is_known and group.consumer is None:
        if group.state is GroupState.DEAD:
            return Refusal(Error.COORDINATOR_NOT_AVAILABLE, "The coordinator has moved away.")
        if not is_join:
            return _other_kind(group)
        why = None if group.state is GroupState.EMPTY else why_no_upgrade(group, turn)
        if why is not None:
            return Refusal(Error.GROUP_ID_NOT_FOUND, why)
    roster = group.roster
    if not has_place(roster, member_id, request.instance_id, turn):
        limit = turn.consumer.max_size
        message = f"The consumer group has reached its maximum capacity of {limit} members."
        return Refusal(Error.GROUP_MAX_SIZE_REACHED, message)
    refusal = _refusal_of_member(group.consumer, roster, request, member_id, claimed)
    if refusal is not None:
        return refusal
    why = why_no_room_to_beat(group, request, member_id, turn.config)
    if why is not None:
        return Refusal(Error.GROUP_MAX_SIZE_REACHED, why)
    why = why_refused(group, member_id, request.subscribed_topic_regex, turn)
    if why is not None:
        message = f"SubscribedTopicRegex `{request.subscribed_topic_regex}` is not a valid regular expression: {why}."
        return Refusal(Error.INVALID_REGULAR_EXPRESSION, message)
    return None


def has_place(roster: Roster, member_id: str, instance_id: str | None, turn: Turn) -> bool:
    """Whether a member may join or stay as far as `group.consumer.max.size` goes."""
    if turn.config.kafka.may_static_member_join_full_group and roster.static_member_id(instance_id) is not None:
        return True
    return len(roster.members) < turn.consumer.max_size or member_id in roster.members


def _other_kind(group: Group) -> Refusal:
    return Refusal(Error.GROUP_ID_NOT_FOUND, f"Group {group.group_id} is not a consumer group.")


def _refusal_of_member(
    consumer: ConsumerGroup | None,
    roster: Roster,
    request: ConsumerGroupHeartbeatRequest,
    member_id: str,
    claimed: Claimed | None,
) -> Refusal | None:
    if request.member_epoch == JOIN:
        return _refusal_of_static_join(consumer, roster, member_id, request.instance_id)
    if consumer is None:
        return None
    if request.instance_id is None:
        refusal = _refusal_of_dynamic(consumer, request)
    else:
        refusal = _refusal_of_static(consumer, member_id, request.instance_id)
    return refusal or _refusal_of_epoch(consumer.members[member_id], request.member_epoch, claimed)


def _refusal_of_static_join(
    consumer: ConsumerGroup | None, roster: Roster, member_id: str, instance_id: str | None
) -> Refusal | None:
    """A live consumer keeps its instance id, even against its own join; one that is absent or classic gives it up."""
    owner_id = roster.static_member_id(instance_id)
    if owner_id is None or consumer is None:
        return None
    owner = consumer.members[owner_id]
    if owner.is_away or owner.classic is not None:
        return None
    message = (
        f"Static member {member_id} with instance id {instance_id} cannot join the group because the instance id is "
        f"owned by {owner_id} member."
    )
    return Refusal(Error.UNRELEASED_INSTANCE_ID, message)


def _refusal_of_dynamic(consumer: ConsumerGroup, request: ConsumerGroupHeartbeatRequest) -> Refusal | None:
    if request.member_id in consumer.members:
        return None
    message = f"Member {request.member_id} is not a member of group {request.group_id}."
    return Refusal(Error.UNKNOWN_MEMBER_ID, message)


def _refusal_of_static(consumer: ConsumerGroup, member_id: str, instance_id: str) -> Refusal | None:
    owner_id = consumer.static_member_id(instance_id)
    if owner_id is None:
        return Refusal(Error.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if owner_id != member_id:
        message = f"Static member {member_id} with instance id {instance_id} was fenced by member {owner_id}."
        return Refusal(Error.FENCED_INSTANCE_ID, message)
    return None


def _refusal_of_epoch(member: ConsumerMember, epoch: int, claimed: Claimed | None) -> Refusal | None:
    """The previous epoch is accepted if the member owns only what it may: it has missed the last answer."""
    if epoch == member.member_epoch:
        return None
    if epoch < member.member_epoch and epoch == member.previous_epoch and _is_within(claimed, member.assigned):
        return None
    size = "greater" if epoch > member.member_epoch else "smaller"
    message = (
        f"The consumer group member has a {size} member epoch ({epoch}) than the one known by the group coordinator "
        f"({member.member_epoch}). The member must abandon all its partitions and rejoin."
    )
    return Refusal(Error.FENCED_MEMBER_EPOCH, message)


def _is_within(claimed: Claimed | None, assigned: Owned) -> bool:
    return claimed is not None and all(
        partitions <= assigned.get(topic, {}).keys() for topic, partitions in claimed.items()
    )
