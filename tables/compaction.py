"""Puts a table's small files together, and removes old rows, between the commits of others, without a Delta library.

Gateways commit dozens of times a second. A Delta library's compaction reads the table anew each time that a commit
overtakes it, and gives up after fifteen; its deletion gives up at the first. Beside a thousand groups both are always
too late. Here only the commits that came meanwhile are looked at, a fraction of a millisecond each.

A file's rows can be laid out by a column that answers ask for, so that one group's are read from a part of the file.

Knows files and commits of a table on the local disk, which others append to and nobody else shortens; must not know
what a row means. Source: the Delta protocol, "Add File and Remove File", "Per-file Statistics".
"""

from __future__ import annotations

import json
import math
import posixpath
import time
import uuid
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tables.checkpoints import read_checkpoint
from tables.delta_commit import GapError, becomes, waiting_commit
from tables.delta_log import AddedFile, DeltaLog
from tables.live_files import live_files

ROWS_AT_ONCE = 100_000
"""In memory at a time."""
ROWS_IN_A_GROUP = 10_000
"""A reader passes over a row group that has none of the values that it looks for."""


class OvertakenError(OSError):
    """Somebody else removed one of the files meanwhile; the table stays as it is."""


class Moments(NamedTuple):
    """When a file's rows happened: the least and the greatest value, and how many rows have none."""

    least: float
    most: float
    nulls: int


class Layout(NamedTuple):
    """How a table's rows lie in its files."""

    moment: str
    """The column of whole numbers whose least and greatest value the log tells of each file."""
    order: tuple[str, ...] = ()
    """The columns by which rows are sorted, some hundred thousand at a time; none: as they came."""


def put_together(table: Path, target_bytes: int, layout: Layout) -> int:
    """Puts files that are smaller than this together into files of about this size, each row once.

    Returns how many files were put together. Raises DeltaLogError, OSError, OvertakenError: the table is as it was.
    """
    log = DeltaLog(table)
    found = live_files(log, read_checkpoint)
    bins = list(_bins(found.files, target_bytes))
    _replace(log, found.version, bins, layout)
    return sum(map(len, bins))


def remove_before(table: Path, moment: int, layout: Layout) -> int:
    """Removes the rows whose moment is before this; rows without one stay.

    Returns how many files had such rows. Raises DeltaLogError, OSError, OvertakenError: the table is as it was.
    """
    log = DeltaLog(table)
    found = live_files(log, read_checkpoint)
    old = [[file] for file in found.files if _moments(log, file, layout.moment).least < moment]
    _replace(log, found.version, old, layout, moment)
    return len(old)


def _moments(log: DeltaLog, file: AddedFile, column: str) -> Moments:
    """Of a file's rows: as the log says, else as the file does."""
    told = json.loads(file.stats or "{}")
    least, most, nulls = (told.get(name, {}).get(column) for name in ("minValues", "maxValues", "nullCount"))
    if least is not None and most is not None and nulls is not None:
        return Moments(least, most, nulls)
    values = pq.read_table(log.path_of(file), columns=[column], partitioning=None)[column]
    least, most = pc.min_max(values).as_py().values()
    return Moments(math.inf if least is None else least, math.inf if most is None else most, values.null_count)


def _replace(
    log: DeltaLog, version: int, bins: Sequence[Sequence[AddedFile]], layout: Layout, from_moment: int | None = None
) -> None:
    """Writes a file in the place of each bin's, and commits all at once. from_moment: without rows before it."""
    if not bins:
        return
    written: list[Path] = []
    try:
        actions = [action for files in bins for action in _replaced(log, files, layout, from_moment, written)]
        _commit(log, version, actions, {file.path for files in bins for file in files}, from_moment is not None)
    except Exception:
        for path in written:
            path.unlink(missing_ok=True)
        raise


def _bins(files: Sequence[AddedFile], target_bytes: int) -> Iterator[list[AddedFile]]:
    """Small files of one partition that make one file each, in the order they came; none of a single file."""
    partitions: defaultdict[tuple[tuple[str, str | None], ...], list[AddedFile]] = defaultdict(list)
    for file in files:
        if file.size < target_bytes:
            partitions[tuple(sorted(file.partition_values.items()))].append(file)
    for small in partitions.values():
        some, size = list[AddedFile](), 0
        for file in small:
            if some and size + file.size > target_bytes:
                if len(some) > 1:
                    yield some
                some, size = [], 0
            some.append(file)
            size += file.size
        if len(some) > 1:
            yield some


def _replaced(
    log: DeltaLog, files: Sequence[AddedFile], layout: Layout, from_moment: int | None, written: list[Path]
) -> Iterator[dict[str, Any]]:
    """The actions by which one file, if any row is left, takes the place of several; noted before it is written."""
    now_ms = time.time_ns() // 1_000_000
    same = {"partitionValues": files[0].partition_values, "dataChange": from_moment is not None}
    for file in files:
        gone = {"path": file.path, "size": file.size, "deletionTimestamp": now_ms, "extendedFileMetadata": True}
        yield {"remove": {**gone, **same}}
    if from_moment is not None:
        told = [_moments(log, file, layout.moment) for file in files]
        if all(each.most < from_moment and not each.nulls for each in told):
            return
    name = f"part-{uuid.uuid4()}-c000.zstd.parquet"
    added = AddedFile(path=posixpath.join(posixpath.dirname(files[0].path), name))
    path = log.path_of(added)
    written.append(path)
    stats = _write(path, [log.path_of(file) for file in files], layout, from_moment)
    came = {"path": added.path, "size": path.stat().st_size, "modificationTime": now_ms, "stats": json.dumps(stats)}
    yield {"add": {**came, **same}}


def _write(path: Path, sources: Sequence[Path], layout: Layout, from_moment: int | None) -> dict[str, Any]:
    """One file of all rows from a moment on; its statistics as Delta spells them."""
    rows, nulls, bounds = 0, 0, list[int]()
    order: list[tuple[str, Literal["ascending"]]] = [(name, "ascending") for name in layout.order]
    # A file may be older than a column, or come from a library with types of its own.
    schema = pa.unify_schemas([pq.read_schema(source) for source in sources], promote_options="permissive")
    schema = schema.remove_metadata()
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for table in _tables(sources, schema):
            if from_moment is not None:
                moments = table[layout.moment]
                table = table.filter(pc.or_kleene(pc.is_null(moments), pc.greater_equal(moments, from_moment)))
            laid_out = table.sort_by(order) if order else table
            writer.write_table(laid_out, row_group_size=ROWS_IN_A_GROUP if order else ROWS_AT_ONCE)
            rows += table.num_rows
            nulls += table[layout.moment].null_count
            found = pc.min_max(table[layout.moment]).as_py()
            bounds += [value for value in found.values() if value is not None]
    stats: dict[str, Any] = {"numRecords": rows, "nullCount": {layout.moment: nulls}}
    if bounds:
        stats |= {"minValues": {layout.moment: min(bounds)}, "maxValues": {layout.moment: max(bounds)}}
    return stats


def _tables(sources: Sequence[Path], schema: pa.Schema) -> Iterator[pa.Table]:
    """All rows in tables of about ROWS_AT_ONCE, one file open at a time."""
    held: list[pa.Table] = []
    count = 0
    for source in sources:
        with pq.ParquetFile(source) as file:
            for batch in file.iter_batches(ROWS_AT_ONCE):
                held.append(_fitted(pa.Table.from_batches([batch]), schema))
                count += batch.num_rows
                if count >= ROWS_AT_ONCE:
                    yield pa.concat_tables(held)
                    held, count = [], 0
    if held:
        yield pa.concat_tables(held)


def _fitted(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The same rows with all columns of a schema."""
    columns = [
        table[field.name].cast(field.type) if field.name in table.column_names else pa.nulls(len(table), field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _commit(
    log: DeltaLog, version: int, actions: Sequence[dict[str, Any]], removed: set[str], removes_rows: bool
) -> None:
    """Takes the first free version after the one that was read, if no commit between them removed a file of ours."""
    with waiting_commit(log, "DELETE" if removes_rows else "OPTIMIZE", {}, actions) as waiting:
        try:
            while not becomes(log, waiting, version + 1):
                version += 1
                commit = log.read(version)
                if commit is None or any(file.path in removed for file in commit.removed):
                    raise OvertakenError(f"{log.table}: version {version} removed one of the files that are replaced")
        except GapError as error:
            raise OvertakenError(f"{error}, putting files together took too long") from None
