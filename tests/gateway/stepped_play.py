"""One of the scenarios that a real broker answered, played over the wire in virtual time, whatever the machine's pace.

Time goes on only once every request has come to the core, and every answer to its client.
"""

from __future__ import annotations

import asyncio

from tests.gateway.core_backend import SteppedBackend
from tests.gateway.parity_play import Connections, WirePlaying
from tests.protocol.scenario import Answer, Scenario, to_bytes
from tests.protocol.scenario_requests import line_of
from tests.waiting import until_true


class SteppedPlaying(WirePlaying):
    """A scenario on its way to a gateway of its own, over this backend."""

    def __init__(self, scenario: Scenario, connections: Connections, backend: SteppedBackend) -> None:
        super().__init__(scenario, connections, 1.0)
        self._backend = backend
        self._tasks: list[asyncio.Task[None]] = []

    async def play(self) -> dict[int, Answer]:
        """By the number of the step: what it was answered, and when."""
        self._loop = asyncio.get_running_loop()
        for number, step in enumerate(self.scenario.steps, 1):
            await self._pass_until(step["at_ms"])
            line = line_of(number, self._stretched(step), to_bytes)
            self._tasks.append(asyncio.create_task(self._ask(number, step, line, await self._values(line))))
            await self._settled()
        await self._pass_until(self.scenario.end_ms + 1)
        for task in self._tasks:
            if not task.cancel():
                task.result()
        await asyncio.wait(self._tasks)
        return {number: self._timed(number) for number in range(1, len(self._tasks) + 1)}

    async def _pass_until(self, at_ms: int) -> None:
        while self._backend.pass_until(at_ms):
            await self._settled()

    async def _settled(self) -> None:
        await until_true(lambda: sum(not task.done() for task in self._tasks) == self._backend.unanswered)

    def _released(self, number: int, answered_at: float) -> int | list[int] | None:
        return self._when(self.scenario.steps[number - 1]["at_ms"], round(answered_at * 1000))

    def _now_s(self) -> float:
        return self._backend._now() / 1000
