"""ConsumerGroupDescribe (key 69, v0-1): a consumer group's epochs and members as an administrator sees them.

v1 has each member's type, classic or consumer (KIP-1099). Source: GroupMetadataManager.consumerGroupDescribe,
ConsumerGroupMember.asConsumerGroupDescribeMember.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rollcall.coordinator_udfs.protocol.administration import ALL_GROUP_OPERATIONS
from rollcall.coordinator_udfs.protocol.answers import answer
from rollcall.coordinator_udfs.protocol.config import INT32_MAX
from rollcall.coordinator_udfs.protocol.consumer.group import ConsumerGroup, ConsumerMember
from rollcall.coordinator_udfs.protocol.consumer.target import preferred_assignor
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedAssignment,
    DescribedConsumerGroup,
    DescribedConsumerGroupMember,
    DescribedTopicPartitions,
)

_TOPIC_BYTES, _PARTITION_BYTES = 50, 7

CLASSIC_MEMBER, CONSUMER_MEMBER = 0, 1


def consumer_group_describe(group: Group, request: ConsumerGroupDescribeRequest, turn: Turn) -> None:
    """Describes one group. Partitions that a member must give up count as its own until then; deleted topics are left
    out.

    Errors in the order checked: INVALID_GROUP_ID (the empty one), GROUP_ID_NOT_FOUND (unknown, or a classic group);
    UNKNOWN_SERVER_ERROR if the description would be longer than what members may take.
    """
    described = _describe(group, turn)
    if request.include_authorized_operations and described.error_code is Error.NONE:
        described.authorized_operations = ALL_GROUP_OPERATIONS
    response = ConsumerGroupDescribeResponse(groups=[described])
    answer(request, "ConsumerGroupDescribe", described.error_code, response, turn)


def _describe(group: Group, turn: Turn) -> DescribedConsumerGroup:
    if not group.group_id:
        return _refused(group, Error.INVALID_GROUP_ID, None)
    if not group.is_known:
        return _refused(group, Error.GROUP_ID_NOT_FOUND, f"Group {group.group_id} not found.")
    consumer = group.consumer
    if consumer is None:
        return _refused(group, Error.GROUP_ID_NOT_FOUND, f"Group {group.group_id} is not a consumer group.")
    most = turn.config.members_max_bytes
    size = _size(consumer) if most < INT32_MAX else 0
    if size > most:
        message = f"The group's description would take {size} bytes, at most {most} are given."
        return _refused(group, Error.UNKNOWN_SERVER_ERROR, message)
    topics = turn.topics or {}
    return DescribedConsumerGroup(
        group_id=group.group_id,
        group_state=consumer.state,
        group_epoch=group.generation_id,
        assignment_epoch=consumer.target_epoch,
        assignor_name=preferred_assignor(consumer, turn.consumer),
        members=[_member(member, topics) for member in consumer.members.values()],
    )


def _refused(group: Group, error: Error, message: str | None) -> DescribedConsumerGroup:
    return DescribedConsumerGroup(group_id=group.group_id, error_code=error, error_message=message)


def _size(consumer: ConsumerGroup) -> int:
    """About how many bytes the description takes: members' fields, and by topic what they own and are to own."""
    return consumer.held_bytes + sum(
        2 * len(topic) + _TOPIC_BYTES + _PARTITION_BYTES * len(partitions)
        for member in consumer.members.values()
        for each in (member.assigned, member.pending_revocation, member.target or {})
        for topic, partitions in each.items()
    )


def _member(member: ConsumerMember, topics: Mapping[str, int]) -> DescribedConsumerGroupMember:
    return DescribedConsumerGroupMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.topics),
        subscribed_topic_regex=member.pattern,
        assignment=_assignment(member.owned(), topics),
        target_assignment=_assignment(member.target or {}, topics),
        member_type=CONSUMER_MEMBER if member.classic is None else CLASSIC_MEMBER,
    )


def _assignment(partitions: Mapping[str, Sequence[int]], topics: Mapping[str, int]) -> DescribedAssignment:
    return DescribedAssignment(
        topic_partitions=[
            DescribedTopicPartitions(topic_name=topic, partitions=list(partitions[topic]))
            for topic in sorted(partitions)
            if topic in topics
        ]
    )
