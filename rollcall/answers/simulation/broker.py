"""The broker's side of a run: the protocol's core, driven by arrivals and by its own deadlines.

Knows the caller's rule of the core (what is due before an arrival fires before it); knows no rule of the protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from rollcall.answers.clients.events import MemberRequest
from rollcall.answers.simulation.record import GroupEffect, Record
from rollcall.answers.simulation.virtual_time import DEADLINE, VirtualTime
from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.no_single_group import find_coordinator
from rollcall.coordinator_udfs.protocol.step import expire_due, next_deadline_ms, step
from rollcall.schemas.effects import Effect, Reply
from rollcall.schemas.fan_out import group_id_of
from rollcall.schemas.messages import FindCoordinatorRequest, GroupRequest, Response

NODE_ID, HOST, PORT = 0, "localhost", 9092


class SimulatedCoordinator:
    """Every group of a run; each answer is given to `answer`, with the id of its request."""

    def __init__(
        self, config: GroupConfig, time: VirtualTime, record: Record, answer: Callable[[str, Response], None]
    ) -> None:
        self.config = config
        self.groups: dict[str, Group] = {}
        self._time = time
        self._record = record
        self._answer = answer
        self._woken_at: dict[str, int] = {}
        self._arrivals = 0

    def see_topics(self, topics: Mapping[str, int]) -> None:
        """Sees these topics from now on, as a broker does beside its requests."""
        version = self.config.topics_version + 1
        self.config = replace(self.config, topics=dict(topics), topics_version=version)

    def receive(self, request: MemberRequest, client_host: str) -> None:
        """A request arrives now: its time, its place and its host are filled in."""
        now_ms = self._time.now_ms
        if isinstance(request, FindCoordinatorRequest):
            self._answer(request.request_id, find_coordinator(request, NODE_ID, HOST, PORT))
            return
        self._arrivals += 1
        request.received_at_ms, request.request_seq, request.client_host = now_ms, self._arrivals, client_host
        self._record.arrived.append(request)
        self._step(request, now_ms)

    def _step(self, request: GroupRequest, now_ms: int) -> None:
        group_id = group_id_of(request)
        group = self.groups.setdefault(group_id, Group(group_id))
        effects = expire_due(group, now_ms - 1, self.config)
        effects += step(group, request, now_ms, self.config)
        self._tell(group_id, effects)
        self._come_back(group)

    def _wake(self, group_id: str, due_ms: int) -> None:
        if self._woken_at.get(group_id) != due_ms:
            return
        del self._woken_at[group_id]
        group = self.groups[group_id]
        self._tell(group_id, expire_due(group, due_ms, self.config))
        self._come_back(group)

    def _come_back(self, group: Group) -> None:
        """Wake the group at its next deadline, unless it wakes earlier anyway."""
        due_ms = next_deadline_ms(group)
        woken_at_ms = self._woken_at.get(group.group_id)
        if due_ms is None or (woken_at_ms is not None and woken_at_ms <= due_ms):
            return
        self._woken_at[group.group_id] = due_ms
        self._time.at(due_ms, self._wake, group.group_id, due_ms, rank=DEADLINE)

    def _tell(self, group_id: str, effects: list[Effect]) -> None:
        for effect in effects:
            self._record.effects.append(GroupEffect(group_id, effect))
            if isinstance(effect, Reply):
                self._answer(effect.request_id, effect.response)
