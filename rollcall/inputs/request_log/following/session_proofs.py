"""What recorded answers prove about ends of sessions and about epochs. Knows requests and their answers."""

from __future__ import annotations

from collections.abc import Iterable

from rollcall.coordinator_udfs.protocol.consumer.refusals import JOIN, LEAVE
from rollcall.coordinator_udfs.protocol.deadlines import Due
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.inputs.request_log.recorded import LoggedRequest
from rollcall.inputs.tolerances import SESSION_LATE_MS
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    ConsumerGroupHeartbeatRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
)


def shown_end(group: Group, later: Iterable[LoggedRequest], due: Due) -> bool | None:
    """Whether a session that has ended by our clock did: True if an answer shows that, False if one shows that it goes
    on, None if nothing at hand shows either.
    """
    risen = group.generation_id
    for each in later:
        if each.was_refused or each.member_id == due.member_id:
            continue
        shown = _shown_by(group, each, due, risen)
        if shown is not None:
            return shown
        risen += _epochs_brought(each, risen)
    return None


def _shown_by(group: Group, entry: LoggedRequest, due: Due, risen: int) -> bool | None:
    """The same by one answer. risen: the epoch that a consumer group has reached by then."""
    request, error = entry.request, entry.recorded.error
    is_later, shown = entry.began_ms > due.deadline_ms + SESSION_LATE_MS, None
    match request:
        case JoinGroupRequest() if entry.joined_generation_id > group.generation_id:
            response = entry.recorded.response
            assert isinstance(response, JoinGroupResponse)
            if response.members:
                shown = all(member.member_id != due.member_id for member in response.members)
        case HeartbeatRequest() if group.consumer is None and request.generation_id == group.generation_id:
            if error is Error.REBALANCE_IN_PROGRESS:
                shown = True
            elif is_later and error is Error.NONE and group.state is GroupState.STABLE:
                shown = False
        case ConsumerGroupHeartbeatRequest() if (epoch := entry.answered_epoch) >= 0:
            if epoch > risen:
                shown = True
            elif is_later and epoch == risen and (request.member_epoch == risen or _is_newcomer(group, request)):
                shown = False
        case _:
            pass
    return shown


def _is_newcomer(group: Group, request: ConsumerGroupHeartbeatRequest) -> bool:
    """Whether it is a join that surely raises the epoch, by one: of no member, and in no static member's place."""
    consumer = group.consumer
    if consumer is None or request.member_epoch != JOIN:
        return False
    return request.member_id not in consumer.members and consumer.static_member_id(request.instance_id) is None


def _epochs_brought(entry: LoggedRequest, risen: int) -> int:
    """How many epochs of a consumer group a request brought itself, which prove no session's end."""
    brought = 0
    match entry.request:
        case ConsumerGroupHeartbeatRequest(member_epoch=epoch):
            brought = int(epoch == LEAVE or (epoch == JOIN and entry.answered_epoch == risen))
        case LeaveGroupRequest(members=members):
            brought = max(1, len(members))
        case _:
            pass
    return brought if entry.recorded.error is Error.NONE else 0


def is_epoch_reached(group: Group, entry: LoggedRequest) -> bool:
    """Whether a consumer group is not at a lower epoch than the model's before a request that raises it: that epoch is
    recorded, or a member has reached it, or the answer shows it.
    """
    assert group.consumer is not None
    is_inferred = group.rebalance is not None and group.rebalance.cause.is_inferred
    is_reached = any(each.member_epoch == group.generation_id for each in group.consumer.members.values())
    return not is_inferred or is_reached or entry.answered_epoch == group.generation_id


def are_epochs_brought(group: Group, later: Iterable[LoggedRequest]) -> bool:
    """Whether lines bring all epochs that the next answer shows, after a request that raises a consumer group's
    epoch.
    """
    assert group.consumer is not None
    highest = group.generation_id + 1
    for each in later:
        if each.was_refused or each.recorded.error is not Error.NONE:
            continue
        match each.request:
            case ConsumerGroupHeartbeatRequest(member_epoch=epoch) if epoch <= JOIN:
                highest += 1
            case ConsumerGroupHeartbeatRequest() if (shown := each.answered_epoch) > group.generation_id:
                return shown <= highest
            case JoinGroupRequest(member_id=member_id) if member_id not in group.consumer.members:
                highest += 1
            case LeaveGroupRequest(members=members):
                highest += max(1, len(members))
            case _:
                pass
    return True
