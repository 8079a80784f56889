"""Appends requests in few commits: at once while they are few, otherwise once an interval.

Knows rows and where they go. Must not know what a request says, nor who waits for its answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from concurrent.futures import Executor

from rollcall.serve.gateway.tables.request_sink import NotAppended, RequestSink
from rollcall.tables.request_table import RequestRow, table_of

log = logging.getLogger("gateway")

_LINGER_S = 0.002
"""How long a flush waits for more requests after its first."""
_QUEUED_MAX_BYTES = 67_108_864
"""Most bytes that wait to be appended: a disk or a topic may be slower than clients."""
AT_ONCE_MAX = 10
"""How many appends may follow each other at once, after a pause of as many intervals."""


class Pace:
    """When appends may begin: a few at once, and on average one an interval. Times are of one clock, in seconds."""

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self._even_s = 0.0
        """When as many intervals have passed as there were appends."""

    def next_after(self, began_s: float) -> float:
        """The earliest time of the append after one that begins at this time."""
        self._even_s = max(self._even_s, began_s) + self._interval_s
        return self._even_s - (AT_ONCE_MAX - 1) * self._interval_s


class RequestWriter:
    """The queue before a request table or topic. not_taken: called for each row that could not be appended."""

    def __init__(
        self, requests: RequestSink, threads: Executor, interval_ms: int, not_taken: Callable[[str, Exception], None]
    ) -> None:
        self._requests = requests
        self._threads = threads
        self._interval_s = interval_ms / 1000
        self._not_taken = not_taken
        self._queue: list[tuple[RequestRow, int, Callable[[], None] | None]] = []
        self._queued_bytes = 0
        """Of all that is not appended yet."""
        self._wake = asyncio.Event()
        self._appending = asyncio.Lock()
        self.is_failing = False
        """Whether requests could not be appended the last time."""

    def has_room_for(self, size_bytes: int) -> bool:
        return self._queued_bytes + size_bytes <= _QUEUED_MAX_BYTES

    def put(self, row: RequestRow, appended: Callable[[], None] | None = None) -> None:
        """A row behind all others. appended: called once it is in the table."""
        size_bytes = row.size_bytes
        self._queue.append((row, size_bytes, appended))
        self._queued_bytes += size_bytes
        self._wake.set()

    async def write(self) -> None:
        """Appends what is queued, for ever."""
        loop = asyncio.get_running_loop()
        pace = Pace(self._interval_s)
        while True:
            await self._wake.wait()
            await asyncio.sleep(_LINGER_S)
            self._wake.clear()
            next_s = pace.next_after(loop.time())
            # Stopping this task does not stop an append: its rows have left the queue.
            await asyncio.shield(self.flush())
            await asyncio.sleep(max(0.0, next_s - loop.time()))

    async def flush(self) -> None:
        async with self._appending:
            queue, self._queue = self._queue, []
            if queue:
                if await self._append([row for row, _, _ in queue]):
                    for _, _, appended in queue:
                        if appended is not None:
                            appended()
                self._queued_bytes -= sum(size_bytes for _, size_bytes, _ in queue)

    async def _append(self, rows: list[RequestRow]) -> bool:
        """Whether all of them are in the table."""
        refused: Iterable[RequestRow] = rows
        try:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._threads, lambda: self._requests.append(table_of(rows)))
            self.is_failing = False
            return True
        except Exception as error:
            if isinstance(error, NotAppended):
                refused = [row for row in rows if row.request_id in error.request_ids]
            # A row that is too long for the topic does not concern the others.
            self.is_failing = not (isinstance(error, NotAppended) and error.are_too_long)
            for row in refused:
                self._not_taken(row.request_id, error)
            log.error("requests: some of %d could not be appended: %s", len(rows), error)
            return False
