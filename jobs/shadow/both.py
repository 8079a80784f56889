"""`make shadow LOG=<request log> FROM=kafka://host:port`: a broker's log and its cluster's topic as one history.

    rollcall shadow LOG kafka://host:port [--set key=value]... [--zone Asia/Kolkata] [--conf FILE] [--no-offsets]

Each is followed on a home of its own within the home, `log` and `topic`, by one query, and what both tell is merged
into the home's effects. After a stop or a kill, the next start goes on at the same place. Knows how the parts go
together; must not know how either is read, nor by which rule facts are merged.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql.streaming.query import StreamingQuery
from rich.console import Console

from jobs.both_inputs import lines_told
from jobs.config import JobConfig
from jobs.home import Home
from jobs.shadow.command import POLL_S, kept_of, log_named, tail_of
from jobs.shadow.feed import Kept, Tail
from jobs.shadow.log_following import SHADOW, LogFollowing
from jobs.shadow.log_progress import LogProgress
from jobs.shadow.merging_feed import MergingFeed
from jobs.shadow.program import ShadowProgram
from jobs.shadow.topic import TOPIC_SHADOW, TopicFollowing, kafka_settings, topic_config
from jobs.stream.query import stop_after_batch
from jobs.stream.sources.offsets_topic import TOPIC
from jobs.stream.upkeep import Upkeep
from programs.log_lines import log_to_standard_error
from tables.job_status import StatusWriter

BOTH_SHADOW = "shadow of both"
MERGE_EVERY_S = 1.0


class BothShadow:
    """Follows a log and a topic on a home until a signal comes or a query fails. Raises UserError."""

    def __init__(
        self, home: Home, source: str, config: JobConfig, kept: Kept, tail: Tail, console: Console, *, has_commits: bool
    ) -> None:
        self.source = source
        self._program = program = ShadowProgram(home, console, kafka_settings())
        spark, nowhere = program.spark, StatusWriter(None)
        with console.status("asking the cluster"):
            self._topic = TopicFollowing(home.of_topic, config, spark, nowhere, has_commits=has_commits)
        self._log = LogFollowing(home.of_log, kept, tail, spark, program.teller, nowhere)
        self._progress = LogProgress(self._log, config.log_hold_ms)
        self._merging = MergingFeed(home, config, self._topic.cluster.names)
        self._merged_at = 0.0
        self._upkeeps = [
            Upkeep(home, config, lambda: None),
            Upkeep(home.of_topic, config, lambda: None),
            self._log.upkeep(),
        ]
        program.status.running(self._topic.query.id, int(time.time() * 1000))

    def run(self) -> int:
        """Follows both; returns the exit status."""
        for upkeep in self._upkeeps:
            upkeep.start()
        self._program.begin(f"{self._log.kept.log} and {TOPIC} of {self.source}")
        has_more = False
        while self._are_active() and not self._program.stop.wait(0 if has_more else POLL_S):
            has_more = self._log.step()
            self._progress.note()
            self._topic.count()
            self._topic.maybe_start_again()
            if time.monotonic() >= self._merged_at + MERGE_EVERY_S:
                self._merge()
            self._program.maybe_tell_rebalances()
        self._log.feed.close()
        for query in self._queries():
            if query.isActive:
                stop_after_batch(query, lambda: self._program.stop.is_urgent)
        self._merging.close()
        for upkeep in self._upkeeps:
            upkeep.stop()
        self._topic.count()
        lines = [*self._log.lines_told(), *lines_told(self._merging.found)]
        return self._program.report(self._queries(), f"{self._log.counts}; {self._topic.counts}", lines)

    def close(self) -> None:
        """Stops Spark."""
        self._topic.cluster.close()
        self._program.close()

    def _queries(self) -> list[StreamingQuery]:
        return [self._log.query, self._topic.query]

    def _are_active(self) -> bool:
        return all(query.isActive for query in self._queries())

    def _merge(self) -> None:
        # What is known is asked before the homes are read, so that all of it is there.
        told = self._merging.step(self._progress.known(), self._topic.read_until_ms())
        if told:
            self._program.status.batch_done(self._merging.commits, told, 0)
        self._merged_at = time.monotonic()


def follow_both(
    home: Home,
    log: str,
    zone: str,
    given: Mapping[str, str],
    source: str,
    conf: Path | None,
    console: Console,
    *,
    has_commits: bool,
) -> int:
    """Follows both inputs of a cluster on a home until a signal comes; returns 0, or 1 if it failed. Raises UserError.

    log, zone, given: as for a log alone; source, conf, has_commits: as for a cluster alone.
    """
    log_to_standard_error(logging.WARNING)
    config = topic_config(source, conf)
    with home.locked("a shadow"):
        home.settle(BOTH_SHADOW, "driver")
        for each in (home.of_log, home.of_topic):
            each.path.mkdir(exist_ok=True)
        kept = kept_of(home.of_log, log_named(log), zone, given, console)
        tail = tail_of(kept)
        home.of_log.settle(SHADOW, "driver")
        home.of_topic.settle(TOPIC_SHADOW, "driver")
        shadow = BothShadow(home, source, config, kept, tail, console, has_commits=has_commits)
        try:
            return shadow.run()
        finally:
            tail.close()
            shadow.close()
