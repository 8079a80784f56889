"""`make replay LOG=...`: plays a broker's request log through the coordinator, on the log's own clock, and reports.

    rollcall replay LOG [--set key=value]... [--zone Asia/Kolkata] [--home FOLDER] [--fresh]

A process of its own writes request rows, from before Spark is there, while the stream applies them, and compares every
answer with the recorded one. A dump of __consumer_offsets goes another way, and both together a third: see
`jobs.replay.topic` and `jobs.replay.both`. Knows how the parts go together; must not know a line's text, a rule of the
protocol or how answers are compared.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from coordinator_udfs.protocol.config import GroupConfig
from coordinator_udfs.settings import Clock
from jobs.config import JobConfig, Writer
from jobs.home import REPLAY, Home, HomeError
from jobs.replay.import_process import ImportProcess
from jobs.replay.importing import WATERMARK_DELAY_MS, ToImport
from jobs.replay.report import Told, tell
from jobs.replay.topic import replay_topic
from jobs.spark.home_session import home_session
from jobs.stream.home_tables import open_quarantine, open_requests
from jobs.stream.query import failure_of, start
from offsets_topic.dumps.reading import is_dump
from programs.errors import UserError
from programs.settings import from_texts, read_pairs
from request_log.importer import LogImport
from request_log.lines.clock import zone_of
from request_log.lines.files import about_bytes
from request_log.parity import Parity
from request_log.recorded import Tally

WRITER: Writer = "driver"
PROGRESS_S = 1
"""How often the progress is shown anew."""
BRIEF_BYTES = 100_000_000
"""A shorter log is done before the time for good compilation has paid off."""


class ReplayError(UserError):
    """A replay that cannot be done; the text is one sentence for the user that says why."""


class Replay:
    """One log on one home. `run` leaves the history in its tables; then `tally` and `parity` are complete.

    given: broker settings that the user knows. `inferred` holds the others that follow from the log. The log is read
    from now on. Raises LogFileError, ZoneError, ConfigError.
    """

    def __init__(self, home: Home, given: Mapping[str, str], path: Path, zone: str, console: Console) -> None:
        log = LogImport(path, zone_of(zone))
        replay_config(given)
        with console.status("looking over the log"):
            found = log.look_over()
        self.inferred = {key: value for key, value in found.settings.items() if key not in given}
        self.home = home
        self.config = replay_config({**self.inferred, **given})
        self.tally, self.parity = Tally(), Parity()
        self._console = console
        open_requests(home, self.config)
        open_quarantine(home, self.config)
        self._importing = ImportProcess(ToImport(path, log.zone, self.config.group, found, home))

    def run(self, spark: SparkSession) -> None:
        """Raises LogFileError, ReplayError."""
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        importing = self._importing
        with importing, Progress(*columns, console=self._console) as progress:
            reading = progress.add_task("reading the log, percent", total=100)
            applying = progress.add_task("applying requests", total=None)

            def show() -> None:
                progress.update(reading, completed=round(100 * importing.share_read))
                progress.update(applying, total=importing.written)

            is_last = False
            while not is_last:
                importing.wait_for_work(show)
                is_last, written = importing.is_all_written, importing.written
                self._drain(spark, show)
                importing.note_applied(written, is_all=is_last)
                progress.update(applying, completed=written)
            self.tally, self.parity = importing.compared()

    def _drain(self, spark: SparkSession, show: Callable[[], None]) -> None:
        """Applies all rows that are written."""
        query = start(spark, self.home, self.config, until_drained=True).query
        while not query.awaitTermination(PROGRESS_S):
            self._importing.hear()
            show()
        reason = failure_of(query)
        if reason is not None:
            raise ReplayError(f"the replay failed: {reason}")
        dropped = sum(s.numRowsDroppedByWatermark for p in query.recentProgress for s in p.stateOperators)
        if dropped:
            raise ReplayError(f"{dropped} requests came too late for the log's clock and were not applied.")


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
    inner = (home.of_log.location, home.of_topic.location)
    for folder in (home.requests, home.records, home.effects, home.quarantine, home.checkpoint, *inner):
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def replay_home(home: Home, *, is_fresh: bool) -> Iterator[None]:
    """Holds a home for one replay. Raises HomeError: it is in use, holds another kind, or a replay already.

    is_fresh: a replay that the home holds is cleared before.
    """
    with home.locked("a replay"):
        if is_fresh:
            clear(home)
        home.settle(REPLAY, WRITER)
        # Of two inputs the first may have been replayed and the second not.
        if any(Path(each.effects).exists() for each in (home, home.of_log, home.of_topic)):
            raise HomeError(f"{home.shown} holds a replay already: FRESH=1 clears it, or name another ROLLCALL_HOME.")
        yield


def replay(
    home: Home, path: Path, given: Mapping[str, str], zone: str, console: Console, *, is_fresh: bool = False
) -> None:
    """Replays a log, or a dump, on a home and reports. Raises UserError.

    given: broker settings that the user knows. is_fresh: a replay that the home holds is cleared before.
    """
    config = replay_config(given)
    with replay_home(home, is_fresh=is_fresh):
        if is_dump(path):
            replay_topic(home, path, config, console)
            return
        work = Replay(home, given, path, zone, console)
        with console.status("starting Spark"):
            spark = home_session(home, "rollcall replay", is_brief=about_bytes(path) < BRIEF_BYTES)
        started = time.monotonic()
        work.run(spark)
        seconds = time.monotonic() - started
        tell(console, home, Told(work.tally, work.parity, work.inferred, seconds))
