"""`make replay LOG=...`: plays a broker's request log through the coordinator, on the log's own clock, and reports.

    python -m jobs.replay.command LOG [--set key=value]... [--zone Asia/Kolkata] [--home HOME] [--fresh]

The importer writes request rows while the stream applies them; every answer is compared with the recorded one. Exit
status 0, or 2 for what the user can put right. Knows how the parts go together; must not know a line's text, a rule of
the protocol or how answers are compared.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import SparkSession
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from coordinator_udfs.protocol.config import GroupConfig
from coordinator_udfs.settings import Clock
from jobs.config import JobConfig, Writer
from jobs.home import REPLAY, Home, HomeError
from jobs.preflight import Missing
from jobs.replay.comparison import Comparison
from jobs.replay.importing import WATERMARK_DELAY_MS, Import
from jobs.replay.report import Told, tell
from jobs.spark.session import spark_session
from jobs.sql import register_views
from jobs.stream.home_tables import open_quarantine, open_requests
from jobs.stream.query import failure_of, start
from programs.errors import ConfigError
from programs.settings import from_texts, read_pairs
from request_log.importer import LogImport
from request_log.lines.clock import ZoneError, zone_of
from request_log.lines.files import LogFileError, about_bytes
from request_log.parity import Parity
from request_log.recorded import Quarantined
from schemas.tables import EFFECTS_FOLDER

WRITER: Writer = "driver"
BRIEF_BYTES = 100_000_000
"""A log with less is through before well compiled code has paid for its compiling."""


class ReplayError(Missing):
    """A replay that cannot be done; the text is one sentence for the user that says why."""


class Replay:
    """One log on one home. `run` leaves the history in its tables, and the parity in `parity`.

    given: broker settings that the user knows. `inferred` holds the others that follow from the log. Raises
    LogFileError, ZoneError, ConfigError.
    """

    def __init__(self, home: Home, given: Mapping[str, str], path: Path, zone: str, console: Console) -> None:
        unfit: list[Quarantined] = []
        log = LogImport(path, zone_of(zone), quarantine=unfit.append)
        replay_config(given)
        with console.status("looking over the log"):
            found = log.look_over().settings
        self.inferred = {key: value for key, value in found.items() if key not in given}
        self.home = home
        self.config = replay_config({**self.inferred, **given})
        log.config = self.config.group
        self.parity = Parity()
        self._console = console
        self.comparison = Comparison(home.path / EFFECTS_FOLDER, self.parity)
        self.importing = Import(log, home, self.comparison.expect, unfit)
        log.progress = self.importing.read_share

    def run(self, spark: SparkSession) -> None:
        """Raises LogFileError, ReplayError."""
        open_requests(self.home, self.config)
        open_quarantine(self.home, self.config)
        importer = threading.Thread(target=self.importing.run, name="importer", daemon=True)
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=self._console) as progress:
            reading = progress.add_task("reading the log, percent", total=100)
            applying = progress.add_task("applying requests", total=None)
            importer.start()
            is_last = False
            while not is_last:
                self.importing.wait_for_work()
                is_last, written = self.importing.is_done, self.importing.written
                progress.update(reading, completed=round(100 * (1.0 if is_last else self.importing.share_read)))
                progress.update(applying, total=written)
                if self.importing.error is not None:
                    raise self.importing.error
                self._drain(spark)
                self.importing.note_applied(written)
                progress.update(applying, completed=written)
        self.comparison.close()

    def _drain(self, spark: SparkSession) -> None:
        """Applies all rows that are written, then compares the answers."""
        query = start(spark, self.home, self.config, until_drained=True).query
        query.awaitTermination()
        reason = failure_of(query)
        if reason is not None:
            raise ReplayError(f"the replay failed: {reason}")
        dropped = sum(s.numRowsDroppedByWatermark for p in query.recentProgress for s in p.stateOperators)
        if dropped:
            raise ReplayError(f"{dropped} requests came too late for the log's clock and were not applied.")
        self.comparison.compare()


def replay_config(settings: Mapping[str, str]) -> JobConfig:
    """The job's configuration for a log: its clock is the log's. Raises ConfigError."""
    return JobConfig(
        group=from_texts(GroupConfig, settings),
        clock=Clock.EVENT,
        source="request-log",
        source_tick_ms=0,
        upkeep_interval_ms=0,
        watermark_delay_ms=WATERMARK_DELAY_MS,
        effects_writer=WRITER,
    )


def settings_of(words: Sequence[str]) -> dict[str, str]:
    """`key=value` words, several in one text too. Raises ConfigError."""
    return read_pairs((word for text in words for word in text.split()), "SET=")


def clear(home: Home) -> None:
    """Removes a replay's history. Raises HomeError: the home holds another kind."""
    kind = home.read_note().get("kind")
    if kind not in (REPLAY, None):
        raise HomeError(f"FRESH=1 clears a replay's history only, and {home.shown} holds a {kind} one.")
    for folder in (home.requests, home.effects, home.quarantine, home.checkpoint):
        shutil.rmtree(folder, ignore_errors=True)


def replay(parsed: argparse.Namespace, console: Console) -> None:
    """Runs it and reports. Raises what the user can put right."""
    home = Home(parsed.home) if parsed.home else Home.from_environment()
    given = settings_of(parsed.set)
    replay_config(given)
    with home.locked("a replay"):
        if parsed.fresh:
            clear(home)
        home.settle(REPLAY, WRITER)
        if Path(home.effects).exists():
            raise HomeError(f"{home.shown} holds a replay already: FRESH=1 clears it, or name another ROLLCALL_HOME.")
        work = Replay(home, given, Path(parsed.log), parsed.zone, console)
        with console.status("starting Spark"):
            spark = spark_session("rollcall replay", is_brief=about_bytes(Path(parsed.log)) < BRIEF_BYTES)
        started = time.monotonic()
        work.run(spark)
        seconds = time.monotonic() - started
        register_views(spark, home)
        tell(console, spark, home, Told(work.importing.log.tally, work.parity, work.inferred, seconds))


def main(arguments: list[str] | None = None) -> int:
    """Exit status: see above."""
    parser = argparse.ArgumentParser(
        prog="python -m jobs.replay.command", description="Replays a broker's request log."
    )
    parser.add_argument("log", help="requests.log, .gz, or a folder of them")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a broker setting")
    parser.add_argument("--zone", default="UTC", help="the zone of the log's timestamps (UTC)")
    parser.add_argument("--home", default=os.environ.get("ROLLCALL_HOME"), help="the home (ROLLCALL_HOME, .rollcall)")
    parser.add_argument("--fresh", action="store_true", help="clear the replay that the home holds")
    try:
        replay(parser.parse_args(arguments), Console())
    except (Missing, ConfigError, ZoneError, LogFileError) as error:
        print(f"rollcall: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
