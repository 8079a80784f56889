"""The job's upkeep of its tables, beside the batches in its own process: one table never has two writing engines.

Knows when a run is due; the rules are `rollcall.tables.upkeep`'s.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from rollcall.jobs.config import JobConfig
from rollcall.programs.log_lines import tell
from rollcall.programs.repeated import Repeated
from rollcall.schemas.tables import LOG_ENDS, OF_A_HISTORY, REQUESTS, Table
from rollcall.tables.home import Home
from rollcall.tables.upkeep import KeptTable, may_tend_requests, tend, thorough_every_ms


def tables_of(home: Home, config: JobConfig) -> list[KeptTable]:
    """The tables of a home that the driver writes."""
    tables = OF_A_HISTORY if config.effects_writer == "driver" else (REQUESTS,)
    return [kept_of(table, home, config) for table in tables]


def kept_of(table: Table, home: Home, config: JobConfig) -> KeptTable:
    """One of a home's tables, kept as the settings say."""
    hours = config.requests_retention_hours if table is REQUESTS else config.effects_retention_hours
    kept = KeptTable(table, home.place_of(table), hours, config.versions_retention_minutes)
    if table is not LOG_ENDS:
        return kept
    return kept._replace(full_minutes=config.lag_full_minutes, thinned_interval_ms=config.lag_thinned_interval_ms)


class Beside(Protocol):
    """Work in a thread of its own while a job runs."""

    def start(self) -> None: ...
    def stop(self) -> None: ...


class Upkeep:
    """Tends a home's tables every so often in a thread of its own, until it is stopped.

    unread_commits: how many commits of the request table the stream has not read yet, None if unknown. While they are
    many, or old, that table is left alone: a file must be read before it may be compacted or removed.
    """

    def __init__(self, home: Home, config: JobConfig, unread_commits: Callable[[], int | None]) -> None:
        self.config = config
        self.tables = tables_of(home, config)
        self.unread_commits = unread_commits
        self._last_thorough_ms = int(time.time() * 1000)
        self._thread = Repeated("upkeep", config.upkeep_interval_ms / 1000, self._tend_all)

    def start(self) -> None:
        if self.config.upkeep_interval_ms:
            self._thread.start()

    def stop(self) -> None:
        """Waits for a running upkeep."""
        self._thread.stop()

    def _tend_all(self) -> None:
        now_ms = int(time.time() * 1000)
        thorough = now_ms - self._last_thorough_ms >= thorough_every_ms(self.config.versions_retention_minutes)
        if thorough:
            self._last_thorough_ms = now_ms
        for kept in self.tables:
            self._tend(kept, now_ms, thorough)

    def _tend(self, kept: KeptTable, now_ms: int, thorough: bool) -> None:
        try:
            if kept.table is REQUESTS and not may_tend_requests(kept, self.unread_commits(), now_ms):
                return
            tend(kept, now_ms, thorough=thorough)
        except Exception as error:
            # The next run will do; a batch must not fail for it.
            tell(f"upkeep of {kept.table.name} did not work out: {error}", is_error=True)
