"""Where a gateway hands requests over, as its backend sees it: the request table of a home on this machine, or a topic.

They are appended in few commits: at once while they are few, otherwise once an interval. Knows rows, where they go and
what may go wrong. Must not know what a request says, nor who waits for its answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from typing import NamedTuple, Protocol

import pyarrow as pa

from rollcall.programs.errors import ConfigError
from rollcall.programs.kafka_options import KAFKA_PREFIX
from rollcall.tables.request_table import RequestRow, table_of

SOURCE = "spark.coordinator.source"
TOPIC = "spark.coordinator.kafka.topic"
log = logging.getLogger("gateway")
_LINGER_S = 0.002
"""How long a flush waits for more requests after its first."""
_QUEUED_MAX_BYTES = 67_108_864
"""Most bytes that wait to be appended: a disk or a topic may be slower than clients."""
AT_ONCE_MAX = 10
"""How many appends may follow each other at once, after a pause of as many intervals."""


class Topic(NamedTuple):
    """The Kafka topic that a job reads."""

    name: str
    options: Mapping[str, str]
    """The settings `kafka.*`: where its brokers are, and how they know who comes."""


def topic_of(pairs: Mapping[str, str]) -> Topic | None:
    """The topic that the coordinator's own settings name; None: it reads the home's table. Raises ConfigError."""
    if pairs.get(SOURCE, "").strip() != "kafka":
        return None
    name = pairs.get(TOPIC, "").strip()
    options = {key: text.strip() for key, text in pairs.items() if key.startswith(KAFKA_PREFIX)}
    if not name:
        raise ConfigError(f"needs {TOPIC}", SOURCE, "kafka")
    if not options.get("kafka.bootstrap.servers"):
        raise ConfigError("needs kafka.bootstrap.servers", SOURCE, "kafka")
    return Topic(name, options)


class RequestSink(Protocol):
    """Where requests are appended: `rollcall.tables.request_table`, or a topic. Called from one thread at a time."""

    def open(self) -> None:
        """Ready when it returns. Raises OSError."""

    def append(self, rows: pa.Table) -> None:
        """All the rows, at least one, in their order. Raises OSError: none was taken; NotAppended: these were not."""

    def is_alone(self) -> bool:
        """Whether no other program's request comes before those appended by now. May be called by any thread."""

    def close(self) -> None:
        """Nothing more is appended."""


class NotAppended(OSError):
    """Some of the requests were not handed over. request_ids: which. are_too_long: nothing else was wrong."""

    def __init__(self, why: str, request_ids: frozenset[str], *, are_too_long: bool = False) -> None:
        super().__init__(why)
        self.request_ids, self.are_too_long = request_ids, are_too_long


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
