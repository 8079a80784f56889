"""Upkeep of a home's tables: small files put together, log checkpoints, old versions and old rows removed.

A live job makes a file and a commit a batch, 86,400 a day; without upkeep both batches and SQL answers would slow down
within a day. It runs beside the batches in the job's own process, since one table never has two writing engines.

Knows files, versions and ages; must not know what a row means.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

from deltalake import DeltaTable

from jobs.config import JobConfig
from jobs.home import Home
from programs.log_lines import tell
from tables.compaction import Layout, put_together, remove_before
from tables.delta_log import DeltaLog

# Every run puts small files together into files of at most 1 MiB; a thorough run puts those together into larger ones.
# So each row is written three times in all, however long the day.
SMALL_BYTES = 1 << 20
LARGE_BYTES = 64 << 20
THOROUGH_EVERY_MS = 3_600_000
"""Sooner where old versions are kept for less: a file that no version needs goes within twice that time."""
UNREAD_COMMITS_SPARED = 100
_HOUR_MS = 3_600_000
_MINUTE_MS = 60_000
_DAY_MS = 24 * _HOUR_MS


TableName = Literal["requests", "effects", "quarantine"]
LAYOUTS: dict[TableName, Layout] = {
    "requests": Layout("received_at_ms"),
    "effects": Layout("at_ms", ("group_id", "at_ms", "seq")),
    "quarantine": Layout("at_ms"),
}
"""Who asks for effects asks of one group at a time."""


class Kept(NamedTuple):
    """A table under upkeep."""

    name: TableName
    path: str
    config: JobConfig


def old_before_ms(name: TableName, config: JobConfig, now_ms: int) -> int | None:
    """The moment before which a table's rows are too old; None where all are kept. Effects go by whole days of UTC."""
    hours = config.requests_retention_hours if name == "requests" else config.effects_retention_hours
    if not hours:
        return None
    before_ms = now_ms - hours * _HOUR_MS
    return before_ms - before_ms % _DAY_MS if name == "effects" else before_ms


def thorough_every_ms(config: JobConfig) -> int:
    """How often a run is a thorough one."""
    return min(THOROUGH_EVERY_MS, config.versions_retention_minutes * _MINUTE_MS)


def tables_of(home: Home, config: JobConfig) -> list[Kept]:
    """The tables of a home that delta-rs writes."""
    kept = [Kept("requests", home.requests, config)]
    if config.effects_writer == "driver":
        kept += [Kept("effects", home.effects, config), Kept("quarantine", home.quarantine, config)]
    return kept


def tend(kept: Kept, now_ms: int, *, thorough: bool) -> None:
    """One run over one table; a table that is not there, or has not changed since, costs nothing.

    thorough: larger files, rows that are too old, and files that no version needs any more as well.
    """
    if not DeltaTable.is_deltatable(kept.path):
        return
    path, layout = Path(kept.path), LAYOUTS[kept.name]
    put_together(path, LARGE_BYTES if thorough else SMALL_BYTES, layout)
    before_ms = old_before_ms(kept.name, kept.config, now_ms) if thorough else None
    if before_ms is not None:
        remove_before(path, before_ms, layout)
    table = DeltaTable(kept.path)
    table.create_checkpoint()
    table.cleanup_metadata()
    if thorough:
        # In full: a checkpoint may have dropped the note that a file was removed before the file itself went.
        table.vacuum(dry_run=False, enforce_retention_duration=False, full=True)


class Upkeep:
    """Tends a home's tables every so often in a thread of its own, until it is stopped.

    unread_commits: how many commits of the request table the stream has not read yet, None if unknown; while they are
    many, or old, that table is left alone: a file must have been read before it is put together with others or removed.
    """

    def __init__(self, home: Home, config: JobConfig, unread_commits: Callable[[], int | None]) -> None:
        self.config = config
        self.tables = tables_of(home, config)
        self.unread_commits = unread_commits
        self._last_thorough_ms = int(time.time() * 1000)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="upkeep", daemon=True)

    def start(self) -> None:
        if self.config.upkeep_interval_ms:
            self._thread.start()

    def stop(self) -> None:
        """Lets a run that is under way finish."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(self.config.upkeep_interval_ms / 1000):
            now_ms = int(time.time() * 1000)
            thorough = now_ms - self._last_thorough_ms >= thorough_every_ms(self.config)
            if thorough:
                self._last_thorough_ms = now_ms
            for kept in self.tables:
                self._tend(kept, now_ms, thorough)

    def _tend(self, kept: Kept, now_ms: int, thorough: bool) -> None:
        try:
            if kept.name == "requests" and not self._may_tend_requests(kept, now_ms):
                return
            tend(kept, now_ms, thorough=thorough)
        except Exception as error:
            # The next run will do; a batch must not fail for it.
            tell(f"upkeep of {kept.name} did not work out: {error}", is_error=True)

    def _may_tend_requests(self, kept: Kept, now_ms: int) -> bool:
        """Whether the stream has read all that may go: unread commits are few, and young.

        After a laptop's sleep they are few and old.
        """
        unread = self.unread_commits()
        if unread is None or unread > UNREAD_COMMITS_SPARED:
            return False
        log = DeltaLog(Path(kept.path))
        written_ms = log.written_ms(log.latest() - unread + 1) if unread else None
        return written_ms is None or now_ms - written_ms < kept.config.versions_retention_minutes * _MINUTE_MS // 2
