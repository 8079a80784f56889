"""The commits that count for where groups stand, so that nobody who asks for lag reads the history of all of them.

They are kept in a file in the effects table's folder, with the names of the data files that they were chosen from.
Upkeep renews it. Whoever asks reads that file and the commits of all other data files. The file serves only while
every file that it names is the table's, so a row that was removed from the table is not read from here.

Of the commits of a group that name the same partitions those count that are of the last minute before the latest, and
the one before them. They are chosen so for each of the last periods, and once for all time before. What
counts at a moment of these periods is among those chosen for the periods before its own, and all commits of its own. So
it does not matter either if a commit is appended late. Of the latest period all commits are kept, since each answer
that shows a trend asks for the lag of a minute ago.

Knows which commits count. Must not know what is made of them, nor load pyarrow or deltalake.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import duckdb

from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.tables import EFFECTS
from rollcall.tables.delta_log import DeltaLog, live_files
from rollcall.tables.duck_database import open_database, quoted, rows_of
from rollcall.tables.kept_file import KeptFile
from rollcall.tables.lag.kept import MOVING_WITHIN_MS
from rollcall.tables.readable_files import readable
from rollcall.tables.unread import whole_files

FOLDER = "_recent_commits"
PERIOD_MS = 600_000
PERIODS = 12
WHOLE_MS = 60_000
"""All commits are kept of the period that holds the moment this long before the latest commit, and of what follows."""
_MEMORY_MB = 192
STEP_BYTES = 64 << 20
"""Files of this size together are read at once, so that memory does not grow with the history."""
_COLUMNS = ", ".join(EFFECTS.names)
_IS_COMMIT = f"effect = '{EffectName.OFFSETS_COMMITTED.value}'"
_IS_NONE = f"effect <> '{EffectName.OFFSETS_COMMITTED.value}'"
_PARTITION = r'"topic":"(?:[^"\\]|\\.)*","partition":\d+'
"""In a commit's detail, as `rollcall.schemas.effect_rows` writes it. To open all of the JSON takes many times its size.
A commit that names no partition counts on its own."""
_CHOSEN = f"""
WITH commits AS NOT MATERIALIZED ({{commits}}), moments AS (
    SELECT group_id, list(at_ms) AS moments, max(at_ms) - {MOVING_WITHIN_MS} AS minute_from_ms
    FROM (
        SELECT group_id, at_ms, CASE WHEN at_ms >= {{whole_from_ms}} THEN -at_ms
            WHEN at_ms >= {{periods_from_ms}} THEN at_ms // {PERIOD_MS} END AS period,
            md5(coalesce(nullif(array_to_string(regexp_extract_all(detail, '{_PARTITION}'), ''), ''), detail)) AS named
        FROM commits
    )
    GROUP BY group_id, named, period
), counted AS (
    SELECT group_id, unnest(list_filter(moments, lambda one: before_ms IS NULL OR one >= before_ms)) AS at_ms
    FROM (SELECT *, list_max(list_filter(moments, lambda one: one <= minute_from_ms)) AS before_ms FROM moments)
)
SELECT {_COLUMNS} FROM commits SEMI JOIN counted USING (group_id, at_ms) ORDER BY group_id, at_ms, seq
"""


class _Kept(NamedTuple):
    """A file of commits: where it lies, and what it says of itself."""

    path: Path
    version: int
    """The table's version when it was made."""
    files: frozenset[str]
    """The data files that it was made of, relative to the table's folder."""
    periods_from_ms: int
    """From when on the commits were chosen for each period."""
    whole_from_ms: int
    """From when on all commits are kept."""


class RecentEffects(NamedTuple):
    """Effects with those commits alone: what stands in FROM, and the files that it reads."""

    rows: str
    files: list[str]


def with_recent_commits(
    database: duckdb.DuckDBPyConnection, table: Path, files: Sequence[str], until_ms: int | None
) -> RecentEffects | None:
    """All other effects, and at least the commits that count at until_ms (None: now).

    files: those of the table. Returns None without a usable file of commits; then read all.
    """
    kept = _latest(database, table)
    named = {path: os.path.relpath(path, table) for path in files}
    if kept is None or not kept.files.issubset(named.values()):
        return None
    until_period = ""
    if until_ms is not None and until_ms < kept.whole_from_ms:
        if until_ms < kept.periods_from_ms:
            return None
        until_period = f"at_ms < {until_ms - until_ms % PERIOD_MS}"
    others = [path for path in files if named[path] not in kept.files]
    parts = [
        f"SELECT {_COLUMNS} FROM {rows_of(files, EFFECTS)} WHERE {_IS_NONE}",
        f"SELECT {_COLUMNS} FROM read_parquet('{quoted(kept.path)}'){until_period and f' WHERE {until_period}'}",
    ]
    if others:
        of_periods = until_period and f" AND {until_period}"
        parts.append(f"SELECT {_COLUMNS} FROM {rows_of(others, EFFECTS)} WHERE {_IS_COMMIT}{of_periods}")
    if until_period:
        parts.append(f"SELECT {_COLUMNS} FROM {rows_of(files, EFFECTS)} WHERE {_IS_COMMIT} AND NOT {until_period}")
    return RecentEffects(f"({' UNION ALL '.join(parts)})", [*files, str(kept.path)])


def keep_recent_commits(table: Path) -> None:
    """Renews the file, if there are data files that it does not know.

    Raises DeltaLogError: the table's log cannot be read; OSError: a file cannot be read just now.
    """
    log = DeltaLog(table)
    if log.latest() < 0:
        return
    found = live_files(log)
    files = [str(path) for path in whole_files(table.name, found.paths)]
    with open_database(memory_mb=_MEMORY_MB) as database:
        # Each thread that opens JSON takes some 40 MB for it.
        database.execute("SET threads = 1")
        known = _latest(database, table)
        if known is not None and known.files == _names(table, files):
            return
        if known is not None and not _has_all_rows_since(log, known.version, found.version):
            known = None
        try:
            _write(database, table, found.version, known, files)
        except duckdb.Error as error:
            whole = readable(files)
            if known is None and whole == files:
                raise OSError(f"{table}: {error}") from error
            _write(database, table, found.version, None, whole)


def _write(
    database: duckdb.DuckDBPyConnection, table: Path, version: int, known: _Kept | None, files: Sequence[str]
) -> None:
    """Makes the file of those data files, and of what is known of some of them; removes those before it."""
    new = [path for path in files if known is None or os.path.relpath(path, table) not in known.files]
    before = "" if known is None else f"SELECT {_COLUMNS} FROM read_parquet('{quoted(known.path)}')"
    steps = [f"SELECT {_COLUMNS} FROM {rows_of(some, EFFECTS)} WHERE {_IS_COMMIT}" for some in _in_steps(new)]
    if not before and not steps:
        return
    all_commits = " UNION ALL ".join([before, *steps] if before else steps)
    (latest_ms,) = database.execute(f"SELECT coalesce(max(at_ms), 0) FROM ({all_commits})").fetchone() or (0,)
    froms = {
        "periods_from_ms": latest_ms - latest_ms % PERIOD_MS - PERIODS * PERIOD_MS,
        "whole_from_ms": latest_ms - WHOLE_MS - (latest_ms - WHOLE_MS) % PERIOD_MS,
    }
    about = json.dumps({"files": sorted(_names(table, files)), **froms})
    for step in steps or [""]:
        # Where files were put together, rows that were chosen before come again.
        added = f"SELECT {_COLUMNS} FROM ({step}) ANTI JOIN ({before}) USING (group_id, at_ms, seq)" if before else step
        commits = f"{before} UNION ALL {added}" if before and step else before or step
        database.execute(f"CREATE OR REPLACE TEMP TABLE chosen AS {_CHOSEN.format(commits=commits, **froms)}")
        before = f"SELECT {_COLUMNS} FROM chosen"
    with KeptFile(table / FOLDER).renewed(version) as path:
        database.execute(
            f"COPY chosen TO '{quoted(path)}' "
            f"(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 10000, KV_METADATA {{about: '{quoted(about)}'}})"
        )


def _in_steps(files: Sequence[str]) -> Iterator[list[str]]:
    """The files, as many at a time as are read at once, and at least one."""
    some, size = list[str](), 0
    for path in files:
        more = os.path.getsize(path)
        if some and size + more > STEP_BYTES:
            yield some
            some, size = [], 0
        some.append(path)
        size += more
    if some:
        yield some


def _latest(database: duckdb.DuckDBPyConnection, table: Path) -> _Kept | None:
    """The latest file of commits; None without a readable one."""
    kept = KeptFile(table / FOLDER)
    try:
        version = kept.version()
        if version is None:
            return None
        found = kept.path(version)
        asked = f"SELECT decode(value) FROM parquet_kv_metadata('{quoted(found)}') WHERE decode(key) = 'about'"
        about = json.loads((database.execute(asked).fetchone() or ("null",))[0])
        froms = about["periods_from_ms"], about["whole_from_ms"]
        return _Kept(found, version, frozenset(about["files"]), *froms)
    except (duckdb.Error, OSError, ValueError, TypeError, KeyError):
        return None


def _names(table: Path, files: Sequence[str]) -> frozenset[str]:
    return frozenset(os.path.relpath(path, table) for path in files)


def _has_all_rows_since(log: DeltaLog, since: int, version: int) -> bool:
    """Whether the table has all rows that it had at an earlier version; False also if its log no longer says."""
    commits = [log.read(number) for number in range(since + 1, version + 1)]
    return since <= version and all(
        commit is not None and not any(file.data_change for file in commit.removed) for commit in commits
    )
