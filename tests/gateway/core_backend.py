"""A backend without tables: the pure core in this process, in real time or in steps. For what clients see of the
protocol.

Must not know the wire.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterable
from functools import partial

import msgspec

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.step import expire_due, next_deadline_ms, step
from rollcall.schemas.effects import Effect, Reply, RequestDropped
from rollcall.schemas.fan_out import group_id_of
from rollcall.schemas.messages import GroupRequest, HeartbeatRequest, HeartbeatResponse, Response
from rollcall.serve.gateway.backend import BackendError, Figures, Known


def answer_of_the_core(group: Group, request: GroupRequest, config: GroupConfig) -> Response | None:
    """What the coordinator answers a request at once, of the group as it is; None: it is parked."""
    at_ms = max(request.received_at_ms, group.updated_at_ms)
    replies = [effect for effect in step(group.copy(), request, at_ms, config) if isinstance(effect, Reply)]
    return next((reply.response for reply in replies if reply.request_id == request.request_id), None)


class CoreBackend:
    """Applies each request at once, and fires deadlines when they are due.

    is_silent: requests are taken and nothing comes of them. is_early: heartbeats are answered NONE at once.
    raises: what it fails with, as by a bug; fails: how it says that it could not.
    """

    def __init__(self, config: GroupConfig, gateway_id: str = "core") -> None:
        self.gateway_id = gateway_id
        self.config = config
        self.by_id: dict[str, Group] = {}
        self.effects: list[tuple[str, Effect]] = []
        self._waiting: dict[str, asyncio.Future[Response]] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._now_ms = 0
        self.is_silent = self.is_early = False
        self.raises: Exception | None = None
        self.fails: BackendError | None = None
        self.asked: list[GroupRequest] = []
        self.listed: list[Known] = []
        """Groups to list that are not there."""
        self.throttle_time_ms = 0
        """What every answer says."""

    async def start(self) -> None:
        self._loop = asyncio.get_running_loop()

    async def close(self) -> None:
        for timer in self._timers.values():
            timer.cancel()

    def groups(self) -> asyncio.Future[Iterable[Known]]:
        listing: asyncio.Future[Iterable[Known]] = self._loop.create_future()
        known = [
            (g.group_id, g.protocol_type or "", str(g.shown_state), g.group_type)
            for g in self.by_id.values()
            if g.is_known
        ]
        listing.set_result(self.listed or known)
        return listing

    def configured_groups(self) -> Iterable[str]:
        return [group.group_id for group in self.by_id.values() if group.configs]

    def figures(self) -> Figures:
        states = Counter(str(group.shown_state) for group in self.by_id.values())
        return Figures(parked=len(self._waiting), groups_by_state=states)

    @property
    def waiting(self) -> int:
        """How many requests are unanswered and still wanted."""
        return len(self._waiting)

    def submit(self, request: GroupRequest) -> asyncio.Future[Response] | Response:
        if self.raises is not None:
            raise self.raises
        if self.is_early and isinstance(request, HeartbeatRequest):
            return HeartbeatResponse()
        self.asked.append(request)
        answer: asyncio.Future[Response] = self._loop.create_future()
        if self.fails is not None:
            answer.set_exception(self.fails)
            return answer
        self._waiting[request.request_id] = answer
        answer.add_done_callback(partial(self._forget, request.request_id))
        if not self.is_silent:
            self._apply(request)
        return answer

    def _forget(self, request_id: str, _: asyncio.Future[Response]) -> None:
        self._waiting.pop(request_id, None)

    def _now(self) -> int:
        self._now_ms = max(self._now_ms, time.time_ns() // 1_000_000)
        return self._now_ms

    def _apply(self, request: GroupRequest) -> None:
        now_ms = self._now()
        group_id = group_id_of(request)
        group = self.by_id.get(group_id) or Group(group_id)
        self._tell(group_id, expire_due(group, now_ms - 1, self.config))
        self._tell(group_id, step(group, request, now_ms, self.config))
        self._come_back(group)

    @property
    def unanswered(self) -> int:
        """How many requests were not answered: those that wait, and those that were dropped."""
        return len(self._waiting) + sum(isinstance(effect, RequestDropped) for _, effect in self.effects)

    def _expire(self, group: Group) -> None:
        self._tell(group.group_id, expire_due(group, self._now(), self.config))
        self._come_back(group)

    def _come_back(self, group: Group) -> None:
        timer = self._timers.pop(group.group_id, None)
        if timer is not None:
            timer.cancel()
        if not group.is_kept:
            self.by_id.pop(group.group_id, None)
            return
        self.by_id[group.group_id] = group
        due_ms = next_deadline_ms(group)
        if due_ms is not None:
            delay_s = max(0, due_ms - self._now() + 1) / 1000
            self._timers[group.group_id] = self._loop.call_later(delay_s, self._expire, group)

    def _tell(self, group_id: str, effects: list[Effect]) -> None:
        for effect in effects:
            self.effects.append((group_id, effect))
            match effect:
                case Reply() if effect.request_id in self._waiting:
                    reported = msgspec.structs.replace(effect.response, throttle_time_ms=self.throttle_time_ms)
                    self._waiting.pop(effect.request_id).set_result(reported)
                case RequestDropped():
                    self._waiting.pop(effect.request_id, None)


class SteppedBackend(CoreBackend):
    """The same in virtual time, which goes on when `pass_until` says so. No two requests share a millisecond."""

    def _now(self) -> int:
        return self._now_ms

    def _come_back(self, group: Group) -> None:
        if group.is_kept:
            self.by_id[group.group_id] = group
        else:
            self.by_id.pop(group.group_id, None)

    def _apply(self, request: GroupRequest) -> None:
        super()._apply(request)
        group = self.by_id.get(group_id_of(request))
        if group is not None:
            self._expire(group)

    def pass_until(self, at_ms: int) -> bool:
        """Goes on to the first deadline before at_ms and fires it; False: there is none, and it is at_ms now."""
        due = [(due_ms, group.group_id) for group in self.by_id.values() if (due_ms := next_deadline_ms(group))]
        self._now_ms, first = min([*due, (at_ms, "")])
        if self._now_ms == at_ms:
            return False
        self._expire(self.by_id[first])
        return True
