"""Who took the room of a group at its maximum size and left no line, as far ahead as the log is read.

A newcomer joins at once with the id that it was given. If it dies while it waits, only those who are refused show that
it had joined, and by then others have joined too. So the next requests are tried in order up to the first refusal.
Knows the model and what is read ahead; changes neither.
"""

from __future__ import annotations

from collections.abc import Iterable

from coordinator_udfs.protocol.group import Group
from request_log.explaining.context import Explanation, member_id_of
from request_log.explaining.rebalances import explain_full
from request_log.following.group_model import GroupModel
from request_log.recorded import LoggedRequest
from schemas.errors import Error
from schemas.messages import JoinGroupResponse

LOOKED_AT = 200
"""So many of the next requests are tried."""


def takes_room(model: GroupModel, upcoming: Iterable[LoggedRequest], member_id: str) -> bool:
    """Whether a newcomer that was just given this id is among those for whose sake somebody is refused later."""
    following = [entry for entry in upcoming if not entry.was_refused][:LOOKED_AT]
    if not any(entry.recorded.error is Error.GROUP_MAX_SIZE_REACHED for entry in following):
        return False
    if any(_names(entry, member_id) for entry in following):
        return False
    group, at_ms = model.group, model.clock_ms
    for place, entry in enumerate(following):
        at_ms = max(at_ms, entry.request.received_at_ms)
        trial = model.try_request(entry, at_ms, group)
        if not trial.fits:
            is_full = entry.recorded.error is Error.GROUP_MAX_SIZE_REACHED
            unseen = _unseen(model, entry, following[place + 1 :], group, at_ms) if is_full else []
            return any(member_id_of(join) == member_id for join in unseen)
        group = trial.group
    return False


def _unseen(
    model: GroupModel, entry: LoggedRequest, upcoming: list[LoggedRequest], group: Group, at_ms: int
) -> Explanation:
    """Who had joined unseen before a request was refused; nobody if that explains nothing."""
    context = model.context(entry, upcoming)._replace(group=group)
    for joins in explain_full(context):
        tried = model.try_unlogged(joins, at_ms, group)
        if all(each.fits for each in tried) and model.try_request(entry, at_ms, tried[-1].group).fits:
            return joins
    return []


def _names(entry: LoggedRequest, member_id: str) -> bool:
    """Whether a request comes from this member, or its answer says that it is one."""
    response = entry.recorded.response
    if not isinstance(response, JoinGroupResponse):
        return member_id_of(entry.request) == member_id
    return member_id in (member_id_of(entry.request), response.leader, *(one.member_id for one in response.members))
