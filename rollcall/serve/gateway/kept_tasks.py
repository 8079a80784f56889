"""Tasks that run as long as the gateway does: a failure is logged and counted, and the task starts again.

Knows asyncio. Must not know what a task does.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable

log = logging.getLogger("gateway")

AGAIN_AFTER_S = 1.0
SHOWN_FOR_S = 60.0
"""How long /health reports a task that ended by an error."""


class KeptTasks:
    """The tasks of one part of the gateway."""

    def __init__(self) -> None:
        self.failures: Counter[str] = Counter()
        """How often each task ended by an error."""
        self._failed_at: dict[str, float] = {}
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Does the work from now on, until `close`. name: as log, metric and /health call it."""
        self._tasks.append(asyncio.create_task(self._keep(name, work), name=name))

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def failing(self) -> list[str]:
        return [name for name, at_s in self._failed_at.items() if time.monotonic() - at_s < SHOWN_FOR_S]

    async def _keep(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await work()
                return
            except Exception:
                log.exception("%s: ended by an error; it begins again in %g s", name, AGAIN_AFTER_S)
                self.failures[name] += 1
                self._failed_at[name] = time.monotonic()
            await asyncio.sleep(AGAIN_AFTER_S)
