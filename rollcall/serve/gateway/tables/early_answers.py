"""Heartbeats of groups at rest: which are answered at once, and when they are handed on to the coordinator, in runs. A
heartbeat is answered NONE at once on three conditions. The group as of the last commit gives this answer (`at_rest`).
No request that could change the group is pending in this gateway. No member that uses this gateway has been silent for
its whole session. The coordinator hears of each member within a third of its session timeout, unless the member is
silent. Decision 13 has the reasons.

Knows the groups as of the last commit, and what is under way. Must not know a clock, a table or a socket.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from rollcall.coordinator_udfs.protocol.at_rest import is_answered_none
from rollcall.coordinator_udfs.protocol.known_groups import KnownGroup, KnownGroups
from rollcall.schemas.fan_out import group_id_of
from rollcall.schemas.heartbeat_runs import RunPacker
from rollcall.schemas.messages import (
    ConsumerGroupHeartbeatRequest,
    GroupRequest,
    HeartbeatRequest,
    HeartbeatRunRequest,
    OffsetCommitRequest,
    SyncGroupRequest,
)
from rollcall.serve.gateway.tables.under_way import UnderWay

LONGEST_HELD_MS = 15_000
"""A heartbeat is held for at most this long: a third of the session that Kafka gives by default."""
SHARE_OF_A_SESSION = 3
"""A heartbeat is held for at most 1/3 of a session timeout; this is the 3."""
MOST_IN_A_RUN = 5000
"""A run of this many heartbeats is handed on."""
SURELY_OVER_MS = 3000
"""The coordinator restarts a session when its batch runs, at most this much later than the gateway saw it."""
_OF_CLASSIC = (HeartbeatRequest, SyncGroupRequest, OffsetCommitRequest)
_OF_CONSUMER = (HeartbeatRequest, SyncGroupRequest, ConsumerGroupHeartbeatRequest)
"""The requests that restart their members' sessions, by the type of the group."""


@dataclass(slots=True, eq=False)
class _RememberedGroup:
    """What a gateway remembers of a group's members as of the last commit."""

    generation_id: int
    run: RunPacker | None = None
    run_id: str = ""
    run_seq: int = 0
    due_ms: int = 0
    """When the run must be handed on."""
    handed_on_ms: dict[str, int] = field(default_factory=dict)
    """By member: its last heartbeat that was handed on, of this generation."""
    last_request_ms: dict[str, int] = field(default_factory=dict)
    """By member: its last request through this gateway."""
    first_end_ms: int = 0
    """No session of these members ends before this time."""


class EarlyAnswers:
    """Answers heartbeats in the coordinator's place. Moments are in ms since the epoch and never go back."""

    def __init__(self, known: KnownGroups, under_way: UnderWay) -> None:
        self._known = known
        self._under_way = under_way
        self._groups: dict[str, _RememberedGroup] = {}
        self._with_runs: dict[str, _RememberedGroup] = {}
        self.next_due_ms: int | None = None
        """No run must be handed on before; None: none is held."""

    def take(self, beat: HeartbeatRequest) -> list[HeartbeatRunRequest] | None:
        """Keeps a heartbeat that is answered NONE at once; returns runs that are to be handed on now.

        None: the coordinator is to answer it.
        """
        group = self._known.get(beat.group_id)
        if group is None or not is_answered_none(group, beat) or self._under_way.may_change(beat.group_id):
            return None
        held = self._groups.get(beat.group_id)
        if held is not None and self._has_expired_member(held, group, beat.received_at_ms):
            return None
        runs: list[HeartbeatRunRequest] = []
        if held is None:
            held = self._groups[beat.group_id] = _RememberedGroup(beat.generation_id)
        elif held.run is not None and (not held.run.takes(beat) or held.run.count >= MOST_IN_A_RUN):
            runs.append(self._hand_on(held, beat.received_at_ms))
        if held.generation_id != beat.generation_id:
            held.generation_id = beat.generation_id
            held.handed_on_ms.clear()
        self._keep(held, group, beat)
        if held.due_ms <= beat.received_at_ms:
            is_first = beat.member_id not in held.handed_on_ms
            runs += [self._hand_on(held, beat.received_at_ms)] if is_first else self.due(beat.received_at_ms)
        return runs

    def _keep(self, held: _RememberedGroup, group: KnownGroup, beat: HeartbeatRequest) -> None:
        now_ms, own_timeout_ms = beat.received_at_ms, group.members[beat.member_id].session_timeout_ms
        due_ms = now_ms
        handed_on_ms = held.handed_on_ms.get(beat.member_id)
        if handed_on_ms is not None:
            held_ms = min(group.shortest_session_timeout_ms // SHARE_OF_A_SESSION, LONGEST_HELD_MS)
            due_ms = min(now_ms + held_ms, handed_on_ms + own_timeout_ms // SHARE_OF_A_SESSION)
        if held.run is None:
            held.run, held.due_ms = RunPacker(beat), due_ms
            self._with_runs[beat.group_id] = held
        else:
            held.run.add(beat)
            held.due_ms = min(held.due_ms, due_ms)
        held.run_id, held.run_seq = beat.request_id, beat.request_seq
        if self.next_due_ms is None or held.due_ms < self.next_due_ms:
            self.next_due_ms = held.due_ms
        held.last_request_ms[beat.member_id] = now_ms
        held.first_end_ms = min(held.first_end_ms, now_ms + own_timeout_ms)

    # ------------------------------------------------------------ who is silent

    def note(self, request: GroupRequest) -> None:
        """Notes a request to the coordinator: it proves that its member is alive, if there is such a member."""
        if not isinstance(request, (*_OF_CLASSIC, ConsumerGroupHeartbeatRequest)):
            return
        group = self._known.get(request.group_id)
        if group is None or request.member_id not in group.members:
            return
        if isinstance(request, _OF_CLASSIC if group.is_classic else _OF_CONSUMER):
            held = self._groups.setdefault(request.group_id, _RememberedGroup(group.generation_id))
            held.last_request_ms[request.member_id] = request.received_at_ms
            timeout_ms = group.members[request.member_id].session_timeout_ms
            held.first_end_ms = min(held.first_end_ms, request.received_at_ms + timeout_ms)

    def _has_expired_member(self, held: _RememberedGroup, group: KnownGroup, now_ms: int) -> bool:
        """Whether a member that sent a request here has been silent for its whole session: no commit says so yet."""
        if now_ms < held.first_end_ms:
            return False
        held.last_request_ms = {one: at_ms for one, at_ms in held.last_request_ms.items() if one in group.members}
        ends = (at_ms + group.members[one].session_timeout_ms for one, at_ms in held.last_request_ms.items())
        held.first_end_ms = min(ends, default=now_ms + SURELY_OVER_MS)
        return held.first_end_ms <= now_ms

    def forget_those_elsewhere(self, group_id: str, asked_at_ms: int) -> None:
        """Forgets members that are silent here and that the coordinator keeps: they use other gateways."""
        held, group = self._groups.get(group_id), self._known.get(group_id)
        if held is None or group is None or asked_at_ms < held.first_end_ms:
            return
        for member_id, at_ms in list(held.last_request_ms.items()):
            member = group.members.get(member_id)
            if member is None or at_ms + member.session_timeout_ms + SURELY_OVER_MS <= asked_at_ms:
                del held.last_request_ms[member_id]

    def forget(self, group_id: str, member_id: str | None = None) -> None:
        """Forgets a member, or its whole group (None). Its held heartbeats are still handed on."""
        held = self._groups.get(group_id)
        if held is None:
            return
        if member_id is None:
            del self._groups[group_id]
        else:
            held.last_request_ms.pop(member_id, None)
            held.handed_on_ms.pop(member_id, None)

    # ------------------------------------------------------------ handing on

    def run_before(self, request: GroupRequest) -> Iterable[HeartbeatRunRequest]:
        """The heartbeats of the group that a request is for: they are handed on before it."""
        held = self._with_runs.get(group_id_of(request)) if self._with_runs else None
        return () if held is None else (self._hand_on(held, request.received_at_ms),)

    def due(self, now_ms: int) -> list[HeartbeatRunRequest]:
        """Runs that are due, and those past a third of their waiting time, so that all groups soon share one batch.

        If half were asked for, groups that are due seven and eight seconds after each other would never meet.
        """
        if self.next_due_ms is None or now_ms < self.next_due_ms:
            return []
        runs = [self._hand_on(held, now_ms) for held in list(self._with_runs.values()) if _may_go(held, now_ms)]
        self.next_due_ms = min((held.due_ms for held in self._with_runs.values()), default=None)
        return runs

    def rest(self, now_ms: int) -> list[HeartbeatRunRequest]:
        """Everything that is held."""
        return [self._hand_on(held, now_ms) for held in list(self._with_runs.values())]

    def _hand_on(self, held: _RememberedGroup, now_ms: int) -> HeartbeatRunRequest:
        packer, held.run = held.run, None
        assert packer is not None
        del self._with_runs[packer.group_id]
        run = packer.run(
            held.run_id,
            request_seq=held.run_seq,
            handed_on_ms=max(now_ms, packer.last_ms),
            is_answered=True,
        )
        group = self._known.get(packer.group_id)
        for one in run.members:
            if group is not None and one.member_id in group.members:
                held.handed_on_ms[one.member_id] = run.from_ms + one.beats[-1]
        return run


def _may_go(held: _RememberedGroup, now_ms: int) -> bool:
    assert held.run is not None
    return held.due_ms <= now_ms or 2 * (now_ms - held.run.from_ms) >= held.due_ms - now_ms
