"""ConsumerGroupHeartbeat (key 68, v0-1): a member joins, says what it wants and owns, gets what it may use, leaves.

v1: the client makes its member id, and may subscribe by a regular expression. Every heartbeat is answered at once.
The hot path of the newer protocol: for a Stable member with nothing new, other members are not looked at.
Source: GroupMetadataManager.consumerGroupHeartbeat, consumerGroupLeave.
"""

from __future__ import annotations

from collections.abc import Sequence

from rollcall.coordinator_udfs.protocol.answers import answer
from rollcall.coordinator_udfs.protocol.consumer import history
from rollcall.coordinator_udfs.protocol.consumer.conversion import begin_consumer_group, upgrade
from rollcall.coordinator_udfs.protocol.consumer.deadlines import is_of_another_session, keep_alive
from rollcall.coordinator_udfs.protocol.consumer.fencing import remove_members
from rollcall.coordinator_udfs.protocol.consumer.group import AWAY_EPOCH, ConsumerGroup, ConsumerMember, Owned
from rollcall.coordinator_udfs.protocol.consumer.lifecycle import learn_topics, update_state
from rollcall.coordinator_udfs.protocol.consumer.membership import MemberFields, apply_fields, enter
from rollcall.coordinator_udfs.protocol.consumer.reconciliation import Claimed
from rollcall.coordinator_udfs.protocol.consumer.refusals import (
    JOIN,
    LEAVE,
    LEAVE_FOR_NOW,
    Refusal,
    refusal_of_beat,
    refusal_of_leaving,
    refusal_of_request,
)
from rollcall.coordinator_udfs.protocol.consumer.regex import maybe_resolve_patterns, take_patterns
from rollcall.coordinator_udfs.protocol.consumer.states import MemberState, MemberTimer
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.history import Gone
from rollcall.coordinator_udfs.protocol.members import unused_uuid_text
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas import makers
from rollcall.schemas.causes import CauseKind, EndCause
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    ConsumerGroupAssignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupTopicPartitions,
)


def consumer_group_heartbeat(group: Group, request: ConsumerGroupHeartbeatRequest, turn: Turn) -> None:
    """Takes a member one step further and answers with its epoch and assignment.

    Errors in the order checked: INVALID_REQUEST, UNSUPPORTED_ASSIGNOR; GROUP_ID_NOT_FOUND (unknown group, one of the
    other kind that cannot be upgraded), GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID, UNRELEASED_INSTANCE_ID or
    FENCED_INSTANCE_ID, FENCED_MEMBER_EPOCH, GROUP_MAX_SIZE_REACHED (no room for its bytes),
    INVALID_REGULAR_EXPRESSION. A refused request changes nothing.
    """
    consumer = group.consumer
    if consumer is not None:
        member = consumer.members.get(request.member_id)
        if member is not None and says_nothing_new(group, consumer, member, request) and consumer.has_seen(turn.topics):
            if is_of_another_session(member, turn):
                turn.emit(makers.member_updated(turn.now_ms, member, history.terms_of(member, turn.consumer)))
            keep_alive(group, member, turn)
            interval_ms = turn.consumer.heartbeat_interval_ms
            epoch = member.member_epoch
            _accept(request, turn, member_id=member.member_id, member_epoch=epoch, heartbeat_interval_ms=interval_ms)
            return
    refusal = refusal_of_request(request, turn.consumer)
    if refusal is not None:
        _refuse(request, refusal, turn)
    elif request.member_epoch in (LEAVE, LEAVE_FOR_NOW):
        _leave(group, request, turn)
    else:
        _beat(group, request, turn)


def says_nothing_new(
    group: Group, consumer: ConsumerGroup, member: ConsumerMember, request: ConsumerGroupHeartbeatRequest
) -> bool:
    """Whether the request only extends the session: member and group are stable, and the topics have not changed."""
    return (
        request.member_epoch == member.member_epoch == consumer.target_epoch == group.generation_id
        and member.state is MemberState.STABLE
        and request.topic_partitions is None
        and request.cluster_topics is None
        and request.resolved_patterns is None
        and request.subscribed_topic_names is None
        and request.subscribed_topic_regex is None
        and request.rebalance_timeout_ms == -1
        and request.server_assignor is None
        and request.rack_id is None
        and (request.instance_id is None or request.instance_id == member.instance_id)
        and member.classic is None
        and request.client_id == member.client_id
        and request.client_host == member.client_host
        and not consumer.patterns_in_use
    )


def owned_by(partitions: Sequence[ConsumerGroupTopicPartitions] | None) -> Claimed | None:
    """What a member owns by its request; None if the request does not list it."""
    if partitions is None:
        return None
    claimed: dict[str, set[int]] = {}
    for topic in partitions:
        claimed.setdefault(topic.topic, set()).update(topic.partitions)
    return claimed


def _beat(group: Group, request: ConsumerGroupHeartbeatRequest, turn: Turn) -> None:
    """A join or a heartbeat: applies its fields; answers with the assignment where that is, or may be, new."""
    claimed = owned_by(request.topic_partitions)
    member_id = request.member_id or unused_uuid_text(group.group_id, request, group.roster.members)
    refusal = refusal_of_beat(group, request, member_id, claimed, turn)
    if refusal is not None:
        return _refuse(request, refusal, turn)
    consumer = group.consumer
    if request.cluster_topics is not None and consumer is None:
        turn.topics = request.cluster_topics
    unfinished = None
    if consumer is None and group.is_known and group.state is not GroupState.EMPTY:
        # A recorded broker may have left it unfinished; its answers show it.
        if group.rebalance is not None and not turn.config.is_of_a_recording:
            unfinished = group.rebalance.cause
        upgraded = upgrade(group, request.client_id, turn)
        if isinstance(upgraded, str):
            return _refuse(request, Refusal(Error.GROUP_ID_NOT_FOUND, upgraded), turn)
        consumer = upgraded
    elif consumer is None:
        consumer = begin_consumer_group(group, request.client_id, turn)
    _apply_cluster(group, consumer, request, turn)
    is_new = member_id not in consumer.members and consumer.static_member_id(request.instance_id) is None
    member, replaces = enter(group, consumer, member_id, request.instance_id, turn)
    assigned_before = member.assigned
    given = _fields(request, claimed)
    is_due = apply_fields(group, consumer, member, given, turn, is_new=is_new, replaces=replaces, unfinished=unfinished)
    update_state(group, consumer, turn)
    has_subscription = request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
    # As after an answer that was lost.
    is_full = request.rebalance_timeout_ms != -1 and has_subscription and request.topic_partitions is not None
    is_given = request.member_epoch == JOIN or is_full or member.assigned != assigned_before
    _accept(
        request,
        turn,
        member_id=member_id,
        member_epoch=member.member_epoch,
        heartbeat_interval_ms=turn.consumer.heartbeat_interval_ms,
        assigned=member.assigned if is_given else None,
    )
    if is_due:
        maybe_resolve_patterns(group, consumer, turn)
    return None


def _apply_cluster(group: Group, consumer: ConsumerGroup, request: ConsumerGroupHeartbeatRequest, turn: Turn) -> None:
    """Takes over what the request carries of the cluster: the topics, and what regular expressions match."""
    if request.cluster_topics is not None:
        consumer.learn_cluster(request.cluster_topics, request.topic_ids or {})
        learn_topics(consumer, turn)
    if request.resolved_patterns is not None:
        take_patterns(group, consumer, {p: tuple(topics) for p, topics in request.resolved_patterns.items()}, turn)


def _fields(request: ConsumerGroupHeartbeatRequest, claimed: Claimed | None) -> MemberFields:
    return MemberFields(
        client_id=request.client_id,
        client_host=request.client_host,
        instance_id=request.instance_id,
        rack_id=request.rack_id,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        topics=request.subscribed_topic_names,
        pattern=request.subscribed_topic_regex,
        server_assignor=request.server_assignor,
        classic=None,
        owned=claimed,
        inferred_cause=request.inferred_cause,
    )


def _leave(group: Group, request: ConsumerGroupHeartbeatRequest, turn: Turn) -> None:
    """-1 removes the member, -2 marks a static one as away. The answer carries no heartbeat interval."""
    refusal = refusal_of_leaving(group, request)
    if refusal is not None:
        return _refuse(request, refusal, turn)
    consumer = group.consumer
    assert consumer is not None
    member = consumer.members[request.member_id]
    if request.member_epoch == LEAVE_FOR_NOW:
        _go_away(group, consumer, member, turn)
    else:
        kind = CauseKind(request.inferred_cause or CauseKind.MEMBER_LEFT)
        cause = makers.cause_by(kind, member)
        cause.is_inferred = request.inferred_cause is not None
        # That it left its request says; of what else it left, and at which epoch, a recording may only infer.
        gone = Gone(member, EndCause(kind.value), is_inferred=cause.is_inferred and kind is not CauseKind.MEMBER_LEFT)
        remove_members(group, consumer, [gone], cause, turn)
    return _accept(request, turn, member_id=request.member_id, member_epoch=request.member_epoch)


def _go_away(group: Group, consumer: ConsumerGroup, member: ConsumerMember, turn: Turn) -> None:
    """A static member leaves and means to return: it keeps what it may use, and its session runs on.

    What it was giving up is free at once, and commits with its old epochs are refused.
    """
    owned_before = member.owned()
    kept = {topic: dict.fromkeys(partitions, 0) for topic, partitions in member.assigned.items()}
    consumer.own(member, kept, {})
    member.member_epoch = AWAY_EPOCH
    member.timers.pop(MemberTimer.REBALANCE, None)
    turn.emit(makers.member_left_for_now(turn.now_ms, member))
    if member.owned() != owned_before:
        history.note_assigned(member, turn)
    update_state(group, consumer, turn)


def _refuse(request: ConsumerGroupHeartbeatRequest, refusal: Refusal, turn: Turn) -> None:
    """An error: no member id, no epoch."""
    response = ConsumerGroupHeartbeatResponse(error_code=refusal.error, error_message=refusal.message)
    answer(request, "ConsumerGroupHeartbeat", refusal.error, response, turn, request.member_id, request.member_epoch)


def _accept(
    request: ConsumerGroupHeartbeatRequest,
    turn: Turn,
    *,
    member_id: str,
    member_epoch: int,
    heartbeat_interval_ms: int = 0,
    assigned: Owned | None = None,
) -> None:
    """A member's epoch and assignment; assigned: what it may use, None if it knows that already."""
    assignment = None
    if assigned is not None:
        lists = [ConsumerGroupTopicPartitions(topic_name=t, partitions=sorted(assigned[t])) for t in sorted(assigned)]
        assignment = ConsumerGroupAssignment(topic_partitions=lists)
    response = ConsumerGroupHeartbeatResponse(
        member_id=member_id,
        member_epoch=member_epoch,
        heartbeat_interval_ms=heartbeat_interval_ms,
        assignment=assignment,
    )
    answer(request, "ConsumerGroupHeartbeat", Error.NONE, response, turn, member_id, member_epoch)
