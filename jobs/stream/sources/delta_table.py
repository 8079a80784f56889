"""The embedded source: the home's request table, read commit by commit, with a tick of the clock in its offset.

Clients and gateways append to the table; this reads what each commit appended. The offset is the table's version and
a tick, which changes when an idle query needs a batch, as for a deadline (`pace`).

Knows versions and Parquet files; must not know what a request says. Local disk only: a cluster reads from Kafka.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from rollcall.jobs.config import JobConfig
from rollcall.jobs.stream.sources.pace import Pace, outlive_signals
from rollcall.schemas.tables import REQUESTS
from rollcall.tables.home import Home
from rollcall.tables.rows import fitted
from rollcall.tables.versions import Versions

FORMAT = "rollcall_requests"
WAITS_S = 0.25
"""A look for requests takes at most this long, so that a query can be stopped."""
LOOKS_EVERY_S = 0.02
_FILES_A_PARTITION = 8
_ROWS_WORTH_A_TASK = 20_000


def load_delta(spark: SparkSession, home: Home, config: JobConfig, status: str = "") -> DataFrame:
    """The home's request table as a stream. status: see Pace."""
    spark.dataSource.register(RequestTableSource)
    stream = spark.readStream.format(FORMAT).option("path", home.requests).option("status", status)
    return stream.option("tick_ms", config.source_tick_ms).option("max_requests", config.source_max_requests).load()


class RequestTableSource(DataSource):
    """Declares the source to Spark; options path, status, tick_ms (0: no ticks) and max_requests (a batch)."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return REQUESTS.ddl

    def streamReader(self, schema: Any) -> RequestTableReader:
        tick_ms, max_requests = int(self.options["tick_ms"]), int(self.options["max_requests"])
        return RequestTableReader(self.options["path"], tick_ms, max_requests, self.options["status"])


class Appended(NamedTuple):
    """What one commit appended."""

    paths: tuple[str, ...]
    """The Parquet files."""
    rows: int
    """How many rows they have; a file whose writer did not say counts as one row."""


class Files(InputPartition):
    """Parquet files for one task, which takes the n-th of several equal shares of the rows of each."""

    def __init__(self, paths: list[str], n: int = 0, shares: int = 1) -> None:
        self.paths = paths
        self.n = n
        self.shares = shares


class RequestTableReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets {"version": the last commit read, "tick": a number that changes for a batch without requests}."""

    def __init__(self, path: str, tick_ms: int, max_requests: int, status: str = "") -> None:
        outlive_signals()
        self.path = path
        self._log = Versions(Path(path))
        self._pace = Pace(tick_ms, status)
        self.max_requests = max_requests
        self._commits: dict[int, Appended] = {}
        self._is_checked = False
        self._last_version: int | None = None

    def initialOffset(self) -> dict[str, int]:
        return {"version": -1, "tick": 0}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxRows(self.max_requests)

    def prepareForTriggerAvailableNow(self) -> None:
        self._last_version = self._log.latest()
        self._pace.tick_ms = 0

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        """The version after as many whole commits as the limit takes, at least one; and the tick."""
        version = start["version"]
        if not self._is_checked:
            self._check(version)
        tick = self._tick_or_commit(version, start["tick"])
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        rows = 0
        while (most is None or rows < most) and version != self._last_version:
            commit = self._appended(version + 1)
            if commit is None or (rows and most is not None and rows + commit.rows > most):
                break
            version += 1
            rows += commit.rows
        return {"version": version, "tick": tick}

    def _tick_or_commit(self, version: int, last: int) -> int:
        """Waits for a commit after this version, or until a batch is needed, but not for long; returns the tick.

        A question of Spark's costs ten times as much as a look at the log.
        """
        until_s = time.monotonic() + WAITS_S
        while True:
            tick = self._pace.tick(last)
            is_over = self._last_version is not None or not self._pace.tick_ms or time.monotonic() > until_s
            if tick != last or is_over or self._log.has(version + 1):
                return tick
            time.sleep(LOOKS_EVERY_S)

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        paths: list[str] = []
        rows = 0
        for version in range(start["version"] + 1, end["version"] + 1):
            commit = self._appended(version)
            if commit is None:
                raise RuntimeError(f"the request table {self.path} has lost its commit {version} before it was read")
            paths += commit.paths
            rows += commit.rows
        cores = os.cpu_count() or 1
        if len(paths) < cores <= rows // _ROWS_WORTH_A_TASK:
            return [Files(paths, n, cores) for n in range(cores)]
        # An idle tick has no files and starts no task.
        count = min(-(-len(paths) // _FILES_A_PARTITION), cores)
        return [Files(paths[n::count]) for n in range(count)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Files)
        for path in partition.paths:
            rows = fitted(pq.ParquetFile(path).read(), REQUESTS.arrow)
            first, last = (rows.num_rows * n // partition.shares for n in (partition.n, partition.n + 1))
            yield from rows.slice(first, last - first).to_batches()

    def commit(self, end: dict[str, int]) -> None:
        for version in [version for version in self._commits if version <= end["version"]]:
            del self._commits[version]

    def stop(self) -> None:
        self._commits.clear()

    def _check(self, version: int) -> None:
        """Raises RuntimeError: the log has lost commits after this version, or is another table's."""
        versions = self._log.versions()
        if not versions:
            return
        if version > max(versions):
            raise RuntimeError(
                f"the request table {self.path} ends at version {max(versions)}, but was read up to {version}: "
                f"it is not the table that this checkpoint belongs to"
            )
        if version + 1 < min(versions):
            raise RuntimeError(
                f"the request table {self.path} begins at version {min(versions)}, but was read up to {version} only: "
                f"its log was cleaned before it was read"
            )
        self._is_checked = True

    def _appended(self, version: int) -> Appended | None:
        """What a version of the table appended, None if its commit is not there yet."""
        found = self._commits.get(version)
        if found is not None:
            return found
        files = self._log.appended(version)
        if files is None:
            return None
        paths = tuple(map(str, files))
        rows = sum(1 if file.rows is None else file.rows for file in files.values())
        self._commits[version] = Appended(paths, rows)
        return self._commits[version]
