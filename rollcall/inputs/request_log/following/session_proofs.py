"""What recorded answers prove about ends of sessions and about epochs. Knows requests and their answers."""

from __future__ import annotations

from collections.abc import Iterable

from rollcall.coordinator_udfs.protocol.consumer.refusals import JOIN, LEAVE
from rollcall.coordinator_udfs.protocol.deadlines import Due
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.inputs.request_log.explaining.context import member_id_of
from rollcall.inputs.request_log.following.group_model import GroupModel
from rollcall.inputs.request_log.lines.line import is_classic_member_id
from rollcall.inputs.request_log.recorded import LoggedRequest
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    ConsumerGroupHeartbeatRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
)

OF_MEMBERS = (Error.NONE, Error.REBALANCE_IN_PROGRESS, Error.ILLEGAL_GENERATION)
"""The answers that only a member gets."""
FIRES_LATE_MS = 250
"""A broker may notice the end of a session this much later."""


def prove(model: GroupModel, later: Iterable[LoggedRequest], due: Due) -> bool | None:
    """Whether a session that is over by our clock has ended: True if an answer shows that, False if one shows that it
    goes on, None if nothing at hand shows either.
    """
    group = model.group
    risen = group.generation_id
    for each in later:
        request = each.request
        if each.was_refused or member_id_of(request) == due.member_id:
            continue
        is_later = each.began_ms > due.deadline_ms + FIRES_LATE_MS
        match request:
            case JoinGroupRequest() if each.recorded.error is Error.NONE:
                response = each.recorded.response
                assert isinstance(response, JoinGroupResponse)
                if response.generation_id > group.generation_id and response.members:
                    return due.member_id not in {member.member_id for member in response.members}
            case HeartbeatRequest() if group.consumer is None and request.generation_id == group.generation_id:
                if each.recorded.error is Error.REBALANCE_IN_PROGRESS:
                    return True
                if is_later and each.recorded.error is Error.NONE and group.state is GroupState.STABLE:
                    return False
            case ConsumerGroupHeartbeatRequest() if (answered_epoch := answered_epoch_of(each)) >= 0:
                if answered_epoch > risen:
                    return True
                if (
                    is_later
                    and answered_epoch == risen
                    and (request.member_epoch == risen or _is_newcomer(group, request))
                ):
                    return False
        risen += _epochs_brought(each, risen)
    return None


def _is_newcomer(group: Group, request: ConsumerGroupHeartbeatRequest) -> bool:
    """Whether it is a join that surely raises the epoch, by one: of no member, and in no static member's place."""
    consumer = group.consumer
    if consumer is None or request.member_epoch != JOIN:
        return False
    return request.member_id not in consumer.members and consumer.static_member_id(request.instance_id) is None


def _epochs_brought(entry: LoggedRequest, risen: int) -> int:
    """How many epochs of a consumer group a request brought itself, which prove no session's end."""
    match entry.request:
        case _ if entry.recorded.error is not Error.NONE:
            return 0
        case ConsumerGroupHeartbeatRequest(member_epoch=epoch):
            return int(epoch == LEAVE or (epoch == JOIN and answered_epoch_of(entry) == risen))
        case LeaveGroupRequest(members=members):
            return max(1, len(members))
        case _:
            return 0


def is_epoch_reached(model: GroupModel, entry: LoggedRequest) -> bool:
    """Whether a consumer group is not at a lower epoch than the model's before a request that raises it: that epoch is
    recorded, or a member has reached it, or the answer shows it.
    """
    group, consumer = model.group, model.group.consumer
    assert consumer is not None
    is_concluded = group.rebalance is not None and group.rebalance.cause.is_inferred
    is_reached = any(each.member_epoch == group.generation_id for each in consumer.members.values())
    return not is_concluded or is_reached or answered_epoch_of(entry) == group.generation_id


def are_epochs_brought(model: GroupModel, upcoming: Iterable[LoggedRequest], entry: LoggedRequest) -> bool:
    """Whether lines bring all epochs that the next answer shows, of a request that raises a consumer group's epoch and
    of those after it.
    """
    group, consumer = model.group, model.group.consumer
    assert consumer is not None
    highest = group.generation_id + 1
    for each in upcoming:
        request = each.request
        if each is entry or each.was_refused or each.recorded.error is not Error.NONE:
            continue
        match request:
            case ConsumerGroupHeartbeatRequest(member_epoch=epoch) if epoch <= JOIN:
                highest += 1
            case ConsumerGroupHeartbeatRequest() if (shown := answered_epoch_of(each)) > group.generation_id:
                return shown <= highest
            case JoinGroupRequest(member_id=member_id) if member_id not in consumer.members:
                highest += 1
            case LeaveGroupRequest(members=members):
                highest += max(1, len(members))
            case _:
                pass
    return True


def may_have_gone_before(model: GroupModel, due: Due) -> bool:
    """Whether a session that is over by our clock may have ended before: its member sent nothing since the epoch rose,
    in a group older than its log.
    """
    consumer, rebalance = model.group.consumer, model.group.rebalance
    member = None if consumer is None else consumer.members.get(due.member_id)
    if member is None or rebalance is None:
        return False
    return member.last_seen_at_ms < rebalance.started_at_ms and model.is_older_than_log


def answered_epoch_of(entry: LoggedRequest) -> int:
    """The group's epoch that a heartbeat's answer shows, without the one that its join brought; -1: it shows none."""
    request = entry.request
    if not isinstance(request, ConsumerGroupHeartbeatRequest) or entry.recorded.error is not Error.NONE:
        return -1
    shown: int = entry.recorded.wire.member_epoch - (request.member_epoch == JOIN)
    return -1 if request.member_epoch < JOIN else shown


def classic_generation_of(entry: LoggedRequest) -> int:
    """The classic group's generation that a JoinGroup's answer shows; -1: it shows none. It names no leader where the
    group is a consumer group.
    """
    response = entry.recorded.response
    if not isinstance(response, JoinGroupResponse) or entry.recorded.error is not Error.NONE or not response.leader:
        return -1
    return response.generation_id


def is_offered_classic_id(entry: LoggedRequest) -> bool:
    """Whether a newcomer was given an id as only a classic group gives them out."""
    request = entry.request
    return isinstance(request, JoinGroupRequest) and is_classic_member_id(request.recorded_member_id or "")
