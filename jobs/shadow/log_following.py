"""Follows one request log on a home: lines become requests, and the stream answers them.

Knows the feed and the query and that settings which the log shows restart it; must not know how a program is started
and ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from coordinator_udfs.protocol.config import GroupConfig
from coordinator_udfs.settings import Clock
from jobs.config import JobConfig, Writer
from jobs.home import Home
from jobs.replay.report import given_up
from jobs.shadow.feed import Kept, ShadowFeed, Tail
from jobs.shown.terminal import Teller
from jobs.stream.query import start, stop_after_batch, unread_commits
from jobs.stream.upkeep import Upkeep
from programs.settings import from_texts
from tables.delta_log import DeltaLog
from tables.job_status import StatusWriter

SHADOW = "shadow"
WRITER: Writer = "driver"
OUT_OF_ORDER_MS = 86_400_000
"""How far apart in time rows of different groups may be: rows of one group may wait while those of another go on."""


def shadow_config(settings: Mapping[str, str]) -> JobConfig:
    """The job's configuration: its clock is the log's, and groups may be at different times. Raises ConfigError."""
    return JobConfig(
        group=from_texts(GroupConfig, settings),
        clock=Clock.EVENT,
        source="request-log",
        source_tick_ms=0,
        watermark_delay_ms=OUT_OF_ORDER_MS,
        effects_writer=WRITER,
    )


class LogFollowing:
    """A log that is followed on a home that is locked and settled. status: where the query's batches are told of."""

    def __init__(
        self, home: Home, kept: Kept, tail: Tail, spark: SparkSession, teller: Teller, status: StatusWriter
    ) -> None:
        self.home = home
        self.kept = kept
        self.feed = ShadowFeed(home, shadow_config(kept.settings), kept, tail)
        self._spark, self._teller, self._status = spark, teller, status
        self.query = self._start()

    def step(self) -> bool:
        """One look at the log; whether there may be more lines at once."""
        has_more = self.feed.step()
        if self.feed.has_learnt:
            self._learn()
        return has_more

    def upkeep(self) -> Upkeep:
        return Upkeep(self.home, shadow_config({}), lambda: unread_commits(self.query, self.home))

    @property
    def counts(self) -> str:
        tally = self.feed.live.tally
        return f"{tally.read} lines read, {tally.used} used, {tally.quarantined.total()} in quarantine"

    def lines_told(self) -> Iterator[str]:
        """What was given up."""
        return iter(given_up(self.feed.live.tally))

    def version(self) -> int:
        """The request table's last version."""
        return DeltaLog(Path(self.home.requests)).latest()

    def _start(self) -> StreamingQuery:
        config = shadow_config(self.kept.settings)
        coordinator = start(self._spark, self.home, config, on_batch=lambda done: self._status.batch_done(*done[:3]))
        self._status.running(coordinator.query.id, coordinator.started_at_ms)
        return coordinator.query

    def _learn(self) -> None:
        """Restarts the query with the settings that the log has shown, once all earlier requests are answered."""
        try:
            self.query.processAllAvailable()
        except StreamingQueryException:
            return
        stop_after_batch(self.query)
        settings = " ".join(f"{key}={value}" for key, value in sorted(self.feed.learn().items()))
        self._teller.say(f"rollcall: the broker has {settings or 'the default settings'}, as the log shows.")
        self.query = self._start()
