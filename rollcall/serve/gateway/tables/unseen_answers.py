"""The answers to heartbeats while the coordinator is away, and the assignments that no client was waiting for. A broker
that is still loading a group answers a classic heartbeat NONE, and one of the newer protocol
COORDINATOR_LOAD_IN_PROGRESS: the member retries. Decision 6 has the reasons why the coordinator still reads them, and
what happens to its answers. Knows the messages; must not know a clock, a table or a socket.
"""

from __future__ import annotations

import msgspec

from rollcall.coordinator_udfs.protocol.consumer.refusals import JOIN
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    ConsumerGroupAssignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    GroupRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    Response,
)

_NONE = HeartbeatResponse()
_LOADING = ConsumerGroupHeartbeatResponse(error_code=Error.COORDINATOR_LOAD_IN_PROGRESS)


def is_away(after_s: float, *, was_away: bool, silent_s: float, oldest_s: float, batch_age_s: float | None) -> bool:
    """A coordinator is away if it has requests, but for after_s neither answers nor ends a batch.

    silent_s: since its last answer; oldest_s: since the oldest request without one.
    """
    is_asked = was_away or oldest_s >= after_s
    return is_asked and silent_s >= after_s and (batch_age_s is None or batch_age_s > after_s)


def unseen_answer(request: GroupRequest) -> Response | None:
    """The answer to a request that the coordinator does not see in time; None: the request waits.

    A leaving member does not retry. A new member without an id of its own would join anew each time.
    """
    match request:
        case HeartbeatRequest():
            return _NONE
        case ConsumerGroupHeartbeatRequest() if request.member_id and request.member_epoch >= JOIN:
            return _LOADING
    return None


class UnsentAssignments:
    """Assignments whose answer no client was waiting for, each kept until its member has an answer or is gone. The
    coordinator sends an assignment once, and again only to a heartbeat with all fields. A client whose connection
    ended, or that was answered while the coordinator was away, need not send one. So its next answer has the
    assignment.
    """

    def __init__(self) -> None:
        self._by_member: dict[int, ConsumerGroupAssignment] = {}
        """By the hashes of group and member."""

    def answered(
        self, member: int, response: ConsumerGroupHeartbeatResponse, *, is_awaited: bool, is_member: bool
    ) -> ConsumerGroupHeartbeatResponse:
        """The answer for a member's client when the coordinator has answered. is_member: it is still a member."""
        unsent = self._by_member.pop(member, None)
        if response.error_code is not Error.NONE:
            return response
        assignment = unsent if response.assignment is None else response.assignment
        if is_awaited and assignment is not response.assignment:
            return msgspec.structs.replace(response, assignment=assignment)
        if not is_awaited and is_member and assignment is not None:
            self._by_member[member] = assignment
        return response

    def forget(self, group_id: str, member_id: str) -> None:
        """A member is gone."""
        self._by_member.pop(hash((group_id, member_id)), None)
