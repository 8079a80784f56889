"""Commits of offsets that are answered once they are in the request table, before the coordinator has taken them.

A commit by a member of a Stable group is answered early if the coordinator will certainly accept it. Nobody else
appends requests. No earlier request is pending that could change the member. The member's session ends later than the
coordinator reads the commit. Other members need no rule. They can at most cause a rebalance, in which commits of the
generation before are accepted until the member has rejoined or its rebalance timeout has passed. A member of a consumer
group keeps its epoch until its own next heartbeat. Decision 19 has the reasons.

Knows the groups as of the last commit, and what the coordinator has answered. Must not know a clock or a table.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rollcall.coordinator_udfs.protocol.at_rest import commit_answer
from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.group_room import size_of_offset
from rollcall.coordinator_udfs.protocol.known_groups import KnownGroup, KnownGroups
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    ConsumerGroupHeartbeatResponse,
    HeartbeatResponse,
    HeartbeatRunRequest,
    JoinGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    Response,
    SyncGroupResponse,
)
from rollcall.serve.gateway.tables.under_way import Pending, UnderWay

TAKEN_WITHIN_MS = 3000
"""The coordinator takes a request from the table within this time; otherwise its state is not trusted."""
LEAST_REBALANCE_TIMEOUT_MS = 10_000
"""A member with a shorter one might be removed, for not joining again, before the coordinator takes its commit."""
MOST_UNTAKEN = 200
"""At most this many commits of a group are acknowledged and not yet taken by the coordinator."""
MOST_BYTES = 4096
MOST_OFFSETS = 10_000
"""At most this many offsets of a group are remembered."""
MOST_GROWN_BYTES = 262_144
"""Early answers let a group's offsets grow by at most this much."""


@dataclass(slots=True, eq=False)
class _CertainGroup:
    """What is certain of a group's members and offsets."""

    alive_until_ms: dict[str, int] = field(default_factory=dict)
    """By member: the coordinator does not end its session before this time."""
    synced: dict[str, int] = field(default_factory=dict)
    """By member: the last generation for which it has its assignment, or its epoch."""
    stored_bytes: dict[int, int] = field(default_factory=dict)
    """By the hash of a partition that has an offset: the most bytes that were counted for it."""
    grown_bytes: int = 0
    untaken: set[str] = field(default_factory=set)
    """The ids of the commits that are acknowledged and not taken yet."""


class EarlyCommits:
    """Which commits are answered early. Moments are in ms since the epoch and never go back."""

    def __init__(self, known: KnownGroups, under_way: UnderWay, config: GroupConfig) -> None:
        self._known = known
        self._under_way = under_way
        self._config = config
        self._groups: dict[str, _CertainGroup] = {}

    def answer(self, request: OffsetCommitRequest, size_bytes: int) -> OffsetCommitResponse | None:
        """The answer to a commit once it is in the table, if `is_sure` then; None: the coordinator answers it. Its
        bytes count at once in the growth of the group's offsets.
        """
        sure, group = self._groups.get(request.group_id), self._known.get(request.group_id)
        if sure is None or group is None or size_bytes > MOST_BYTES or len(sure.untaken) >= MOST_UNTAKEN:
            return None
        if sure.synced.get(request.member_id) != request.generation_id_or_member_epoch:
            return None
        answer = commit_answer(group, request, self._config)
        if answer is None or request.retention_time_ms != -1 or self._may_change(group, request.member_id):
            return None
        is_sure = self.is_sure(request, request.received_at_ms)
        return answer if is_sure and self._is_room_counted(sure, request) else None

    def _may_change(self, group: KnownGroup, member_id: str) -> bool:
        """Whether pending requests may change or remove the member."""
        if group.is_consumer:
            return self._under_way.may_change_member(group.group_id, member_id)
        is_short = group.members[member_id].rebalance_timeout_ms < LEAST_REBALANCE_TIMEOUT_MS
        return is_short or self._under_way.may_change(group.group_id)

    def _is_room_counted(self, sure: _CertainGroup, request: OffsetCommitRequest) -> bool:
        """Counts what a commit may add to the group's offsets; False: it is too much, nothing was counted."""
        sizes = {
            _at(topic.topic, one.partition_index): size_of_offset(topic.topic, one.committed_metadata or "")
            for topic in request.topics
            for one in topic.partitions
        }
        larger = {at: size for at, size in sizes.items() if size > sure.stored_bytes.get(at, 0)}
        grown_bytes = sure.grown_bytes + sum(size - sure.stored_bytes.get(at, 0) for at, size in larger.items())
        if grown_bytes > MOST_GROWN_BYTES:
            return False
        sure.grown_bytes = grown_bytes
        sure.stored_bytes.update(larger)
        return True

    def is_sure(self, request: OffsetCommitRequest, now_ms: int) -> bool:
        """Whether the member's session certainly lasts until the coordinator has read the present table."""
        sure = self._groups.get(request.group_id)
        return sure is not None and now_ms + TAKEN_WITHIN_MS < sure.alive_until_ms.get(request.member_id, 0)

    def acknowledged(self, request: OffsetCommitRequest) -> None:
        """A commit has been answered early."""
        self._groups[request.group_id].untaken.add(request.request_id)
        self._note_commit(request.group_id, request.member_id, request.received_at_ms)

    def appended(self, run: HeartbeatRunRequest, now_ms: int) -> None:
        """Heartbeats are in the table: the coordinator reads them before it can end their members' sessions."""
        sure, group = self._groups.get(run.group_id), self._known.get(run.group_id)
        if sure is None or group is None or group.generation_id != run.generation_id:
            return
        for one in run.members:
            member, until_ms = group.members.get(one.member_id), sure.alive_until_ms.get(one.member_id, 0)
            if member is not None and now_ms + TAKEN_WITHIN_MS < until_ms:
                last_ms = run.from_ms + one.beats[-1]
                sure.alive_until_ms[one.member_id] = max(until_ms, last_ms + member.session_timeout_ms)

    def taken(self, group_id: str, one: Pending, response: Response) -> None:
        """The coordinator has answered a request; one: what was known of it."""
        group = self._known.get(group_id)
        if group is None:
            return
        match response:
            case OffsetCommitResponse():
                sure = self._groups.get(group_id)
                if sure is not None:
                    sure.untaken.discard(one.request_id)
                    if self._note_stored(sure, response):
                        self._note_commit(group_id, one.member_id, one.received_at_ms)
            case JoinGroupResponse() if one.is_parked and response.error_code is Error.NONE:
                self._note_alive(group_id, response.member_id, one.received_at_ms)
            case HeartbeatResponse() if response.error_code is Error.NONE:
                self._note_alive(group_id, one.member_id, one.received_at_ms)
            case ConsumerGroupHeartbeatResponse() if response.error_code is Error.NONE:
                self._note_alive(group_id, response.member_id or one.member_id, one.received_at_ms)
                if response.member_id in group.members and group_id in self._groups:
                    self._groups[group_id].synced[response.member_id] = response.member_epoch
            case SyncGroupResponse() if response.error_code is Error.NONE:
                if one.is_parked:
                    self._note_alive(group_id, one.member_id, one.received_at_ms)
                if one.member_id in group.members and group_id in self._groups:
                    self._groups[group_id].synced[one.member_id] = one.generation_id

    def _note_commit(self, group_id: str, member_id: str, at_ms: int) -> None:
        """A commit is stored; in a classic group it also keeps its member alive."""
        group = self._known.get(group_id)
        if group is not None and group.is_classic:
            self._note_alive(group_id, member_id, at_ms)

    def _note_alive(self, group_id: str, member_id: str, at_ms: int) -> None:
        group = self._known.get(group_id)
        member = None if group is None else group.members.get(member_id)
        if member is not None:
            sure = self._groups.setdefault(group_id, _CertainGroup())
            until_ms = at_ms + member.session_timeout_ms
            sure.alive_until_ms[member_id] = max(sure.alive_until_ms.get(member_id, 0), until_ms)

    def _note_stored(self, sure: _CertainGroup, response: OffsetCommitResponse) -> bool:
        """Whether the group has stored anything."""
        stored = [
            (topic.topic, partition.partition_index)
            for topic in response.topics
            for partition in topic.partitions
            if partition.error_code is Error.NONE
        ]
        if len(sure.stored_bytes) + len(stored) <= MOST_OFFSETS:
            for topic_name, index in stored:
                sure.stored_bytes.setdefault(_at(topic_name, index), size_of_offset(topic_name, ""))
        return bool(stored)

    def forget(self, group_id: str, member_id: str | None = None) -> None:
        """Forgets a member, or its whole group (None)."""
        sure = self._groups.get(group_id)
        if member_id is None:
            self._groups.pop(group_id, None)
        elif sure is not None:
            sure.alive_until_ms.pop(member_id, None)
            sure.synced.pop(member_id, None)


def _at(topic: str, partition: int) -> int:
    return hash((topic, partition))
