"""When a query without new requests runs a batch: once its earliest deadline has passed, or each tick if it is unknown.

The job notes after each batch, in its status, until when no further batch is needed. Before a run's first note, a batch
runs each tick. A source in which the job finds nothing to do says so by the time of the status' last change, without a
batch and without a new file. Beside a source that does not tick (Kafka's), a source without rows makes Spark run a
batch each tick, so deadlines fire in an idle query too.

Spark asks a Python source for its offsets in a process of the job's group, so Ctrl-C reaches it as well. If it ended
then, the running batch could not finish; so it ignores the signal, and ends with the JVM that it talks to. Knows that
status, the system's clock and signals; must not know requests.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow

from rollcall.schemas.tables import REQUESTS
from rollcall.tables.job_status import read_status_file

LOOKED_EVERY_MS = 1000
"""How often a source at rest says that it has looked."""
FORMAT = "rollcall_ticks"


class Pace:
    """Gives the ticks of a source's offset. A batch runs when the tick changes.

    tick_ms: 0: it never does. status: the file with the job's note; empty: there is none.
    """

    def __init__(self, tick_ms: int, status: str = "") -> None:
        self.tick_ms = tick_ms
        self._note = RestNote(status) if status else None
        self._tick = -1
        self._due_ms: int | None = None

    def tick(self, last: int) -> int:
        """The tick of the next offset; `last` if no batch is needed now."""
        if not self.tick_ms:
            return last
        now_ms = int(time.time() * 1000)
        rests_until_ms = None if self._note is None else self._note.rests_until_ms()
        tick = self.next(last, now_ms, rests_until_ms)
        if tick == last and self._note is not None and rests_until_ms is not None:
            self._note.looked(now_ms)
        return tick

    def next(self, last: int, now_ms: int, rests_until_ms: int | None) -> int:
        """As `tick`, at this moment and with this note; None: not known.

        If a batch leaves a passed deadline as it is, the next one comes a tick later.
        """
        tick = now_ms // self.tick_ms
        if rests_until_ms is None:
            is_wanted = tick != self._tick
        else:
            # Spark calls a group whose time is earlier than the batch's.
            is_wanted = rests_until_ms < now_ms and (tick != self._tick or rests_until_ms != self._due_ms)
        if not is_wanted:
            return last
        self._tick, self._due_ms = tick, rests_until_ms
        # Never more than one ahead of the clock: an earlier version, which only counts upwards, can continue from here.
        return tick if tick != last else last + 1


class RestNote:
    """The job's note as a source reads it, and that source's answer. status: the status' file."""

    def __init__(self, status: str) -> None:
        self._path = status
        self._seen: tuple[int, int] | None = None
        self._rests_until_ms: int | None = None
        self._looked_at_ms = 0

    def rests_until_ms(self) -> int | None:
        """Until when no batch is needed without requests; None: that is not known."""
        try:
            found = os.stat(self._path)
        except OSError:
            self._seen = None
            return None
        # Each status is a new file.
        seen = (found.st_ino, found.st_mtime_ns)
        if seen != self._seen:
            status = read_status_file(self._path)
            self._rests_until_ms = None if status is None else status.rests_until_ms
            self._seen = seen
        return self._rests_until_ms

    def looked(self, now_ms: int) -> None:
        """Says, about once a second, that nothing is to be done."""
        if 0 <= now_ms - self._looked_at_ms < LOOKED_EVERY_MS:
            return
        self._looked_at_ms = now_ms
        try:
            os.utime(self._path)
        except OSError:
            return
        self._seen = None


def load_ticks(spark: SparkSession, tick_ms: int, status: str = "") -> DataFrame:
    """A stream without requests that has a new offset each tick. status: see Pace."""
    spark.dataSource.register(Ticks)
    return spark.readStream.format(FORMAT).option("tick_ms", tick_ms).option("status", status).load()


class Ticks(DataSource):
    """Declares the source to Spark; options tick_ms and status."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return REQUESTS.ddl

    def streamReader(self, schema: Any) -> TicksReader:
        return TicksReader(int(self.options["tick_ms"]), self.options["status"])


class TicksReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets {"tick": the time in whole ticks}; a stream that ends when it is drained does not tick."""

    def __init__(self, tick_ms: int, status: str = "") -> None:
        outlive_signals()
        self._pace = Pace(tick_ms, status)

    def initialOffset(self) -> dict[str, int]:
        return {"tick": 0}

    def prepareForTriggerAvailableNow(self) -> None:
        self._pace.tick_ms = 0

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        return {"tick": self._pace.tick(start["tick"])}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return []

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        return iter(())


def outlive_signals() -> None:
    """Ignores SIGINT and SIGTERM in the process in which Spark asks for offsets: the job acts on them."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    # Not in a worker or a test.
    if spec is not None and spec.name == "pyspark.sql.streaming.python_streaming_source_runner":
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
