"""The pure core driven by request rows, many groups in one virtual time; recorded answers are compared on the way.

Deadlines fire in order of time over all groups; before a request at T every earlier one, as in the live job; at the end
all up to the last moment of the log. Knows rows and the core's entrances; knows no line and no file.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator

from coordinator_udfs.protocol.config import GroupConfig
from coordinator_udfs.protocol.effects import Effect, Reply, RequestDropped
from coordinator_udfs.protocol.group import Group
from coordinator_udfs.protocol.step import expire_due, next_deadline_ms, step
from request_log.parity import Parity
from request_log.recorded import Row


class Replay:
    """Groups by id, parity so far, and what is asked and not answered yet. `run` gives (group id, effect) pairs."""

    def __init__(self, config: GroupConfig) -> None:
        self.config = config
        self.groups: dict[str, Group] = {}
        self.parity = Parity()
        self._open: dict[str, Row] = {}
        self._due: list[tuple[int, str]] = []

    def run(self, rows: Iterable[Row], end_ms: int | None = None) -> Iterator[tuple[str, Effect]]:
        """All effects of all rows. end_ms: the log's last moment, up to which deadlines fire; None: the last row's."""
        at_ms = 0
        for row in rows:
            at_ms = row.request.received_at_ms
            yield from self._expire(at_ms - 1)
            yield from self._apply(row, at_ms)
        yield from self._expire(at_ms if end_ms is None else end_ms)
        for row in self._open.values():
            self.parity.note(row, None)
        self._open.clear()

    def _apply(self, row: Row, at_ms: int) -> Iterator[tuple[str, Effect]]:
        group = self.groups.get(row.group_id)
        if group is None:
            group = self.groups[row.group_id] = Group(row.group_id)
        due_ms = group.next_due_ms
        if row.recorded is not None:
            self._open[row.request.request_id] = row
        effects = step(group, row.request, at_ms, self.config)
        yield from self._told(row.group_id, effects)
        if not group.is_known:
            del self.groups[row.group_id]
        elif group.next_due_ms is not None and group.next_due_ms != due_ms:
            heapq.heappush(self._due, (group.next_due_ms, row.group_id))

    def _expire(self, until_ms: int) -> Iterator[tuple[str, Effect]]:
        while self._due and self._due[0][0] <= until_ms:
            due_ms, group_id = heapq.heappop(self._due)
            group = self.groups.get(group_id)
            if group is None or next_deadline_ms(group) != due_ms:
                continue
            yield from self._told(group_id, expire_due(group, due_ms, self.config))
            again_ms = next_deadline_ms(group)
            if not group.is_known:
                del self.groups[group_id]
            elif again_ms is not None:
                heapq.heappush(self._due, (again_ms, group_id))

    def _told(self, group_id: str, effects: Iterable[Effect]) -> Iterator[tuple[str, Effect]]:
        for effect in effects:
            if isinstance(effect, Reply | RequestDropped):
                row = self._open.pop(effect.request_id, None)
                if row is not None:
                    self.parity.note(row, effect.response if isinstance(effect, Reply) else None)
            yield group_id, effect
