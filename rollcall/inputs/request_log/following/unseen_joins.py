"""Newcomers that got an id and joined with it without a line, as far ahead as the log is read. A newcomer joins at once
with its id. If it dies while it waits, or the log ends, its JoinGroup has no line. Two things show that it had joined:
a member that is refused by a full group, and members that learn of a rebalance without another reason. But by then
others may have joined too. So the next requests are tried in order. Knows the model and what is read ahead; changes
neither.
"""

from __future__ import annotations

from collections.abc import Sequence

from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.inputs.request_log.explaining.context import Explanation, member_id_of, unlogged_join
from rollcall.inputs.request_log.explaining.rebalances import explain_full
from rollcall.inputs.request_log.following.group_model import GroupModel
from rollcall.inputs.request_log.recorded import LoggedRequest
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import JoinGroupResponse, JoinGroupResponseMember

LOOKED_AT = 200
"""This many of the next requests are tried."""


def has_joined(model: GroupModel, entry: LoggedRequest, upcoming: Sequence[LoggedRequest], member_id: str) -> bool:
    """Whether the client that this request just gave an id is seen to have joined with it without a line."""
    following = [one for one in upcoming if not one.was_refused][:LOOKED_AT]
    if any(_names(one, member_id) for one in following):
        return False
    group, place, at_ms = _as_far_as_it_fits(model, model.group, following)
    if place == len(following):
        return False
    stuck, rest = following[place], following[place + 1 :]
    match stuck.recorded.error:
        case Error.GROUP_MAX_SIZE_REACHED:
            unseen = _unseen(model, stuck, rest, group, at_ms)
            return any(member_id_of(join) == member_id for join in unseen)
        case Error.REBALANCE_IN_PROGRESS if not any(map(_is_of_generation, following)):
            join = unlogged_join(
                model.context(entry, upcoming), JoinGroupResponseMember(member_id=member_id, metadata=b"")
            )
            tried = [] if join is None else model.try_unlogged([join], model.clock_ms)
            return bool(tried) and tried[0].fits and _as_far_as_it_fits(model, tried[0].group, following)[1] > place
        case _:
            return False


def _as_far_as_it_fits(model: GroupModel, group: Group, following: Sequence[LoggedRequest]) -> tuple[Group, int, int]:
    """The group before the first request that does not fit, that request's place, and when it happens."""
    at_ms = model.clock_ms
    for place, entry in enumerate(following):
        at_ms = max(at_ms, entry.request.received_at_ms)
        trial = model.try_request(entry, at_ms, group)
        if not trial.fits:
            return group, place, at_ms
        group = trial.group
    return group, len(following), at_ms


def _unseen(
    model: GroupModel, entry: LoggedRequest, upcoming: list[LoggedRequest], group: Group, at_ms: int
) -> Explanation:
    """The clients that had joined without a line before a request was refused; none if that explains nothing."""
    context = model.context(entry, upcoming)._replace(group=group)
    for joins in explain_full(context):
        tried = model.try_unlogged(joins, at_ms, group)
        if all(each.fits for each in tried) and model.try_request(entry, at_ms, tried[-1].group).fits:
            return joins
    return []


def _is_of_generation(entry: LoggedRequest) -> bool:
    """Whether a JoinGroup was answered with a generation, which shows who is in it."""
    return isinstance(entry.recorded.response, JoinGroupResponse) and entry.recorded.error is Error.NONE


def _names(entry: LoggedRequest, member_id: str) -> bool:
    """Whether a request comes from this member, or its answer says that it is one."""
    response = entry.recorded.response
    if not isinstance(response, JoinGroupResponse):
        return member_id_of(entry.request) == member_id
    return member_id in (member_id_of(entry.request), response.leader, *(one.member_id for one in response.members))
