"""`make replay LOG=<dump>`: a dump of __consumer_offsets through the stream, keyed by group, into a home of its own.

The dump is read once, into the home's table of records, and with it which topic has which id; then one streaming query
folds every group's records. Knows how the parts go together; must not know a format, a record or a rule.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console

from duck_sql.engine import ask
from jobs.config import JobConfig
from jobs.home import Home
from jobs.replay.report import tell_rebalances, tell_where
from jobs.shown.terminal import say
from jobs.spark.home_session import home_session
from jobs.stream.home_tables import open_quarantine, properties_of
from jobs.stream.quarantine import quarantine_of_lines
from jobs.stream.query import failure_of
from jobs.stream.topic_histories import tell_histories
from jobs.stream.writers.driver_writer import DriverWriter
from offsets_topic.dumps.log_record import BadLine, LogRecord
from offsets_topic.dumps.reading import Dump
from offsets_topic.records.decoding import Record, decode, group_id_of
from offsets_topic.records.layout import RecordError
from offsets_topic.topic_names import names_of
from offsets_topic.turns import NOTHING_FOLLOWS
from programs.errors import UserError
from request_log.recorded import Quarantined
from schemas.tables import RECORDS
from tables.opening import open_table

RECORDS_A_COMMIT = 50_000
FILES_A_BATCH = 8
"""So many commits of the table of records are folded in one batch, which bounds what the driver holds at once."""
SOURCE = "offsets-topic"
UNREADABLE = "cannot be read: see the quarantine"
_GROUPS = """
    select group_id, case effect
        when 'group_not_covered' then concat('is a ', cause, ' group, whose records are not read')
        else concat('was there before, found as of ', date_format(at, 'yyyy-MM-dd HH:mm:ss.SSS'), ' UTC at generation ',
          generation_id) end as told
    from effects where effect in ('group_not_covered', 'group_found') order by group_id
"""
_CAUSES = """
    select count(*) rebalances, count_if(cause = 'unknown') open, count_if(cause <> 'unknown' and is_inferred) inferred,
      count_if(cause <> 'unknown' and not is_inferred) facts
    from rebalances
"""


class TopicReplayError(UserError):
    """A replay of a dump that cannot be done; the text says why."""


@dataclass
class TopicReplay:
    """One dump on one home. `run` leaves the history in the home's tables."""

    home: Home
    config: JobConfig
    path: Path
    records: int = 0
    last_at_ms: int = 0
    """When the latest record was written."""
    groups: set[str] = field(default_factory=set)
    skipped: Counter[str] = field(default_factory=Counter)
    bad: list[BadLine] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)

    def run(self, spark: SparkSession, console: Console) -> None:
        """Raises DumpError: the path holds no dump. TopicReplayError: the query failed."""
        with console.status("reading the dump"):
            self._import()
        with console.status(f"folding {self.records} records of {len(self.groups)} groups"):
            self._fold(spark)

    def _import(self) -> None:
        open_table(self.home.records, RECORDS, properties_of(self.config))
        open_quarantine(self.home, self.config)
        dump = Dump(self.path, self.bad.append)
        self.names = names_of(self._written(dump))
        self._write([(group, *NOTHING_FOLLOWS) for group in sorted(self.groups)])
        self.skipped += dump.skipped
        self.skipped["is of an aborted transaction"] += dump.transactions.aborted
        self.skipped["is of a transaction that has no end yet"] += dump.transactions.unfinished
        if self.bad:
            unfit = [Quarantined(line.file, line.line, line.reason, line.text) for line in self.bad]
            write_deltalake(self.home.quarantine, quarantine_of_lines(unfit), mode="append")

    def _written(self, dump: Iterable[LogRecord]) -> Iterator[Record]:
        """Writes every record to the table, and gives those that can be read."""
        left = iter(dump)
        while run := list(islice(left, RECORDS_A_COMMIT)):
            rows: list[tuple[object, ...]] = []
            for record in run:
                group_id = group_id_of(record.key)
                rows.append((group_id, *record[:5]))
                if group_id is not None:
                    self.groups.add(group_id)
                try:
                    told = decode(*record[:5])
                except RecordError:
                    self.skipped[UNREADABLE] += 1
                    continue
                if isinstance(told, Record):
                    yield told
                else:
                    self.skipped[told.reason] += 1
            self._write(rows)
            self.records += len(rows)
            self.last_at_ms = max(self.last_at_ms, *(record.timestamp_ms for record in run))

    def _write(self, rows: Sequence[tuple[object, ...]]) -> None:
        if rows:
            values = dict(zip(RECORDS.names, zip(*rows, strict=True), strict=True))
            write_deltalake(self.home.records, pa.table(values, schema=RECORDS.arrow), mode="append")

    def _fold(self, spark: SparkSession) -> None:
        records = spark.readStream.format("delta").option("maxFilesPerTrigger", FILES_A_BATCH).load(self.home.records)
        writer = DriverWriter(self.home, self.config, source=SOURCE)

        def write(batch: DataFrame, batch_id: int) -> None:
            writer.write(batch, batch_id)

        texts = tell_histories(records, self.names, self.config.quarantine_raw_max_bytes)
        stream = texts.writeStream.queryName("offsets-topic").outputMode("append").foreachBatch(write)
        query = stream.option("checkpointLocation", self.home.checkpoint).trigger(availableNow=True).start()
        writer.query_id.set_result(query.id)
        query.awaitTermination()
        reason = failure_of(query)
        if reason is not None:
            raise TopicReplayError(f"the replay failed: {reason}")


def replay_topic(home: Home, path: Path, config: JobConfig, console: Console) -> None:
    """Replays a dump on a home that is locked and settled, and reports. Raises UserError."""
    work = TopicReplay(home, config, path)
    with console.status("starting Spark"):
        spark = home_session(home, "rollcall replay", is_brief=True)
    started = time.monotonic()
    work.run(spark, console)
    _tell(console, work, time.monotonic() - started)


def _tell(console: Console, work: TopicReplay, seconds: float) -> None:
    """What became of the records, which groups there are, and which rebalances."""
    tell_records(console, work, seconds)
    tell_rebalances(console, work.home)
    rebalances, left_open, concluded, proven = next(iter(ask(work.home.path, _CAUSES).rows))
    if rebalances:
        say(
            console,
            f"of {rebalances} causes the topic proves {proven}, {concluded} are concluded, and {left_open} are open: "
            "docs/offsets-topic.md has the rules",
        )
    tell_where(console, work.home)


def tell_records(console: Console, work: TopicReplay, seconds: float) -> None:
    """What became of the records, and which groups were there before or are not covered."""
    say(console, f"{work.records} records of {len(work.groups)} groups read in {seconds:.1f} s")
    for reason, count in sorted((+work.skipped).items(), key=lambda item: -item[1]):
        say(console, f"  {count}: {reason}")
    if work.bad:
        say(console, f"  {len(work.bad)} lines cannot be read: see the quarantine")
    for group_id, told in ask(work.home.path, _GROUPS).rows:
        say(console, f"  {group_id}: {told}")
