"""Who created which groups through this gateway, and how many bytes of a list of groups they take. Anybody may create
groups, and a group with offsets stays for days. So one client could make the list of groups longer than an answer may
be. Decision 11 has the limit, and why requests above it are refused.

Knows the requests that make groups; must not know a table, a clock or a socket.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from rollcall.coordinator_udfs.protocol.consumer.refusals import JOIN
from rollcall.schemas.errors import Error
from rollcall.schemas.fan_out import group_id_of
from rollcall.schemas.messages import ConsumerGroupHeartbeatRequest, GroupRequest, JoinGroupRequest, OffsetCommitRequest
from rollcall.serve.gateway.backend import BackendError

GROUP_BYTES = 100
"""What a group takes beside its id."""


class NewGroups:
    """A group counts for its first client, by principal or else by address, until it is removed.

    exists: whether there is a group of this id. max_bytes: the most bytes that all groups of one maker may take.
    """

    def __init__(self, exists: Callable[[str], bool], max_bytes: int) -> None:
        self._exists = exists
        self._max_bytes = max_bytes
        self._makers: dict[str, str] = {}
        """By the ids of groups that exist or may be created."""
        self._bytes: Counter[str] = Counter()
        """By maker."""
        self._asked: dict[str, str] = {}
        """By the ids of requests that may make a group and are not answered, the group."""
        self._asking: Counter[str] = Counter()
        """How many of these requests there are, by group id."""
        self.refused = 0
        """How many requests were."""

    def take(self, request: GroupRequest) -> None:
        """Notes a request to the coordinator. Raises BackendError: its client has created too many groups."""
        error, group_id = _error_of_maker(request), group_id_of(request)
        if error is None or self._exists(group_id):
            return
        maker = request.principal or request.client_host
        if group_id not in self._makers:
            if self._bytes[maker] + _bytes_of(group_id) > self._max_bytes:
                self.refused += 1
                raise BackendError(f"{maker}: no more groups may be made", error)
            self._makers[group_id] = maker
            self._bytes[maker] += _bytes_of(group_id)
        self._asking[group_id] += 1
        self._asked[request.request_id] = group_id

    def answered(self, request_id: str) -> None:
        """Notes that a request is answered, or never will be; a group that was not created counts for nobody."""
        group_id = self._asked.pop(request_id, None)
        if group_id is None:
            return
        self._asking[group_id] -= 1
        if not self._asking[group_id]:
            del self._asking[group_id]
            if not self._exists(group_id):
                self.forget(group_id)

    def forget(self, group_id: str) -> None:
        maker = self._makers.pop(group_id, None) if group_id not in self._asking else None
        if maker is not None:
            self._bytes[maker] -= _bytes_of(group_id)
            if not self._bytes[maker]:
                del self._bytes[maker]


def _error_of_maker(request: GroupRequest) -> Error | None:
    """The refusal of a request that may create a group; None: it creates none."""
    match request:
        case JoinGroupRequest():
            return Error.GROUP_MAX_SIZE_REACHED
        case ConsumerGroupHeartbeatRequest() if request.member_epoch == JOIN:
            return Error.GROUP_MAX_SIZE_REACHED
        case OffsetCommitRequest() if request.generation_id_or_member_epoch < 0:
            return Error.INVALID_COMMIT_OFFSET_SIZE
    return None


def _bytes_of(group_id: str) -> int:
    return len(group_id.encode()) + GROUP_BYTES
