"""`make shadow LOG=...`: follows the request log of a running broker as it is written, and keeps its history.

    rollcall shadow LOG [--set key=value]... [--zone Asia/Kolkata] [--home FOLDER]

The broker is not asked for anything. After a stop or a kill, the next start goes on at the same place. Knows how the
program is started and ended; must not know how a log is read, nor how the query works.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery
from rich.console import Console

from coordinator_udfs.protocol.config import GroupConfig
from coordinator_udfs.settings import Clock
from jobs.config import JobConfig, Writer
from jobs.home import Home, HomeError
from jobs.replay.report import given_up
from jobs.shadow.feed import Kept, ShadowFeed, Tail, find_kept, new_kept
from jobs.shadow.program import ShadowProgram
from jobs.stream.query import start, stop_after_batch, unread_commits
from jobs.stream.sources.cluster_url import SCHEME
from jobs.stream.sources.request_log_topic import open_topic
from jobs.stream.upkeep import Upkeep
from programs.log_lines import log_to_standard_error
from programs.settings import from_texts
from request_log.importer import LogImport
from request_log.lines.clock import zone_of
from request_log.lines.tail import LogTail
from request_log.survey import Survey

SHADOW = "shadow"
WRITER: Writer = "driver"
POLL_S = 0.1
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


def tail_of(kept: Kept) -> Tail:
    """The log, from the place up to which it was read. Raises LogFileError, ZoneError."""
    zone = zone_of(kept.zone)
    if kept.log.startswith(SCHEME):
        return open_topic(kept.log, zone, kept.position)
    return LogTail(Path(kept.log), zone, kept.position)


def kept_of(home: Home, log: str, zone: str, given: Mapping[str, str], console: Console) -> Kept:
    """The state that the home holds of this log, or a new one.

    given: broker settings that the user knows. A new shadow takes the others from the log; an old one keeps those that
    it began with. Raises HomeError, LogFileError, ZoneError, ConfigError.
    """
    shadow_config(given)
    kept = find_kept(home)
    if kept is None:
        with console.status("looking over the log"):
            found = LogImport(Path(log), zone_of(zone)).look_over() if Path(log).is_file() else Survey()
        return new_kept(log, zone, given, found.seen)
    for what, was, wanted in (("LOG", kept.log, log), ("ZONE", kept.zone, zone)):
        if was != wanted:
            raise HomeError(f"{home.shown} follows {what}={was}, not {wanted}: name another ROLLCALL_HOME.")
    for key, value in given.items():
        if kept.given.get(key) != value:
            raise HomeError(
                f"{home.shown} was begun with {key}={kept.given.get(key, 'unknown')}, not {value}: "
                f"name another ROLLCALL_HOME."
            )
    return kept


class Shadow:
    """Follows a log on a home until a signal comes or the query fails. Raises UserError."""

    def __init__(self, home: Home, kept: Kept, tail: Tail, console: Console) -> None:
        self.home = home
        self.kept = kept
        self.feed = ShadowFeed(home, shadow_config(kept.settings), kept, tail)
        self._program = ShadowProgram(home, console)
        self._query = self._start()

    def run(self) -> int:
        """Follows the log; returns the exit status."""
        upkeep = Upkeep(self.home, shadow_config({}), lambda: unread_commits(self._query, self.home))
        upkeep.start()
        self._program.begin(self.kept.log)
        has_more = False
        while self._query.isActive and not self._program.stop.wait(0 if has_more else POLL_S):
            has_more = self.feed.step()
            if self.feed.has_learnt:
                self._learn()
            self._program.maybe_tell_rebalances()
        self.feed.close()
        if self._query.isActive:
            stop_after_batch(self._query, lambda: self._program.stop.is_urgent)
        upkeep.stop()
        tally = self.feed.live.tally
        counts = f"{tally.read} lines read, {tally.used} used, {tally.quarantined.total()} in quarantine"
        return self._program.report(self._query, counts, given_up(tally))

    def close(self) -> None:
        """Stops Spark."""
        self._program.close()

    def _start(self) -> StreamingQuery:
        config = shadow_config(self.kept.settings)
        coordinator = start(
            self._program.spark, self.home, config, on_batch=lambda done: self._program.status.batch_done(*done)
        )
        self._program.status.running(coordinator.query.id, coordinator.started_at_ms)
        return coordinator.query

    def _learn(self) -> None:
        """Restarts the query with the settings that the log has shown, once all earlier requests are answered."""
        try:
            self._query.processAllAvailable()
        except StreamingQueryException:
            return
        stop_after_batch(self._query)
        settings = " ".join(f"{key}={value}" for key, value in sorted(self.feed.learn().items()))
        self._program.teller.say(f"rollcall: the broker has {settings or 'the default settings'}, as the log shows.")
        self._query = self._start()


def follow(home: Home, log: str, zone: str, given: Mapping[str, str], console: Console) -> int:
    """Follows a log on a home until a signal comes. Returns 0, or 1 if the query failed. Raises UserError."""
    log_to_standard_error(logging.WARNING)
    log = log if log.startswith(SCHEME) else str(Path(log).absolute())
    with home.locked("a shadow"):
        kept = kept_of(home, log, zone, given, console)
        tail = tail_of(kept)
        home.settle(SHADOW, WRITER)
        shadow = Shadow(home, kept, tail, console)
        try:
            return shadow.run()
        finally:
            tail.close()
            shadow.close()
