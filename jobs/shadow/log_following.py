"""Follows one request log on a home: lines become requests, and the stream answers them.

Knows the feed and the query, and that new broker settings in the log restart it. Must not know how a program starts or
ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from rollcall.jobs.log_config import shadow_config
from rollcall.jobs.shadow.feed import ShadowFeed, ShadowState, Tail
from rollcall.jobs.stream.query import start, stop_after_batch, unread_commits
from rollcall.jobs.stream.upkeep import Upkeep
from rollcall.jobs.stream.writers.batch_result import BatchResult
from rollcall.programs.terminal import Teller
from rollcall.shown.replay_report import given_up
from rollcall.tables.home import Home
from rollcall.tables.job_status import StatusWriter
from rollcall.tables.versions import Versions

SHADOW = "shadow"


class LogFollowing:
    """Follows a log on a home that is locked and checked. status: gets each batch of the query."""

    def __init__(
        self, home: Home, kept: ShadowState, tail: Tail, spark: SparkSession, teller: Teller, status: StatusWriter
    ) -> None:
        self.home = home
        self.kept = kept
        self.feed = ShadowFeed(home, shadow_config(kept.settings), kept, tail)
        self._spark, self._teller, self._status = spark, teller, status
        self.query = self._start()

    def step(self) -> bool:
        """One look at the log; returns whether more lines may be there."""
        has_more = self.feed.step()
        if self.feed.has_learnt:
            self._learn()
        return has_more

    @property
    def shown(self) -> str:
        return self.kept.log

    @property
    def queries(self) -> list[StreamingQuery]:
        return [self.query]

    def goes_on(self) -> bool:
        return self.query.isActive

    def not_known(self) -> tuple[str, ...]:
        return ()

    def upkeeps(self) -> list[Upkeep]:
        return [Upkeep(self.home, shadow_config({}), lambda: unread_commits(self.query, self.home))]

    def finish(self) -> None:
        """Commits the requests that are certain by now."""
        self.feed.close()

    @property
    def counts(self) -> str:
        tally = self.feed.live.tally
        return f"{tally.read} lines read, {tally.used} used, {tally.quarantined.total()} in quarantine"

    def closing_lines(self) -> Iterator[str]:
        """The groups that were given up."""
        return iter(given_up(self.feed.live.tally))

    def version(self) -> int:
        """The request table's last version."""
        return Versions(Path(self.home.requests)).latest()

    def _start(self) -> StreamingQuery:
        config = shadow_config(self.kept.settings)

        def committed(done: BatchResult) -> None:
            self._status.batch_done(*done[:3])

        coordinator = start(self._spark, self.home, config, on_batch=committed)
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
