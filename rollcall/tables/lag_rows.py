"""Ends of logs and fetched offsets as rows of a home's tables.

Knows the columns and the folders; must not know where rows come from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from rollcall.schemas.tables import FETCHES, LOG_ENDS, Table
from rollcall.tables.appending import append, open_table
from rollcall.tables.lag.rows import Fetched, LagRows, LogEnd
from rollcall.tables.properties import table_properties
from rollcall.tables.rows import with_days


def append_lag(home: Path, rows: LagRows, cluster: str | None = None) -> None:
    """Appends rows to the tables of a home, each in one commit; a table is made with its first rows."""
    if rows.ends or rows.asked_ms is not None:
        _append(home / LOG_ENDS.name, LOG_ENDS, ends_table(rows.ends, rows.asked_ms, cluster))
    if rows.fetches:
        _append(home / FETCHES.name, FETCHES, fetches_table(rows.fetches))


def ends_table(ends: Sequence[LogEnd], asked_ms: int | None, cluster: str | None) -> pa.Table:
    """The rows of LOG_ENDS, by partition and time; asked_ms: see `LagRows`."""
    ordered = sorted(ends, key=lambda row: (row.topic, row.partition, row.at_ms))
    rows: list[tuple[object, ...]] = [*ordered]
    if asked_ms is not None:
        rows.append((None, None, asked_ms, None, None, None, "sample", None))
    made = _table(LOG_ENDS, LogEnd._fields, rows)
    return made.set_column(0, "cluster", pa.array([cluster] * len(rows), pa.string()))


def fetches_table(fetches: Sequence[Fetched]) -> pa.Table:
    ordered = sorted(fetches, key=lambda row: (row.topic, row.partition, row.at_ms))
    return _table(FETCHES, Fetched._fields, ordered)


def _table(table: Table, fields: Sequence[str], rows: Sequence[tuple[object, ...]]) -> pa.Table:
    columns = dict(zip(fields, zip(*rows, strict=True), strict=True)) if rows else {}
    given = [field for field in table.arrow if field.name != "at_date"]
    arrays = [pa.array(columns.get(field.name, [None] * len(rows)), field.type) for field in given]
    return with_days(pa.table(arrays, schema=pa.schema(given)), table)


def _append(path: Path, table: Table, rows: pa.Table) -> None:
    append(open_table(path, table, table_properties()), rows)


def thinned_to(interval_ms: int, before_ms: int) -> Callable[[pa.Table], pa.Table]:
    """Keeps the last row in each interval, and all rows from a moment on; rows are sorted by topic, partition and time.

    A row with only a log start stays, since no other row has it, and so does the first row with a start above 0: which
    records were lost follows from the commit that was the latest then.
    """

    def keep(rows: pa.Table) -> pa.Table:
        if rows.num_rows < 2:
            return rows
        is_other_log = pc.or_(_changes(rows["topic"]), _changes(rows["partition"]))
        is_other_interval = pc.or_(is_other_log, _changes(pc.divide(rows["at_ms"], interval_ms)))
        is_last = pa.concat_arrays([is_other_interval, pa.array([True])])
        has_other_start = pc.or_(is_other_log, _changes(rows["log_start_offset"]))
        is_cut = pc.fill_null(pc.greater(rows["log_start_offset"], 0), False)
        is_start = pc.and_(is_cut, pa.concat_arrays([pa.array([True]), has_other_start]))
        is_start_alone = pc.and_(pc.is_null(rows["end_offset"]), pc.is_valid(rows["topic"]))
        is_young = pc.greater_equal(rows["at_ms"], before_ms)
        return rows.filter(pc.or_(pc.or_(is_last, is_young), pc.or_(is_start, is_start_alone)))

    return keep


def _changes(column: pa.ChunkedArray) -> pa.Array:
    """Return for each row but the last whether the next has another value; nothing is the same as null."""
    values = column.combine_chunks()
    return pc.fill_null(pc.not_equal(values[:-1], values[1:]), True)
