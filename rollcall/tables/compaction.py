"""Compacts a table's small files, and removes old rows, between the commits of others, without a Delta library.

Gateways commit dozens of times a second. A Delta library's compaction reads the table anew whenever another commit was
faster, and gives up after fifteen tries; its deletion gives up after one. With a thousand groups both always fail. Here
only the commits made meanwhile are read, a fraction of a millisecond each.

A file's rows can be sorted by a column that queries filter by, so that one group's are read from a part of the file;
and rows that are many, and that most queries leave out, can stand apart from the others.
Knows files and commits of a table on the local disk. Others append to it, and nobody else removes files. Must not know
what a row means. Source: the Delta protocol, "Add File and Remove File", "Per-file Statistics".
"""

from __future__ import annotations

import json
import math
import posixpath
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rollcall.schemas.tables import Table
from rollcall.tables.delta_log import AddedFile, DeltaLog, GapError, live_files
from rollcall.tables.rows import fitted

ROWS_AT_ONCE = 100_000
"""In memory at a time."""
ROWS_IN_A_GROUP = 10_000
"""A reader skips a row group without the values that it looks for."""


class OvertakenError(OSError):
    """Another process removed one of the files meanwhile; the table is unchanged."""


class Moments(NamedTuple):
    """When a file's rows happened: the least and the greatest value, and how many rows have none."""

    least: float
    most: float
    nulls: int


def compact(table: Path, target_bytes: int, layout: Table) -> int:
    """Merges smaller files into files of about this size, each row once.

    Returns how many files were put together. Raises DeltaLogError, OSError, OvertakenError: the table is as it was.
    """
    log = DeltaLog(table)
    found = live_files(log)
    small = [file for file in found.files if file.size < target_bytes]
    bins = [some for files in _by_partition(small) for some in _bins(files, target_bytes)]
    return _replace(log, found.version, bins, layout)


def remove_before(table: Path, moment: int, layout: Table) -> int:
    """Removes the rows whose moment is before this; rows without one stay.

    Returns how many files had such rows. Raises DeltaLogError, OSError, OvertakenError: the table is as it was.
    """

    def keep(rows: pa.Table) -> pa.Table:
        moments = rows[layout.moment]
        return rows.filter(pc.or_kleene(pc.is_null(moments), pc.greater_equal(moments, moment)))

    log = DeltaLog(table)
    found = live_files(log)
    gone: list[AddedFile] = []
    partly: list[list[AddedFile]] = []
    for file in found.files:
        moments = _moments(log, file, layout.moment)
        if moments.most < moment and not moments.nulls:
            gone.append(file)
        elif moments.least < moment:
            partly.append([file])
    return _replace(log, found.version, partly, layout, keep, gone)


Keep = Callable[[pa.Table], pa.Table]
"""Which of some rows stay."""


def thin(table: Path, since: int, until: int, keep: Keep, layout: Table) -> int:
    """Keeps some of the rows of the files that reach into a time, each day's in one file.

    Returns how many files were replaced. Raises DeltaLogError, OSError, OvertakenError: the table is as it was.
    """
    log = DeltaLog(table)
    found = live_files(log)
    reaching = [(file, _moments(log, file, layout.moment)) for file in found.files]
    files = [file for file, moments in reaching if moments.least < until and moments.most >= since]
    return _replace(log, found.version, _by_partition(files), layout, keep)


def _moments(log: DeltaLog, file: AddedFile, column: str) -> Moments:
    """The moments of a file's rows, from the log, or from the file if the log does not say."""
    stats = json.loads(file.stats or "{}")
    least, most, nulls = (stats.get(name, {}).get(column) for name in ("minValues", "maxValues", "nullCount"))
    if least is not None and most is not None and nulls is not None:
        return Moments(least, most, nulls)
    values = pq.read_table(log.path_of(file), columns=[column], partitioning=None)[column]
    least, most = pc.min_max(values).as_py().values()
    return Moments(math.inf if least is None else least, math.inf if most is None else most, values.null_count)


def _by_partition(files: Iterable[AddedFile]) -> list[list[AddedFile]]:
    partitions: defaultdict[tuple[tuple[str, str | None], ...], list[AddedFile]] = defaultdict(list)
    for file in files:
        partitions[tuple(sorted(file.partition_values.items()))].append(file)
    return list(partitions.values())


def _bins(small: Sequence[AddedFile], target_bytes: int) -> Iterator[list[AddedFile]]:
    """Lists of small files of one partition to merge into one file each, in the order they came; at least two files
    each."""
    some, size = list[AddedFile](), 0
    for file in [*small, None]:
        if file is None or (some and size + file.size > target_bytes):
            if len(some) > 1:
                yield some
            some, size = [], 0
        if file is not None:
            some.append(file)
            size += file.size


def _replace(
    log: DeltaLog,
    version: int,
    bins: Sequence[Sequence[AddedFile]],
    layout: Table,
    keep: Keep | None = None,
    gone: Sequence[AddedFile] = (),
) -> int:
    """Replaces the files of each bin by one file, in one commit; returns how many files are removed. keep: selects the
    rows to keep. gone: files that are removed without a replacement.
    """
    removed = [*gone, *(file for files in bins for file in files)]
    if not removed:
        return 0
    now_ms = time.time_ns() // 1_000_000
    has_fewer_rows = keep is not None
    actions: list[dict[str, Any]] = []
    for file in removed:
        action = {"path": file.path, "size": file.size, "deletionTimestamp": now_ms, "extendedFileMetadata": True}
        same = {"partitionValues": file.partition_values, "dataChange": has_fewer_rows}
        actions.append({"remove": {**action, **same}})
    written: list[Path] = []
    try:
        for files in bins:
            name = f"part-{uuid.uuid4()}-c000.zstd.parquet"
            added = AddedFile(path=posixpath.join(posixpath.dirname(files[0].path), name))
            written.append(log.path_of(added))
            stats = _write(written[-1], [log.path_of(file) for file in files], layout, keep)
            size = written[-1].stat().st_size
            action = {"path": added.path, "size": size, "modificationTime": now_ms, "stats": json.dumps(stats)}
            same = {"partitionValues": files[0].partition_values, "dataChange": has_fewer_rows}
            actions.append({"add": {**action, **same}})
        _commit(log, version, "DELETE" if has_fewer_rows else "OPTIMIZE", actions, {file.path for file in removed})
    except Exception:
        for path in written:
            path.unlink(missing_ok=True)
        raise
    return len(removed)


def _write(path: Path, sources: Sequence[Path], layout: Table, keep: Keep | None) -> dict[str, Any]:
    """One file of all rows that are kept; its statistics as Delta spells them."""
    rows, nulls, bounds = 0, 0, list[int]()
    order: list[tuple[str, Literal["ascending"]]] = [(name, "ascending") for name in layout.order]
    # A file may be older than a column, or come from a library with types of its own.
    schema = pa.unify_schemas([pq.read_schema(source) for source in sources], promote_options="permissive")
    schema = schema.remove_metadata()
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for table in _tables(sources, schema):
            table = table.sort_by(order) if order else table
            table = table if keep is None else keep(table)
            for part in _parts(table, layout):
                writer.write_table(part, row_group_size=ROWS_IN_A_GROUP if order else ROWS_AT_ONCE)
            rows += table.num_rows
            nulls += table[layout.moment].null_count
            found = pc.min_max(table[layout.moment]).as_py()
            bounds += [value for value in found.values() if value is not None]
    stats: dict[str, Any] = {"numRecords": rows, "nullCount": {layout.moment: nulls}}
    if bounds:
        stats |= {"minValues": {layout.moment: min(bounds)}, "maxValues": {layout.moment: max(bounds)}}
    return stats


def _parts(table: pa.Table, layout: Table) -> Iterator[pa.Table]:
    """A table's rows by the row groups that they may share."""
    if layout.apart is None:
        yield table
        return
    column, value = layout.apart
    is_apart = pc.fill_null(pc.equal(table[column], value), False)
    for part in (table.filter(pc.invert(is_apart)), table.filter(is_apart)):
        if part.num_rows:
            yield part


def _tables(sources: Sequence[Path], schema: pa.Schema) -> Iterator[pa.Table]:
    """All rows in tables of about ROWS_AT_ONCE, one file open at a time."""
    held: list[pa.Table] = []
    count = 0
    for source in sources:
        with pq.ParquetFile(source) as file:
            for batch in file.iter_batches(ROWS_AT_ONCE):
                held.append(fitted(pa.Table.from_batches([batch]), schema))
                count += batch.num_rows
                if count >= ROWS_AT_ONCE:
                    yield pa.concat_tables(held)
                    held, count = [], 0
    if held:
        yield pa.concat_tables(held)


def _commit(log: DeltaLog, version: int, operation: str, actions: Sequence[dict[str, Any]], removed: set[str]) -> None:
    """Takes the first free version after the one that was read, if no commit in between removed one of these files."""
    with log.waiting_commit(operation, {}, actions) as waiting:
        try:
            while not log.try_commit(waiting, version + 1):
                version += 1
                commit = log.read(version)
                if commit is None or any(file.path in removed for file in commit.removed):
                    raise OvertakenError(f"{log.table}: version {version} removed one of the files that are replaced")
        except GapError as error:
            raise OvertakenError(f"{error}, putting files together took too long") from None
