"""JoinGroup (key 11) to a consumer group: a client of the classic protocol becomes, or stays, a member among consumers.

It is never parked: the generation is the member's epoch, there is no leader, and nobody gets the others' metadata. What
the subscription does not list as owned has been given up. Source: GroupMetadataManager's
classicGroupJoinToConsumerGroup.
"""

from __future__ import annotations

from rollcall.coordinator_udfs.protocol.answers import refuse_join, send_join
from rollcall.coordinator_udfs.protocol.claims import CONSUMER
from rollcall.coordinator_udfs.protocol.config import MigrationPolicy
from rollcall.coordinator_udfs.protocol.consumer.conversion import begin_classic_group, downgrade, may_downgrade
from rollcall.coordinator_udfs.protocol.consumer.deadlines import arm
from rollcall.coordinator_udfs.protocol.consumer.group import ClassicMember, ConsumerGroup
from rollcall.coordinator_udfs.protocol.consumer.lifecycle import update_state
from rollcall.coordinator_udfs.protocol.consumer.membership import MemberFields, apply_fields, enter
from rollcall.coordinator_udfs.protocol.consumer.refusals import has_place
from rollcall.coordinator_udfs.protocol.consumer.regex import maybe_resolve_patterns
from rollcall.coordinator_udfs.protocol.consumer.states import MemberTimer
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.group_room import why_no_room_to_join
from rollcall.coordinator_udfs.protocol.join_group import is_first_join, join_group
from rollcall.coordinator_udfs.protocol.members import unused_uuid_text
from rollcall.coordinator_udfs.protocol.membership import protocols_of, rebalance_timeout_of, refusal_of_member
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas import makers
from rollcall.schemas.causes import CauseKind
from rollcall.schemas.consumer_protocol import Subscription, decode_subscription
from rollcall.schemas.errors import Error
from rollcall.schemas.layout import LayoutError
from rollcall.schemas.messages import JoinGroupRequest, JoinGroupResponse


def join_consumer_group(group: Group, request: JoinGroupRequest, turn: Turn) -> None:
    """Adds a classic client, or takes a classic member one step further; an Empty consumer group becomes a classic one
    for it.

    Errors in the order checked: INVALID_SESSION_TIMEOUT, UNKNOWN_MEMBER_ID (an id for an Empty group),
    INCONSISTENT_GROUP_PROTOCOL (the migration policy is disabled), GROUP_MAX_SIZE_REACHED, INCONSISTENT_GROUP_PROTOCOL
    (another type, no protocol in common with the other classic members), UNKNOWN_SERVER_ERROR (its subscription cannot
    be read), MEMBER_ID_REQUIRED, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID. A dynamic member may bring any id.
    """
    consumer, config = group.consumer, turn.config
    assert consumer is not None
    if not config.group_min_session_timeout_ms <= request.session_timeout_ms <= config.group_max_session_timeout_ms:
        return refuse_join(request, Error.INVALID_SESSION_TIMEOUT, turn, member_id=request.member_id)
    if not consumer.members and request.member_id:
        return refuse_join(request, Error.UNKNOWN_MEMBER_ID, turn, member_id=request.member_id)
    if not consumer.members:
        begin_classic_group(group, request.client_id, turn)
        return join_group(group, request, turn)
    error = _refusal(group, consumer, request, turn)
    if error is not None:
        return refuse_join(request, error, turn, member_id="")
    subscription = _subscription(request)
    if subscription is None:
        return refuse_join(request, turn.config.kafka.of_unreadable_subscription, turn, member_id="")
    if is_first_join(request):
        member_id = _new_member_id(group, consumer, request)
        return refuse_join(request, Error.MEMBER_ID_REQUIRED, turn, member_id=member_id)
    if request.member_id and request.group_instance_id is not None:
        error = refusal_of_member(consumer, request.member_id, request.group_instance_id)
        if error is not None:
            return refuse_join(request, error, turn, member_id="")
    return _join(group, consumer, request, subscription, turn)


def _new_member_id(group: Group, consumer: ConsumerGroup, request: JoinGroupRequest) -> str:
    return request.recorded_member_id or unused_uuid_text(group.group_id, request, consumer.members)


def _refusal(group: Group, consumer: ConsumerGroup, request: JoinGroupRequest, turn: Turn) -> Error | None:
    config = turn.consumer
    if config.migration_policy is MigrationPolicy.DISABLED:
        return Error.INCONSISTENT_GROUP_PROTOCOL
    if not has_place(consumer, request.member_id, request.group_instance_id, turn):
        return Error.GROUP_MAX_SIZE_REACHED
    if why_no_room_to_join(group, request, turn.config) is not None:
        return Error.GROUP_MAX_SIZE_REACHED
    if request.protocol_type != CONSUMER or not request.protocols:
        return Error.INCONSISTENT_GROUP_PROTOCOL
    named = [member.classic.protocols.keys() for member in consumer.members.values() if member.classic is not None]
    if not any(all(protocol.name in names for names in named) for protocol in request.protocols):
        return Error.INCONSISTENT_GROUP_PROTOCOL
    return None


def _subscription(request: JoinGroupRequest) -> Subscription | None:
    try:
        return decode_subscription(request.protocols[0].metadata)
    except LayoutError:
        return None


def _join(
    group: Group, consumer: ConsumerGroup, request: JoinGroupRequest, subscription: Subscription, turn: Turn
) -> None:
    member_id = request.member_id or _new_member_id(group, consumer, request)
    is_new = member_id not in consumer.members and consumer.static_member_id(request.group_instance_id) is None
    member, replaces = enter(group, consumer, member_id, request.group_instance_id, turn)
    given = _fields(request, subscription)
    is_due = apply_fields(group, consumer, member, given, turn, is_new=is_new, replaces=replaces)
    update_state(group, consumer, turn)
    assert member.classic is not None
    response = JoinGroupResponse(
        generation_id=member.member_epoch,
        protocol_type=CONSUMER,
        protocol_name=member.classic.protocol_name,
        member_id=member_id,
    )
    send_join(request, request.client_id, response, turn)
    if replaces is not None and replaces.classic is None and may_downgrade(consumer, set(), turn):
        is_at_target = consumer.target_epoch == group.generation_id
        cause = makers.cause_by(CauseKind.STATIC_MEMBER_REPLACED, member, request.reason)
        return downgrade(group, consumer, cause, [], turn, is_at_target=is_at_target)
    member.timers.pop(MemberTimer.JOIN, None)
    arm(group, member, MemberTimer.SYNC, rebalance_timeout_of(request), turn)
    if is_due:
        maybe_resolve_patterns(group, consumer, turn)
    return None


def _fields(request: JoinGroupRequest, subscription: Subscription) -> MemberFields:
    owned: dict[str, set[int]] = {}
    for topic, partition in subscription.owned_partitions:
        owned.setdefault(topic, set()).add(partition)
    return MemberFields(
        client_id=request.client_id,
        client_host=request.client_host,
        instance_id=request.group_instance_id,
        rack_id=subscription.rack_id,
        rebalance_timeout_ms=rebalance_timeout_of(request),
        topics=list(subscription.topics),
        pattern="",
        server_assignor=None,
        classic=ClassicMember(request.session_timeout_ms, protocols_of(request)),
        owned=owned,
        inferred_cause=request.inferred_cause,
    )
