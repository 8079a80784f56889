"""The rules of upkeep: small files compacted, checkpoints, old versions and old rows removed, lasting facts kept.

A live job makes a file and a commit a batch, 86,400 a day; without upkeep both batches and SQL answers would slow down
within a day. The job's upkeep and `rollcall maintain` use these rules. Knows files, versions and ages; must not know
what a row means, nor who runs the upkeep.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from deltalake import DeltaTable

from rollcall.schemas.tables import EFFECTS, Table
from rollcall.tables.compaction import compact, remove_before, thin
from rollcall.tables.delta_log import DeltaLog
from rollcall.tables.lag_rows import thinned_to
from rollcall.tables.lasting_facts import keep_lasting_facts
from rollcall.tables.recent_commits import keep_recent_commits

# Every run merges small files into files of at most 1 MiB; a thorough run merges those into larger ones.
# So each row is written three times in all, however long the day.
SMALL_BYTES = 1 << 20
LARGE_BYTES = 64 << 20
THOROUGH_EVERY_MS = 3_600_000
"""Sooner if old versions are kept for less: a file that no version needs is removed within twice that time."""
UNREAD_COMMITS_SPARED = 100
_HOUR_MS = 3_600_000
_MINUTE_MS = 60_000
_DAY_MS = 24 * _HOUR_MS


class KeptTable(NamedTuple):
    """A table under upkeep."""

    table: Table
    path: str
    rows_retention_hours: int
    """0: rows are never too old."""
    versions_retention_minutes: int
    full_minutes: int = 0
    """Of log_ends: how long every sample is kept; 0: for ever."""
    thinned_interval_ms: int = 1
    """Of older ones the last in each such interval is."""

    def old_before_ms(self, now_ms: int) -> int | None:
        """The moment before which rows are too old; None if all are kept. Tables partitioned by day lose whole days."""
        if not self.rows_retention_hours:
            return None
        before_ms = now_ms - self.rows_retention_hours * _HOUR_MS
        return before_ms - before_ms % _DAY_MS if self.table.partition_by else before_ms


def thorough_every_ms(versions_retention_minutes: int) -> int:
    return min(THOROUGH_EVERY_MS, versions_retention_minutes * _MINUTE_MS)


def tend(kept: KeptTable, now_ms: int, *, thorough: bool) -> None:
    """One run over one table; a table that does not exist, or has not changed since, costs nothing.

    thorough: larger files, rows that are too old, and files that no version needs any more as well.
    """
    if not DeltaTable.is_deltatable(kept.path):
        return
    path, layout = Path(kept.path), kept.table
    if kept.table is EFFECTS:
        # Before old rows are removed: a group's state may come from them.
        keep_lasting_facts(path)
    compact(path, LARGE_BYTES if thorough else SMALL_BYTES, layout)
    before_ms = kept.old_before_ms(now_ms) if thorough else None
    if before_ms is not None:
        remove_before(path, before_ms, layout)
    if thorough and kept.full_minutes:
        full_from_ms = now_ms - kept.full_minutes * _MINUTE_MS
        # What is older than two runs ago has been thinned.
        since_ms = full_from_ms - 2 * thorough_every_ms(kept.versions_retention_minutes)
        thin(path, since_ms, full_from_ms, thinned_to(kept.thinned_interval_ms, full_from_ms), layout)
    table = DeltaTable(kept.path)
    table.create_checkpoint()
    table.cleanup_metadata()
    if thorough:
        # In full: a checkpoint may have dropped the note that a file was removed before the file itself went.
        table.vacuum(dry_run=False, enforce_retention_duration=False, full=True)
    if kept.table is EFFECTS:
        # It names the files that are there now.
        keep_recent_commits(path)


def may_tend_requests(
    kept: KeptTable, unread_commits: int | None, now_ms: int, most: int = UNREAD_COMMITS_SPARED
) -> bool:
    """Whether the coordinator has read all that may be removed: its unread commits are few and recent. After a laptop's
    sleep they are few and old. unread_commits: None if unknown. most: how many count as few.
    """
    if unread_commits is None or unread_commits > most:
        return False
    log = DeltaLog(Path(kept.path))
    written_ms = log.written_ms(log.latest() - unread_commits + 1) if unread_commits else None
    return written_ms is None or now_ms - written_ms < kept.versions_retention_minutes * _MINUTE_MS // 2
