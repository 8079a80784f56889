"""What no line shows and the recorded answers prove: each explanation as requests that bring the group to it. A log
begins with groups that exist already. A coordinator moves. A client dies while its JoinGroup is parked, which then has
no line. A session ends whose length was never seen. The answers to others show that it happened. The nearest
explanation comes first; the first one after which the recorded answer fits is used. Knows what an answer proves of a
group; tries nothing and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from rollcall.coordinator_udfs.protocol.leave_group import MEMBERS_SINCE
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.inputs.request_log.explaining.consumers import (
    explain_classic_member,
    explain_commit_of_consumer,
    explain_consumer,
    explain_unseen,
    is_of_consumer_group,
)
from rollcall.inputs.request_log.explaining.context import (
    ACCEPTED,
    Context,
    Explanation,
    generation_named,
    sender_of,
    unseen_id,
)
from rollcall.inputs.request_log.explaining.joins import explain_join, under_way
from rollcall.inputs.request_log.explaining.rebalances import explain_assignment, explain_rebalance
from rollcall.schemas.errors import Error
from rollcall.schemas.fan_out import names_many_groups
from rollcall.schemas.messages import (
    ConsumerGroupHeartbeatRequest,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    HeartbeatRequest,
    JoinGroupProtocol,
    JoinGroupRequest,
    LeaveGroupRequest,
    ObservedMember,
    ObservedOffset,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SyncGroupRequest,
)


def explain(context: Context) -> Iterator[Explanation]:
    """What may have happened without a line before a request, so that it was answered as recorded."""
    request, error = context.entry.request, context.entry.recorded.error
    match request:
        case HeartbeatRequest() | JoinGroupRequest() | SyncGroupRequest() if context.group.consumer is not None:
            yield from explain_classic_member(context, request)
        case HeartbeatRequest() | SyncGroupRequest():
            yield from _explain_member(context, request.member_id, request.generation_id)
        case OffsetCommitRequest() if is_of_consumer_group(context, request):
            yield from explain_commit_of_consumer(context, request)
        case OffsetCommitRequest() if request.generation_id_or_member_epoch >= 0:
            yield from _explain_member(context, request.member_id, request.generation_id_or_member_epoch)
        case OffsetCommitRequest() if error is Error.NONE:
            yield [context.seen("a consumer outside the group commits", is_complete=True, state=GroupState.EMPTY.value)]
        case JoinGroupRequest():
            yield from explain_unseen(context, request)
            yield from explain_join(context, request)
        case LeaveGroupRequest():
            yield from _explain_leave(context, request)
        case OffsetFetchRequest():
            yield from _explain_offsets(context, request)
        case DescribeGroupsRequest():
            yield from _explain_description(context)
        case ConsumerGroupHeartbeatRequest():
            yield from explain_consumer(context, request)
        case _:
            return


def _explain_member(context: Context, member_id: str, generation_id: int) -> Iterator[Explanation]:
    """A heartbeat, commit or sync: its sender is a member or is not, or a rebalance has begun or ended."""
    group, error = context.group, context.entry.recorded.error
    if error is Error.UNKNOWN_MEMBER_ID and not group.is_known:
        yield [context.seen("a group that had generations before it was seen")]
    if error is Error.UNKNOWN_MEMBER_ID and member_id in group.members:
        yield [context.seen_gone("a member is answered UNKNOWN_MEMBER_ID", member_id)]
    if error is Error.FENCED_INSTANCE_ID:
        yield from _explain_fenced(context, member_id)
    if error not in ACCEPTED:
        return
    if member_id in group.members and generation_id == group.generation_id:
        if error is Error.REBALANCE_IN_PROGRESS:
            yield from explain_rebalance(context)
        elif group.state is GroupState.COMPLETING_REBALANCE:
            yield from explain_assignment(context)
    members = context.members_of(generation_id)
    if generation_id == group.generation_id and group.members:
        yield [context.seen("a member nobody saw join", members=members, **context.types)]
    state = GroupState.STABLE
    synced = [each for each in context.later if each.synced_generation_id == generation_id]
    if any(getattr(each.request, "assignments", None) for each in synced):
        state = GroupState.COMPLETING_REBALANCE
    for seen_state in (state, GroupState.STABLE):
        formed = context.seen(
            "a group formed before it was seen",
            is_complete=True,
            generation_id=generation_id,
            state=seen_state.value,
            members=members,
            **context.types,
        )
        yield [formed]
        if error is Error.REBALANCE_IN_PROGRESS:
            yield [formed, under_way(context)]


def _explain_fenced(context: Context, member_id: str) -> Iterator[Explanation]:
    """The instance id belongs to another member, which is seen later or never."""
    group_instance_id = getattr(context.entry.request, "group_instance_id", None)
    if group_instance_id is None:
        return
    holder = ObservedMember(member_id=unseen_id(group_instance_id), group_instance_id=group_instance_id)
    generation_id = None
    for entry in context.upcoming:
        request = entry.request
        if getattr(request, "group_instance_id", None) != group_instance_id or entry.recorded.error not in ACCEPTED:
            continue
        if generation_named(request) is not None and entry.member_id != member_id:
            holder, generation_id = sender_of(request), generation_named(request)
            break
    if context.group.members:
        yield [context.seen("an instance id that another one took", members=[holder])]
    stable = {"state": GroupState.STABLE.value, "generation_id": generation_id, **context.types}
    yield [context.seen("an instance id that another one took", members=[holder], **stable)]


def _explain_leave(context: Context, request: LeaveGroupRequest) -> Iterator[Explanation]:
    group = context.group
    leavers = [(member.member_id, member.group_instance_id) for member in request.members]
    if request.api_version < MEMBERS_SINCE:
        leavers = [(request.member_id, None)]
    if context.entry.recorded.error is Error.UNKNOWN_MEMBER_ID or group.members:
        gone = [member_id for member_id, _ in leavers if member_id in group.members]
        if gone:
            yield [context.seen_gone("a member is answered UNKNOWN_MEMBER_ID", *gone)]
    members = [sender_of(request, one or unseen_id(instance_id or ""), instance_id) for one, instance_id in leavers]
    yield [context.seen("a member nobody saw join", members=members)]
    state = None if group.members else GroupState.STABLE.value
    yield [context.seen("a member nobody saw join", members=members, state=state)]


def _explain_offsets(context: Context, request: OffsetFetchRequest) -> Iterator[Explanation]:
    """Offsets that were committed before the log, or in a transaction, or by a newer protocol's member."""
    response = context.entry.recorded.response
    assert isinstance(response, OffsetFetchResponse)
    if names_many_groups(request):
        topics, asked = response.groups[0].topics, request.groups[0].topics
    else:
        topics, asked = response.topics, request.topics
    names = {topic.topic_id: topic.name for topic in asked or () if topic.topic_id}
    offsets = [
        ObservedOffset(
            topic=names.get(topic.topic_id) or topic.name or topic.topic_id,
            partition=partition.partition_index,
            committed_offset=partition.committed_offset,
            leader_epoch=partition.committed_leader_epoch,
            metadata=partition.metadata or "",
        )
        for topic in topics
        for partition in topic.partitions
        if partition.error_code is Error.NONE
    ]
    known = context.group.offsets
    new = [o for o in offsets if o.committed_offset >= 0 or (o.topic, o.partition) in known]
    yield [context.seen("offsets whose commit left no line", offsets=new)]
    shown = {(offset.topic, offset.partition) for offset in offsets}
    lost = [
        ObservedOffset(topic=topic, partition=partition, committed_offset=-1)
        for topic, partition in known
        if (topic, partition) not in shown
    ]
    yield [context.seen("offsets that are gone", offsets=[*new, *lost])]


def _explain_description(context: Context) -> Iterator[Explanation]:
    """A group as DescribeGroups showed it."""
    response = context.entry.recorded.response
    assert isinstance(response, DescribeGroupsResponse)
    described = response.groups[0]
    if described.group_state not in set(GroupState) - {GroupState.DEAD}:
        return
    name = described.protocol_data or context.group.protocol_name
    said = {member.member_id for member in context.group.members.values() if member.has_known_timeouts}
    members = [
        ObservedMember(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            protocols=[JoinGroupProtocol(name=name, metadata=member.member_metadata)]
            if name and member.member_metadata and member.member_id not in said
            else None,
            assignment=member.member_assignment,
        )
        for member in described.members
    ]
    why = "a group that an administrator was shown"
    types = {"protocol_type": described.protocol_type or None, "protocol_name": described.protocol_data or None}
    yield [context.seen(why, members=members, **types)]
    yield [context.seen(why, members=members, is_complete=True, state=described.group_state, **types)]
