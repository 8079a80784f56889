"""`make shadow LOG=...`: follows the request log of a running broker as it is written, and keeps its history.

    rollcall shadow LOG [--set key=value]... [--zone Asia/Kolkata] [--home FOLDER]

The broker is not asked for anything. After a stop or a kill, the next start goes on at the same place. Knows how the
program is started and ended; must not know how a log is read, nor how the query works.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from jobs.home import Home, HomeError
from jobs.shadow.feed import Kept, Tail, find_kept, new_kept
from jobs.shadow.log_following import SHADOW, WRITER, LogFollowing, shadow_config
from jobs.shadow.program import ShadowProgram
from jobs.stream.query import stop_after_batch
from jobs.stream.sources.cluster_url import SCHEME
from jobs.stream.sources.request_log_topic import open_topic
from programs.log_lines import log_to_standard_error
from request_log.importer import LogImport
from request_log.lines.clock import zone_of
from request_log.lines.tail import LogTail
from request_log.survey import Survey

POLL_S = 0.1


def tail_of(kept: Kept) -> Tail:
    """The log, from the place up to which it was read. Raises LogFileError, ZoneError."""
    zone = zone_of(kept.zone)
    if kept.log.startswith(SCHEME):
        return open_topic(kept.log, zone, kept.position)
    return LogTail(Path(kept.log), zone, kept.position)


def log_named(log: str) -> str:
    """A log as a home notes it."""
    return log if log.startswith(SCHEME) else str(Path(log).absolute())


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
        self._program = program = ShadowProgram(home, console)
        self._log = LogFollowing(home, kept, tail, program.spark, program.teller, program.status)

    def run(self) -> int:
        """Follows the log; returns the exit status."""
        log, stop = self._log, self._program.stop
        upkeep = log.upkeep()
        upkeep.start()
        self._program.begin(log.kept.log)
        has_more = False
        while log.query.isActive and not stop.wait(0 if has_more else POLL_S):
            has_more = log.step()
            self._program.maybe_tell_rebalances()
        log.feed.close()
        if log.query.isActive:
            stop_after_batch(log.query, lambda: stop.is_urgent)
        upkeep.stop()
        return self._program.report([log.query], log.counts, log.lines_told())

    def close(self) -> None:
        """Stops Spark."""
        self._program.close()


def follow(home: Home, log: str, zone: str, given: Mapping[str, str], console: Console) -> int:
    """Follows a log on a home until a signal comes. Returns 0, or 1 if the query failed. Raises UserError."""
    log_to_standard_error(logging.WARNING)
    log = log_named(log)
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
