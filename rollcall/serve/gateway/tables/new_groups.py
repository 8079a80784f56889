"""Who created which groups through this gateway, and how many bytes of a list of groups they take. Anybody may create
groups, and a group with offsets stays for days. So one client could make the list of groups longer than an answer may
be. Decision 11 has the limit, and why requests above it are refused.

Knows the requests that make groups; must not know a table, a clock or a socket.
"""

from __future__ import annotations

from collections import Counter

from rollcall.coordinator_udfs.protocol.consumer.refusals import JOIN
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import ConsumerGroupHeartbeatRequest, GroupRequest, JoinGroupRequest, OffsetCommitRequest
from rollcall.serve.gateway.backend import BackendError

GROUP_BYTES = 100
"""What a group takes beside its id."""


class NewGroups:
    """A group counts for its first client, by principal or else by address, until it is removed, or was not created.

    max_bytes: the most bytes that all groups of one maker may take.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._makers: dict[str, str] = {}
        """By the ids of groups that exist or may be created."""
        self._bytes: Counter[str] = Counter()
        """By maker."""
        self.refused = 0
        """How many requests were."""

    def takes(self, request: GroupRequest, group_id: str) -> bool:
        """Whether a request may make its group, which does not exist. Raises BackendError: its client has made too
        many.
        """
        error = _error_of_maker(request)
        if error is None:
            return False
        maker = request.principal or request.client_host
        if group_id not in self._makers:
            if self._bytes[maker] + _bytes_of(group_id) > self._max_bytes:
                self.refused += 1
                raise BackendError(f"{maker}: no more groups may be made", error)
            self._makers[group_id] = maker
            self._bytes[maker] += _bytes_of(group_id)
        return True

    def forget(self, group_id: str) -> None:
        maker = self._makers.pop(group_id, None)
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
