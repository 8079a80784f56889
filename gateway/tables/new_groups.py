"""Whose the groups are that were made through this gateway, and how many bytes of a list they take.

Anybody may make groups, and a group that has offsets lives for days: so one client could make the list of groups as
long as it likes, and longer than an answer may be. Decision 11 says what one may make, and why it is refused so.

Knows the requests that make groups; must not know a table, a clock or a socket.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from coordinator_udfs.protocol.consumer.refusals import JOIN
from schemas.errors import Error
from schemas.fan_out import group_id_of
from schemas.messages import ConsumerGroupHeartbeatRequest, GroupRequest, JoinGroupRequest, OffsetCommitRequest

GROUP_BYTES = 100
"""What a group takes beside its id."""


class _Asked(NamedTuple):
    group_id: str
    received_at_ms: int


class NewGroups:
    """A group is counted with whoever asked for it first, by principal or else by address, until it is removed.

    exists: whether there is a group of this id. max_bytes: so much all groups of one maker may take.
    """

    def __init__(self, exists: Callable[[str], bool], max_bytes: int) -> None:
        self._exists = exists
        self._max_bytes = max_bytes
        self._makers: dict[str, str] = {}
        """By the ids of groups that are there or may come to be."""
        self._bytes: Counter[str] = Counter()
        """By maker."""
        self._asked: dict[str, _Asked] = {}
        """By request id: those that may make a group and are not answered."""
        self._asking: Counter[str] = Counter()
        """How many of them there are by group id."""
        self.refused = 0
        """How many requests were."""

    def refusal(self, request: GroupRequest) -> Error | None:
        """Takes in a request that goes to the coordinator; the error of one that may not make its group."""
        error, group_id = _error_of_maker(request), group_id_of(request)
        if error is None or self._exists(group_id):
            return None
        maker = request.principal or request.client_host
        if group_id not in self._makers:
            if self._bytes[maker] + _bytes_of(group_id) > self._max_bytes:
                self.refused += 1
                return error
            self._makers[group_id] = maker
            self._bytes[maker] += _bytes_of(group_id)
        self._asked[request.request_id] = _Asked(group_id, request.received_at_ms)
        self._asking[group_id] += 1
        return None

    def settle(self, request_id: str) -> None:
        """A commit that has been read takes a request; the group that nobody has made is nobody's."""
        asked = self._asked.pop(request_id, None)
        if asked is None:
            return
        self._asking[asked.group_id] -= 1
        if not self._asking[asked.group_id]:
            del self._asking[asked.group_id]
            if not self._exists(asked.group_id):
                self.forget(asked.group_id)

    def forget(self, group_id: str) -> None:
        """A group is gone."""
        maker = self._makers.pop(group_id, None) if group_id not in self._asking else None
        if maker is not None:
            self._bytes[maker] -= _bytes_of(group_id)
            if not self._bytes[maker]:
                del self._bytes[maker]

    def forget_lost(self, before_ms: int) -> None:
        """Settles requests that came before and will not be answered any more."""
        for request_id in [one for one, asked in self._asked.items() if asked.received_at_ms < before_ms]:
            self.settle(request_id)


def _error_of_maker(request: GroupRequest) -> Error | None:
    """What a request is refused with that may make a group; None: it makes none."""
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
