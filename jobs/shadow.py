"""`make shadow LOG=...`: beside a running cluster, its request log followed as it is written, and its history kept.

    python -m jobs.shadow LOG [--set key=value]... [--zone Asia/Kolkata] [--home HOME]

Nothing is asked of the broker and nothing is written to it. Stopped or killed, and started again, it goes on where it
was. Exit status 0 when stopped, 1 when the query failed, 2 for what the person in front of it can put right. Knows how
the program is started and ended; must not know how a log is read, nor how the query works.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from coordinator_udfs.protocol.config import ConfigError, GroupConfig
from coordinator_udfs.settings import Clock
from jobs.config import JobConfig
from jobs.home import Home, HomeError
from jobs.preflight import Missing
from jobs.replay import settings_of
from jobs.shadow_feed import Kept, ShadowFeed, Tail, find_kept, new_kept
from jobs.shutdown import StopSignal
from jobs.sources.request_log_topic import SCHEME, open_topic
from jobs.spark_session import spark_session
from jobs.status import Status
from jobs.stream import failure_of, start, stop_after_batch, unread_commits
from jobs.upkeep import Upkeep
from jobs.watch import Watch
from request_log.clock import ZoneError, zone_of
from request_log.files import LogFileError
from request_log.importer import LogImport
from request_log.tail import LogTail

SHADOW = "shadow"
WRITER = "driver"
POLL_S = 0.1
OUT_OF_ORDER_MS = 86_400_000
"""How far apart in time rows of different groups may be: one group is held while another one is told of."""


def shadow_config(settings: Mapping[str, str]) -> JobConfig:
    """The job's configuration: its clock is the log's, and groups need not keep step. Raises ConfigError."""
    return JobConfig(
        group=GroupConfig.from_pairs(settings),
        clock=Clock.EVENT,
        source="request-log",
        source_tick_ms=0,
        watermark_delay_ms=OUT_OF_ORDER_MS,
        effects_writer=WRITER,
    )


def tail_of(kept: Kept) -> Tail:
    """The log from where it was read up to. Raises LogFileError, ZoneError."""
    zone = zone_of(kept.zone)
    if kept.log.startswith(SCHEME):
        return open_topic(kept.log, zone, kept.position)
    return LogTail(Path(kept.log), zone, kept.position)


def kept_of(home: Home, log: str, zone: str, given: Mapping[str, str], console: Console) -> Kept:
    """What the home holds of this log, or the beginning of it.

    given: broker settings that the person knows; a new shadow has what the log gives away beside them, an old one what
    it began with. Raises HomeError, LogFileError, ZoneError, ConfigError.
    """
    shadow_config(given)
    kept = find_kept(home)
    if kept is None:
        with console.status("looking over the log"):
            is_file = Path(log).is_file()
            shown = LogImport(Path(log), zone_of(zone)).look_over().settings if is_file else {}
        return new_kept(log, zone, {**shown, **given})
    for what, was, wanted in (("LOG", kept.log, log), ("ZONE", kept.zone, zone)):
        if was != wanted:
            raise HomeError(f"{home.shown} follows {what}={was}, not {wanted}: name another ROLLCALL_HOME.")
    for key, value in given.items():
        if kept.settings.get(key) != value:
            raise HomeError(
                f"{home.shown} was begun with {key}={kept.settings.get(key, 'the default')}, not {value}: "
                f"name another ROLLCALL_HOME."
            )
    return kept


def run(home: Home, kept: Kept, tail: Tail, console: Console) -> int:
    """Follows until a signal, or the query's failure; the exit status. Raises what the person can put right."""
    config = shadow_config(kept.settings)
    feed = ShadowFeed(home, config, kept, tail)
    with console.status("starting Spark"):
        spark = spark_session("rollcall shadow")
    stop, status = StopSignal(spark), Status(home)
    try:
        coordinator = start(spark, home, config, on_batch=status.batch_done)
        query = coordinator.query
        status.running(query.id, coordinator.started_at_ms)
        upkeep = Upkeep(home, config, lambda: unread_commits(query, home))
        upkeep.start()
        watch = Watch(home.path)
        _say(console, f"rollcall: following {kept.log} on {home.shown}; Ctrl-C stops it.")
        has_more = False
        while query.isActive and not stop.wait(0 if has_more else POLL_S):
            has_more = feed.step()
            for line in watch.look():
                if ": rebalance " in line:
                    _say(console, line)
            watch.rebalances.clear()
        feed.close()
        if query.isActive:
            stop_after_batch(query, lambda: stop.is_urgent)
        upkeep.stop()
        reason = failure_of(query)
        if reason is not None and not stop.wait(0):
            status.failed(reason, str(query.exception()))
            print(f"rollcall: the query failed: {reason}", file=sys.stderr)
            return 1
        status.stopped()
        tally = feed.live.tally
        counts = f"{tally.read} lines read, {tally.used} used, {tally.quarantined.total()} in quarantine"
        _say(console, f"rollcall: the shadow has stopped; {counts}. It goes on there when it is started again.")
        return 0
    finally:
        tail.close()
        spark.stop()


def _say(console: Console, line: str) -> None:
    console.print(line, highlight=False, soft_wrap=True, markup=False)


def main(arguments: list[str] | None = None) -> int:
    """Exit status: see above."""
    parser = argparse.ArgumentParser(prog="python -m jobs.shadow", description="Follows a broker's request log.")
    parser.add_argument("log", help="the file that grows, or kafka://host:port/topic of its lines")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a broker setting")
    parser.add_argument("--zone", default="UTC", help="the zone of the log's timestamps (UTC)")
    parser.add_argument("--home", default=os.environ.get("ROLLCALL_HOME"), help="the home (ROLLCALL_HOME, .rollcall)")
    parsed = parser.parse_args(arguments)
    console = Console()
    try:
        home = Home(parsed.home) if parsed.home else Home.from_environment()
        log = parsed.log if parsed.log.startswith(SCHEME) else str(Path(parsed.log).absolute())
        with home.locked("a shadow"):
            kept = kept_of(home, log, parsed.zone, settings_of(parsed.set), console)
            tail = tail_of(kept)
            home.settle(SHADOW, WRITER)
            return run(home, kept, tail, console)
    except (Missing, ConfigError, ZoneError, LogFileError) as error:
        print(f"rollcall: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
