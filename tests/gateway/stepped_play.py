"""One of the scenarios that a real broker answered, played over the wire in virtual time, whatever the machine's pace.

Time goes on only once every request has come to the core, and every answer to its client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from tests.gateway.core_backend import SteppedBackend
from tests.gateway.parity_play import Connections, WirePlaying
from tests.protocol.scenario import Playing, Scenario
from tests.protocol.scenario_answers import Answer
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
            await self._pass_until(step["request"]["at_ms"])
            values = await self._values(self._slowed(step["request"]))
            self._tasks.append(asyncio.create_task(self._ask(number, step, values)))
            await self._settled()
        await self._pass_until(self.scenario.end_ms + 1)
        for task in self._tasks:
            if not task.cancel():
                task.result()
        await asyncio.wait(self._tasks)
        return self._answered()

    async def _pass_until(self, at_ms: int) -> None:
        while self._backend.pass_until(at_ms):
            await self._settled()

    async def _settled(self) -> None:
        await until_true(lambda: sum(not task.done() for task in self._tasks) == self._backend.unanswered)

    def _when(self, number: int, reply: Mapping[str, Any]) -> int | list[int] | None:
        return Playing._when(self, number, reply)

    def _now_ms(self) -> float:
        return self._backend._now()
