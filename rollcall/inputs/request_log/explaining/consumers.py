"""What an answer proves about a consumer group, if no line explains it: the group is older than the log, or lines are
lost.

Knows what heartbeats and commits of its members prove; tries nothing and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rollcall.coordinator_udfs.protocol.claims import CONSUMER, owned, topics_of
from rollcall.coordinator_udfs.protocol.consumer.refusals import JOIN
from rollcall.inputs.request_log.explaining.context import ACCEPTED, Context, Explanation, gone_member, sender_of
from rollcall.inputs.request_log.lines.line import is_classic_member_id
from rollcall.inputs.request_log.recorded import LoggedRequest
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    GroupObservedRequest,
    GroupRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    ObservedConsumer,
    OffsetCommitRequest,
    SyncGroupRequest,
    SyncGroupResponse,
)

ClassicRequest = HeartbeatRequest | JoinGroupRequest | SyncGroupRequest

NOT_EXPLAINED = "a consumer group is elsewhere than its lines tell"
_GONE = (Error.UNKNOWN_MEMBER_ID, Error.FENCED_MEMBER_EPOCH)


def is_of_consumer_group(context: Context, request: OffsetCommitRequest) -> bool:
    """Whether a member of a consumer group commits."""
    is_member = bool(request.member_id) and request.generation_id_or_member_epoch >= 0
    return is_member and (context.group.consumer is not None or not is_classic_member_id(request.member_id))


def explain_consumer(context: Context, request: ConsumerGroupHeartbeatRequest) -> Iterator[Explanation]:
    """Explains a heartbeat's answer: its sender is a member at that epoch, or it is unknown."""
    consumer, recorded = context.group.consumer, context.entry.recorded
    member = None if consumer is None else consumer.members.get(request.member_id)
    if recorded.error in _GONE and member is not None:
        yield [_seen_gone(context, request.member_id)]
    if recorded.error is Error.GROUP_ID_NOT_FOUND and consumer is not None:
        yield [_seen_gone(context, *(one.member_id for one in consumer.members.values() if one.classic is None))]
    is_leaving = request.member_epoch < JOIN
    if recorded.error is not Error.NONE or (is_leaving and member is None):
        return
    response = recorded.response
    assert isinstance(response, ConsumerGroupHeartbeatResponse)
    # Who leaves does not say its epoch; a static member of an older group often says only then that it is static.
    left_epoch = member.member_epoch if is_leaving and member is not None else None
    assignment = response.assignment
    seen = _member_of(
        request,
        member_id=response.member_id or request.member_id,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        topics=request.subscribed_topic_names,
        pattern=request.subscribed_topic_regex,
        member_epoch=request.member_epoch if left_epoch is None else left_epoch,
        answered_epoch=response.member_epoch if left_epoch is None else left_epoch,
        answered_partitions=None
        if assignment is None
        else {each.topic: each.partitions for each in assignment.topic_partitions},
    )
    yield [context.seen(NOT_EXPLAINED, consumer=seen)]


def _seen_gone(context: Context, *member_ids: str) -> GroupObservedRequest:
    """Of the newer protocol; once they all left, the group belongs to its classic members again."""
    gone = [gone_member(member_id, is_expiry=False) for member_id in member_ids]
    return context.seen("a member of a consumer group is answered that it is none", gone=gone)


def explain_classic_member(context: Context, request: ClassicRequest) -> Iterator[Explanation]:
    """Explains what a classic member of a consumer group was answered: it is unknown, it is at the epoch that it names
    or is answered, or a higher epoch awaits it.
    """
    consumer, recorded = context.group.consumer, context.entry.recorded
    member = None if consumer is None else consumer.members.get(request.member_id)
    if member is None and isinstance(request, JoinGroupRequest):
        yield from explain_unseen(context, request)
    if member is None or member.classic is None:
        return
    if recorded.error is Error.UNKNOWN_MEMBER_ID:
        yield [context.seen_gone("a member is answered UNKNOWN_MEMBER_ID", member.member_id)]
    if recorded.error not in ACCEPTED:
        return
    if isinstance(request, JoinGroupRequest):
        epoch, answered_epoch = member.member_epoch, context.entry.joined_generation_id
    else:
        epoch = answered_epoch = request.generation_id
    is_asked = recorded.error is Error.REBALANCE_IN_PROGRESS
    if is_asked:
        # It is also asked where others have freed what it waits for. Its next JoinGroup shows which it is.
        joins = (each.joined_generation_id for each in context.upcoming if each.member_id == member.member_id)
        answered_epoch = next((joined for joined in joins if joined >= epoch), epoch + 1)
    seen = _member_of(
        request,
        member_epoch=epoch,
        answered_epoch=answered_epoch,
        answered_partitions=_partitions_synced(context.entry),
        is_to_rejoin=is_asked and answered_epoch == epoch,
    )
    yield [context.seen(NOT_EXPLAINED, consumer=seen)]


def _member_of(request: GroupRequest, **facts: object) -> ObservedConsumer:
    """The sender of a request as a member."""
    sender = sender_of(request)
    known: dict[str, Any] = {
        "member_id": sender.member_id,
        "instance_id": getattr(request, "instance_id", sender.group_instance_id),
        "client_id": sender.client_id,
        "client_host": sender.client_host,
    }
    return ObservedConsumer(**known | facts)


def _partitions_synced(entry: LoggedRequest) -> dict[str, list[int]] | None:
    """By topic, the partitions that a SyncGroup's answer gives; None: it is none, was refused, or cannot be read."""
    response = entry.recorded.response
    if not isinstance(response, SyncGroupResponse) or entry.recorded.error is not Error.NONE:
        return None
    partitions = owned(CONSUMER, b"", response.assignment)
    return None if partitions is None else {each.topic: each.partitions for each in partitions}


def explain_unseen(context: Context, request: JoinGroupRequest) -> Iterator[Explanation]:
    """A JoinGroup that raised no epoch is of a member, which no line shows joining. Its answer names no leader, as that
    of a classic group does.
    """
    group, response = context.group, context.entry.recorded.response
    if context.entry.recorded.error is not Error.NONE or not request.member_id:
        return
    assert isinstance(response, JoinGroupResponse)
    if response.leader or (group.consumer is not None and response.generation_id > group.generation_id):
        return
    seen = _member_of(
        request,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        topics=topics_of(CONSUMER, request.protocols[0].metadata) if request.protocols else None,
        member_epoch=response.generation_id,
        answered_epoch=response.generation_id,
        protocols=request.protocols,
        session_timeout_ms=request.session_timeout_ms,
    )
    yield [context.seen("a member nobody saw join", consumer=seen)]


def explain_commit_of_consumer(context: Context, request: OffsetCommitRequest) -> Iterator[Explanation]:
    """Explains a commit's answer: its sender is a member at this epoch, or it is unknown."""
    consumer, error = context.group.consumer, context.entry.recorded.error
    if error is Error.UNKNOWN_MEMBER_ID and consumer is not None and request.member_id in consumer.members:
        yield [_seen_gone(context, request.member_id)]
    if error is not Error.NONE:
        return
    epoch = request.generation_id_or_member_epoch
    seen = _member_of(request, member_epoch=epoch, answered_epoch=epoch)
    yield [context.seen(NOT_EXPLAINED, consumer=seen)]
