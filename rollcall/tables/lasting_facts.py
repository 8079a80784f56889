"""The facts that give the present state of a home's groups: the latest of each kind, for groups and members that exist.
They are kept in a file in the effects table's folder, as of one version of the table, which upkeep renews. So a program
that starts reads that file and later commits, however long the history is. Without the file it reads the history once.

Knows when one fact replaces another; must not know what a fact's detail says, nor load pyarrow or deltalake.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import duckdb

from rollcall.schemas.effect_names import LASTING, EffectName
from rollcall.tables.delta_log import DeltaLog
from rollcall.tables.duck_database import files_of, open_database, quoted
from rollcall.tables.kept_file import KeptFile
from rollcall.tables.readable_files import ask_readable
from rollcall.tables.unread import left_out, whole_files

FOLDER = "_lasting_facts"
_MEMORY_MB = 192
"""More than `readable_files` needs to find unreadable files."""
_TRIES = 3

_CREATED, _REMOVED = EffectName.GROUP_CREATED.value, EffectName.GROUP_REMOVED.value
_JOINED, _LEFT = EffectName.MEMBER_JOINED.value, EffectName.MEMBER_REMOVED.value
_CONFIGS = EffectName.GROUP_CONFIGS_CHANGED.value
_OF_MEMBERS = tuple(name.value for name in LASTING if name.value.startswith("member_"))
_SEQS_A_MS = 1 << 32
_COLUMNS = "group_id, effect, at_ms, seq, member_id, detail"
QUERY = f"""
WITH facts AS NOT MATERIALIZED (
    SELECT *, CASE WHEN effect IN {_OF_MEMBERS} THEN coalesce(member_id, '') END AS of_member,
        CASE WHEN effect IN ('{_CREATED}', '{_REMOVED}', '{_JOINED}', '{_LEFT}') THEN 'exists' ELSE effect END AS about,
        (at_ms::HUGEINT * {_SEQS_A_MS} + seq) * 2 + (effect IN ('{_REMOVED}', '{_LEFT}'))::INT AS moment
    FROM ({{facts}})
),
latest AS MATERIALIZED (SELECT group_id, of_member, about, max(moment) AS moment FROM facts GROUP BY ALL),
bounds AS (SELECT group_id, of_member, moment FROM latest WHERE about = 'exists'),
lasting AS (
    SELECT latest.group_id, latest.moment FROM latest
    LEFT JOIN bounds AS of_group ON of_group.group_id = latest.group_id AND of_group.of_member IS NULL
    LEFT JOIN bounds AS of_member
        ON of_member.group_id = latest.group_id AND of_member.of_member = latest.of_member
    WHERE about = '{_CONFIGS}' OR (
        coalesce(of_group.moment % 2, 0) = 0 AND coalesce(of_member.moment % 2, 0) = 0
        AND latest.moment >= coalesce(of_group.moment, 0) AND latest.moment >= coalesce(of_member.moment, 0)
    )
)
SELECT group_id, effect, at_ms, seq, member_id, detail FROM facts SEMI JOIN lasting USING (group_id, moment)
"""
"""facts: the rows to choose from, of the effects in LASTING, in the columns of Fact but for the last two.

A moment is at_ms and seq in one number, whose last bit means that the group or the member is gone; a group's configs
outlive it. So details, which may be long, are read only in the second pass, and only of the facts that last.
"""


class Fact(NamedTuple):
    """An event of a group, a member or a request: a row of the effects table, in the columns that are needed."""

    group_id: str
    effect: EffectName
    at_ms: int
    seq: int
    member_id: str | None
    detail: str | None
    """The whole effect as JSON."""
    request_id: str | None = None
    """None where the fact lasts, and so is the cause of a rebalance."""
    cause: str | None = None


class LastingFacts(NamedTuple):
    """In the order in which they happened, as of a version of the table; -1: there is none."""

    version: int
    facts: list[Fact]


def lasting_facts(table: Path) -> LastingFacts:
    """As of the latest version. Files that cannot be read are left out, with a log line.

    Raises DeltaLogError: the table's log cannot be read; OSError: a file cannot be read just now.
    """
    version = DeltaLog(table).latest()
    if version < 0:
        return LastingFacts(-1, [])
    with open_database(memory_mb=_MEMORY_MB) as database:
        rows = _asked(database, table, version, "{query}").fetchall()
    facts = [Fact(row[0], EffectName(row[1]), *row[2:]) for row in rows]
    return LastingFacts(version, sorted(facts, key=lambda fact: (fact.at_ms, fact.seq)))


def keep_lasting_facts(table: Path) -> None:
    """Renews the file, if the table has a later version. Raises as lasting_facts."""
    version, kept = DeltaLog(table).latest(), KeptFile(table / FOLDER)
    if version < 0 or kept.version(version) == version:
        return
    with kept.renewed(version) as path, open_database(memory_mb=_MEMORY_MB) as database:
        _asked(database, table, version, f"COPY ({{query}}) TO '{quoted(path)}' (FORMAT parquet)")


def _asked(database: duckdb.DuckDBPyConnection, table: Path, version: int, form: str) -> duckdb.DuckDBPyConnection:
    """The query's result in this form. Upkeep may remove a file between two reads."""
    tries, kept = 0, KeptFile(table / FOLDER)
    while True:
        tries += 1
        known = kept.version(version)
        files = _appended_since(table, known, version) if known is not None else None
        if files is None:
            files = files_of(table, version)
        try:
            of_kept = None if known is None else kept.path(known)
            return ask_readable(partial(_asked_of, database, of_kept, form), files)
        except duckdb.Error as error:
            if tries == _TRIES:
                raise OSError(f"{table}: {error}") from error


def _asked_of(
    database: duckdb.DuckDBPyConnection, kept: Path | None, form: str, files: Sequence[str]
) -> duckdb.DuckDBPyConnection:
    names = tuple(name.value for name in LASTING)
    sources = [f"SELECT {_COLUMNS} FROM read_parquet('{quoted(kept)}')"] if kept is not None else []
    if files:
        listed = ", ".join(f"'{quoted(path)}'" for path in files)
        rows = f"read_parquet([{listed}], hive_partitioning = false)"
        sources.append(f"SELECT {_COLUMNS} FROM {rows} WHERE effect IN {names}")
    if not sources:
        sources = ["SELECT '' AS group_id, '' AS effect, 0 AS at_ms, 0 AS seq, '' AS member_id, '' AS detail LIMIT 0"]
    return database.execute(form.format(query=QUERY.format(facts=" UNION ALL ".join(sources))))


def _appended_since(table: Path, known: int, version: int) -> list[str] | None:
    """The files that commits have appended since a version; None: one is gone, so the whole table must be read."""
    log, files = DeltaLog(table), list[str]()
    for number in range(known + 1, version + 1):
        try:
            paths = log.appended(number)
        except ValueError as error:
            left_out(table.name, f"version {number}", error)
            continue
        if paths is None or not all(path.exists() for path in paths):
            return None
        files += [str(path) for path in whole_files(table.name, paths)]
    return files
