"""What heartbeats are answered while the coordinator is away, and what it gave meanwhile that nobody was told.

A broker that is still loading a group answers a heartbeat of the classic protocol NONE, and one of the newer protocol
COORDINATOR_LOAD_IN_PROGRESS: its member asks again. Decision 6 says why the coordinator takes them in all the same, and
what becomes of its answers. Knows the messages; must not know a clock, a table or a socket.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from coordinator_udfs.protocol.consumer.refusals import JOIN
from gateway.tables.membership import Memberships
from schemas.errors import Error
from schemas.messages import (
    ConsumerGroupAssignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    GroupRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    Response,
)


def unseen_answer(request: GroupRequest) -> Response | None:
    """The answer to a request that the coordinator does not see in time; None: the request waits.

    Who leaves does not come back for the answer. A new member without an id of its own would join anew each time.
    """
    match request:
        case HeartbeatRequest():
            return HeartbeatResponse()
        case ConsumerGroupHeartbeatRequest() if request.member_id and request.member_epoch >= JOIN:
            return ConsumerGroupHeartbeatResponse(error_code=Error.COORDINATOR_LOAD_IN_PROGRESS)
    return None


class _Beat(NamedTuple):
    group_id: str
    member_id: str
    received_at_ms: int


REMEMBERED = 100_000
"""So many heartbeats that are with the coordinator are remembered; of an older one it is forgotten that it is."""
REMEMBERED_CHARACTERS = 1024
"""Those of longer ids are not, for clients can make them up."""
_Who = tuple[str, str]
"""Group and member."""


class ConsumerBeats:
    """The heartbeats of the newer protocol that are with the coordinator, and the assignments that came for nobody.

    The coordinator gives an assignment once, and again to whoever says everything. A client whose connection ended
    before it came, or who was answered unseen, need not do that: so it is given with the member's next answer.
    """

    def __init__(self) -> None:
        self._asked: dict[str, _Beat] = {}
        self._last: dict[_Who, str] = {}
        self._untold: dict[_Who, ConsumerGroupAssignment] = {}

    def begin(self, request: GroupRequest) -> None:
        """A request goes to the coordinator."""
        if isinstance(request, ConsumerGroupHeartbeatRequest) and request.member_id:
            if len(request.group_id) + len(request.member_id) > REMEMBERED_CHARACTERS:
                return
            if len(self._asked) >= REMEMBERED:
                self.settle(next(iter(self._asked)))
            self._asked[request.request_id] = _Beat(request.group_id, request.member_id, request.received_at_ms)
            self._last[request.group_id, request.member_id] = request.request_id

    def has_asked(self, request: GroupRequest) -> bool:
        """Whether a heartbeat of this one's member is with the coordinator, which is enough to know that it lives."""
        return (
            isinstance(request, ConsumerGroupHeartbeatRequest) and (request.group_id, request.member_id) in self._last
        )

    def answered(self, request_id: str, response: Response, *, is_awaited: bool) -> Response:
        """What the client is told when the coordinator has answered. is_awaited: whether it can be told."""
        beat = self.settle(request_id)
        if beat is None or not isinstance(response, ConsumerGroupHeartbeatResponse):
            return response
        who = beat.group_id, beat.member_id
        untold = self._untold.pop(who, None)
        if response.error_code is not Error.NONE:
            return response
        assignment = untold if response.assignment is None else response.assignment
        if is_awaited:
            return response if assignment is None else msgspec.structs.replace(response, assignment=assignment)
        if assignment is not None:
            self._untold[who] = assignment
        return response

    def settle(self, request_id: str) -> _Beat | None:
        """A request is answered, or will never be: the heartbeat that it was."""
        beat = self._asked.pop(request_id, None)
        if beat is not None and self._last.get(beat[:2]) == request_id:
            del self._last[beat[:2]]
        return beat

    def forget(self, group_id: str, member_id: str) -> None:
        """A member is gone."""
        self._untold.pop((group_id, member_id), None)

    def forget_gone(self, memberships: Memberships) -> None:
        """Forgets what was given to members that had gone, or never were, when it came."""
        for who in list(self._untold):
            group = memberships.of(who[0])
            if group is None or who[1] not in group.members:
                del self._untold[who]

    def forget_lost(self, before_ms: int) -> None:
        """Forgets heartbeats that came before and will not be answered any more."""
        for request_id in [one for one, beat in self._asked.items() if beat.received_at_ms < before_ms]:
            self.settle(request_id)
