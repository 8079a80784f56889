"""The pure core driven by a log's requests, many groups in one virtual time; recorded answers are compared on the way.

Deadlines fire in order of time over all groups; before a request at T every earlier one, as in the live job; at the end
all up to the last moment of the log. Knows ordered requests and the core's entrances; knows no line and no file.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.step import expire_due, next_deadline_ms, next_due_ms, step
from rollcall.inputs.request_log.parity import Parity
from rollcall.inputs.request_log.recorded import OrderedRequest
from rollcall.schemas.effects import Effect, Reply, RequestDropped


class Replay:
    """Any number of groups. `run` gives (group id, effect) pairs; `groups` and `parity` are as far as it has run."""

    def __init__(self, config: GroupConfig) -> None:
        self.config = config.of_a_recording()
        self.groups: dict[str, Group] = {}
        self.parity = Parity()
        self._open: dict[str, OrderedRequest] = {}
        self._due: list[tuple[int, str]] = []

    def run(self, requests: Iterable[OrderedRequest], end_ms: int | None = None) -> Iterator[tuple[str, Effect]]:
        """All effects. end_ms: the log's last moment, up to which deadlines fire; None: the last request's."""
        at_ms = 0
        for ordered in requests:
            at_ms = ordered.request.received_at_ms
            yield from self._expire(at_ms - 1)
            yield from self._apply(ordered, at_ms)
        yield from self._expire(at_ms if end_ms is None else end_ms)
        for ordered in self._open.values():
            self.parity.note(ordered, None)
        self._open.clear()

    def _apply(self, ordered: OrderedRequest, at_ms: int) -> Iterator[tuple[str, Effect]]:
        group = self.groups.get(ordered.group_id)
        if group is None:
            group = self.groups[ordered.group_id] = Group(ordered.group_id)
        due_ms = group.next_due_ms
        if ordered.recorded is not None:
            self._open[ordered.request.request_id] = ordered
        effects = step(group, ordered.request, at_ms, self.config)
        yield from self._reported(ordered.group_id, effects)
        if not group.is_kept:
            del self.groups[ordered.group_id]
        elif group.next_due_ms is not None and group.next_due_ms != due_ms:
            heapq.heappush(self._due, (group.next_due_ms, ordered.group_id))

    def _expire(self, until_ms: int) -> Iterator[tuple[str, Effect]]:
        while self._due and self._due[0][0] <= until_ms:
            due_ms, group_id = heapq.heappop(self._due)
            group = self.groups.get(group_id)
            if group is None or next_deadline_ms(group) != due_ms:
                continue
            if next_due_ms(group, until_ms, self.config) == due_ms:
                yield from self._reported(group_id, expire_due(group, due_ms, self.config))
            again_ms = next_deadline_ms(group)
            if not group.is_kept:
                del self.groups[group_id]
            elif again_ms is not None:
                heapq.heappush(self._due, (again_ms, group_id))

    def _reported(self, group_id: str, effects: Iterable[Effect]) -> Iterator[tuple[str, Effect]]:
        for effect in effects:
            if isinstance(effect, Reply | RequestDropped):
                ordered = self._open.pop(effect.request_id, None)
                if ordered is not None:
                    self.parity.note(ordered, effect.response if isinstance(effect, Reply) else None)
            yield group_id, effect
