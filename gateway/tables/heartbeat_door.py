"""Heartbeats at the door: which are answered at once, and when they are handed on to the coordinator, in runs.

A heartbeat is answered NONE at once where the last commit gives it that answer, no request that could change its group
is under way through this gateway, and no member that was heard of here has been silent for its whole session. Nothing
that the coordinator knows of a member is older than a third of its session timeout, unless the member is silent.
Decision 13 says why.

Knows who is in which group as of the last commit, and what is under way. Must not know a clock, a table or a socket.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from coordinator_udfs.protocol.states import GroupState
from gateway.tables.first_joins import offer_of
from gateway.tables.membership import Memberships, Standing
from schemas.fan_out import group_id_of
from schemas.heartbeat_runs import RunPacker
from schemas.messages import (
    DeleteGroupsRequest,
    GroupRequest,
    HeartbeatRequest,
    HeartbeatRunRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    SyncGroupRequest,
)

LONGEST_HELD_MS = 5000
"""So long a heartbeat is held at the most."""
SHARE_OF_A_SESSION = 3
"""A heartbeat is held for at most one of so many parts of a session timeout."""
MOST_IN_A_RUN = 5000
"""With so many heartbeats a run is handed on."""
FORGOTTEN_AFTER_MS = 300_000
"""A request that is neither answered nor parked for so long will not be: it is in quarantine."""
SURELY_OVER_MS = 3000
"""The coordinator counts a session from its batch: so much later than a gateway it ends at the latest."""
HEARD = (HeartbeatRequest, SyncGroupRequest, OffsetCommitRequest)
"""The requests of members that restart their sessions."""
CHANGING = (JoinGroupRequest, SyncGroupRequest, LeaveGroupRequest, DeleteGroupsRequest)
"""The requests that may change a group's state or who is in it; commits of offsets and reads do not."""


@dataclass(slots=True)
class _Group:
    """What a gateway holds of one generation of a group."""

    generation_id: int
    run: RunPacker | None = None
    run_id: str = ""
    run_seq: int = 0
    due_ms: int = 0
    """When the run must be handed on."""
    sure_ms: dict[str, int] = field(default_factory=dict)
    """By member: its last heartbeat that was handed on."""


@dataclass(slots=True)
class _UnderWay:
    """What is kept of a request until a commit answers it. It may be long, so neither it nor an id in it is kept."""

    group: int
    """The hash of its group's id; two groups of the same hash are held for one, and their heartbeats handed on."""
    received_at_ms: int
    offer: bytes | None
    """Of a JoinGroup: see `first_joins`."""
    is_parked: bool = False


class _Asked(NamedTuple):
    """A heartbeat of a group that is known; the coordinator is to answer it."""

    group_id: str
    received_at_ms: int


@dataclass(slots=True)
class _Heard:
    """Which members of a group were heard of through this gateway."""

    last_ms: dict[str, int] = field(default_factory=dict)
    first_end_ms: int = 0
    """No session of theirs ends before."""


class HeartbeatDoor:
    """Takes heartbeats for the coordinator. Moments are in ms since the epoch and never go back."""

    def __init__(self, memberships: Memberships) -> None:
        self._memberships = memberships
        self._groups: dict[str, _Group] = {}
        self._under_way: dict[str, _UnderWay] = {}
        self._changing: dict[int, set[str]] = {}
        """Request ids by their groups' hashes."""
        self._heard: dict[str, _Heard] = {}
        self._asked: dict[str, _Asked] = {}
        self.next_due_ms: int | None = None
        """No run must be handed on before; None: none is held."""

    # ------------------------------------------------------------ what is under way

    def begin(self, request: GroupRequest) -> None:
        """A request goes to the coordinator."""
        if isinstance(request, HEARD):
            self._hear(request.group_id, request.member_id, request.received_at_ms)
        if isinstance(request, HeartbeatRequest) and request.group_id in self._heard:
            self._asked[request.request_id] = _Asked(request.group_id, request.received_at_ms)
        if isinstance(request, CHANGING):
            group = hash(group_id_of(request))
            offer = offer_of(request) if isinstance(request, JoinGroupRequest) else None
            self._under_way[request.request_id] = _UnderWay(group, request.received_at_ms, offer)
            self._changing.setdefault(group, set()).add(request.request_id)

    def park(self, request_id: str) -> None:
        """The coordinator has taken a request and will answer it later."""
        known = self._under_way.get(request_id)
        if known is not None:
            known.is_parked = True

    def settle(self, request_id: str) -> None:
        """A commit answers a request, or says that it is never answered."""
        beat = self._asked.pop(request_id, None)
        if beat is not None:
            self._forget_those_elsewhere(beat)
        known = self._under_way.pop(request_id, None)
        if known is None:
            return
        of_group = self._changing[known.group]
        of_group.discard(request_id)
        if not of_group:
            del self._changing[known.group]

    def offers_under_way(self, group_id: str) -> list[bytes]:
        """What the JoinGroups to a group offer that no commit has answered yet."""
        asked = (self._under_way[request_id].offer for request_id in self._changing.get(hash(group_id), ()))
        return [offer for offer in asked if offer is not None]

    def forget(self, group_id: str, member_id: str | None = None) -> None:
        """A member is gone, None: its whole group."""
        if member_id is None:
            self._heard.pop(group_id, None)
            held = self._groups.get(group_id)
            if held is not None and held.run is None:
                del self._groups[group_id]
            return
        if group_id in self._heard:
            self._heard[group_id].last_ms.pop(member_id, None)
        if group_id in self._groups:
            self._groups[group_id].sure_ms.pop(member_id, None)

    def forget_lost(self, now_ms: int) -> None:
        """Forgets requests that will never be answered."""
        lost = [
            request_id
            for request_id, known in self._under_way.items()
            if not known.is_parked and now_ms - known.received_at_ms > FORGOTTEN_AFTER_MS
        ]
        beats = [one for one, beat in self._asked.items() if now_ms - beat.received_at_ms > FORGOTTEN_AFTER_MS]
        for request_id in (*lost, *beats):
            self.settle(request_id)

    # ------------------------------------------------------------ heartbeats

    def is_open_for(self, beat: HeartbeatRequest) -> bool:
        """Whether the last commit answers it with NONE and nothing is under way that could change that."""
        group = self._memberships.of(beat.group_id)
        if group is None or group.state != GroupState.STABLE or hash(beat.group_id) in self._changing:
            return False
        if not group.is_classic:
            # In a consumer group, members of the newer protocol are refused, and others may have to rejoin.
            return False
        member = group.members.get(beat.member_id)
        if member is None or beat.generation_id != group.generation_id or member.session_timeout_ms < 0:
            return False
        if beat.group_instance_id is not None and beat.group_instance_id != member.group_instance_id:
            return False
        return not self._may_have_expired(group, beat)

    def _hear(self, group_id: str, member_id: str, at_ms: int) -> None:
        """Notes a member alone: anybody may write any id."""
        group = self._memberships.of(group_id)
        member = None if group is None else group.members.get(member_id)
        if member is None:
            return
        heard = self._heard.setdefault(group_id, _Heard())
        heard.last_ms[member_id] = at_ms
        heard.first_end_ms = min(heard.first_end_ms, at_ms + member.session_timeout_ms)

    def _may_have_expired(self, group: Standing, beat: HeartbeatRequest) -> bool:
        """Whether a member that was heard of here has been silent for its whole session: no commit tells that yet."""
        heard = self._heard.get(beat.group_id)
        if heard is None or beat.received_at_ms < heard.first_end_ms:
            return False
        heard.last_ms = {one: at_ms for one, at_ms in heard.last_ms.items() if one in group.members}
        ends = (at_ms + group.members[one].session_timeout_ms for one, at_ms in heard.last_ms.items())
        heard.first_end_ms = min(ends, default=beat.received_at_ms + SURELY_OVER_MS)
        return heard.first_end_ms <= beat.received_at_ms

    def _forget_those_elsewhere(self, beat: _Asked) -> None:
        """The coordinator has answered a heartbeat: silent members that it keeps are at other gateways."""
        heard, group = self._heard.get(beat.group_id), self._memberships.of(beat.group_id)
        if heard is None or group is None or beat.received_at_ms < heard.first_end_ms:
            return
        for member_id, at_ms in list(heard.last_ms.items()):
            member = group.members.get(member_id)
            if member is None or at_ms + member.session_timeout_ms + SURELY_OVER_MS <= beat.received_at_ms:
                del heard.last_ms[member_id]

    def take(self, beat: HeartbeatRequest) -> list[HeartbeatRunRequest]:
        """Keeps a heartbeat that the door is open for; returns runs that are to be handed on now."""
        standing, held = self._memberships.of(beat.group_id), self._groups.get(beat.group_id)
        assert standing is not None
        runs: list[HeartbeatRunRequest] = []
        if held is not None and held.run is not None and (not held.run.takes(beat) or held.run.count >= MOST_IN_A_RUN):
            runs.append(self._hand_on(held, beat.received_at_ms))
        if held is None or held.generation_id != beat.generation_id:
            held = self._groups[beat.group_id] = _Group(beat.generation_id)
        due_ms = self._due_ms(beat, standing, held)
        if held.run is None:
            held.run, held.due_ms = RunPacker(beat), due_ms
        else:
            held.run.add(beat)
            held.due_ms = min(held.due_ms, due_ms)
        held.run_id, held.run_seq = beat.request_id, beat.request_seq
        self._hear(beat.group_id, beat.member_id, beat.received_at_ms)
        if held.due_ms <= beat.received_at_ms:
            runs.append(self._hand_on(held, beat.received_at_ms))
        elif self.next_due_ms is None or held.due_ms < self.next_due_ms:
            self.next_due_ms = held.due_ms
        return runs

    def _due_ms(self, beat: HeartbeatRequest, standing: Standing, held: _Group) -> int:
        """When a heartbeat must be handed on: after a third of the group's shortest session and 5 s at the latest, and
        before a third of its member's session has gone by since the last one that was.
        """
        sure_ms = held.sure_ms.get(beat.member_id)
        if sure_ms is None:
            return beat.received_at_ms
        held_ms = min(standing.shortest_session_timeout_ms // SHARE_OF_A_SESSION, LONGEST_HELD_MS)
        own_ms = standing.members[beat.member_id].session_timeout_ms // SHARE_OF_A_SESSION
        return min(beat.received_at_ms + held_ms, sure_ms + own_ms)

    # ------------------------------------------------------------ handing on

    def run_before(self, request: GroupRequest) -> HeartbeatRunRequest | None:
        """The heartbeats of the group that a request is for: they are handed on before it."""
        held = self._groups.get(group_id_of(request))
        return None if held is None or held.run is None else self._hand_on(held, request.received_at_ms)

    def due(self, now_ms: int) -> list[HeartbeatRunRequest]:
        """The runs that must be handed on by now; with them those that have used half of their time."""
        if self.next_due_ms is None or now_ms < self.next_due_ms:
            return []
        runs = [self._hand_on(held, now_ms) for held in self._with_runs() if _is_half_over(held, now_ms)]
        self.next_due_ms = min((held.due_ms for held in self._with_runs()), default=None)
        self._forget_groups()
        return runs

    def rest(self, now_ms: int) -> list[HeartbeatRunRequest]:
        """Everything that is held."""
        return [self._hand_on(held, now_ms) for held in self._with_runs()]

    def _with_runs(self) -> Iterator[_Group]:
        return (held for held in list(self._groups.values()) if held.run is not None)

    def _hand_on(self, held: _Group, now_ms: int) -> HeartbeatRunRequest:
        packer, held.run = held.run, None
        assert packer is not None
        run = packer.run(
            held.run_id,
            request_seq=held.run_seq,
            handed_on_ms=max(now_ms, packer.last_ms),
            is_answered=True,
        )
        for one in run.members:
            held.sure_ms[one.member_id] = run.from_ms + one.beats[-1]
        return run

    def _forget_groups(self) -> None:
        for group_id, held in list(self._groups.items()):
            standing = self._memberships.of(group_id)
            if held.run is None and (standing is None or standing.generation_id != held.generation_id):
                del self._groups[group_id]


def _is_half_over(held: _Group, now_ms: int) -> bool:
    assert held.run is not None
    return held.due_ms <= now_ms or now_ms - held.run.from_ms >= held.due_ms - now_ms
