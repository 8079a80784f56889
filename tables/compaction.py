"""Puts a table's small files together and commits that between the commits of others, without a Delta library.

Gateways commit dozens of times a second. A Delta library's compaction reads the table anew each time that a commit
overtakes it, and gives up after fifteen: beside a thousand groups it is always too late. Here only the commits that
came meanwhile are looked at, a fraction of a millisecond each.

A file's rows can be laid out by a column that answers ask for, so that one group's are read from a part of the file.

Knows files and commits of a table on the local disk, which others append to and nobody else shortens; must not know
what a row means. Source: the Delta protocol, "Add File and Remove File", "Per-file Statistics".
"""

from __future__ import annotations

import json
import os
import posixpath
import time
import uuid
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tables.checkpoints import read_checkpoint
from tables.delta_log import AddedFile, DeltaLog
from tables.live_files import live_files

ROWS_AT_ONCE = 100_000
"""In memory at a time."""
ROWS_IN_A_GROUP = 10_000
"""A reader passes over a row group that has none of the values that it looks for."""


class OvertakenError(OSError):
    """Somebody else removed one of the files meanwhile; the table stays as it is."""


def put_together(table: Path, target_bytes: int, moment: str, order: Sequence[str] = ()) -> int:
    """Puts files that are smaller than this together into files of about this size, each row once.

    moment: the column of whole numbers whose least and greatest value the log tells of each file. order: the columns
    by which rows are laid out, some hundred thousand at a time; none: as they came. Returns how many files were put
    together. Raises DeltaLogError, OSError, OvertakenError: the table is as it was.
    """
    log = DeltaLog(table)
    found = live_files(log, read_checkpoint)
    bins = list(_bins(found.files, target_bytes))
    if not bins:
        return 0
    written: list[Path] = []
    try:
        actions = [action for some in bins for action in _replaced(log, some, moment, order, written)]
        _commit(log, found.version, actions, {file.path for some in bins for file in some})
    except Exception:
        for path in written:
            path.unlink(missing_ok=True)
        raise
    return sum(map(len, bins))


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
    log: DeltaLog, files: Sequence[AddedFile], moment: str, order: Sequence[str], written: list[Path]
) -> list[dict[str, Any]]:
    """The actions by which one file takes the place of several; it is written, and noted before."""
    folder = posixpath.dirname(files[0].path)
    added = AddedFile(path=posixpath.join(folder, f"part-{uuid.uuid4()}-c000.zstd.parquet"))
    path = log.path_of(added)
    written.append(path)
    stats = _write(path, [log.path_of(file) for file in files], moment, order)
    now_ms = time.time_ns() // 1_000_000
    same = {"partitionValues": files[0].partition_values, "dataChange": False}
    gone = {"deletionTimestamp": now_ms, "extendedFileMetadata": True, **same}
    came = {"modificationTime": now_ms, "stats": json.dumps(stats), **same}
    return [
        *({"remove": {"path": file.path, "size": file.size, **gone}} for file in files),
        {"add": {"path": added.path, "size": path.stat().st_size, **came}},
    ]


def _write(path: Path, sources: Sequence[Path], moment: str, order: Sequence[str]) -> dict[str, Any]:
    """One file of all rows; its statistics as Delta spells them."""
    rows, bounds = 0, list[int]()
    # A file may be older than a column, or come from a library with types of its own.
    schema = pa.unify_schemas([pq.read_schema(source) for source in sources], promote_options="permissive")
    schema = schema.remove_metadata()
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for table in _tables(sources, schema):
            laid_out = table.sort_by([(name, "ascending") for name in order]) if order else table
            writer.write_table(laid_out, row_group_size=ROWS_IN_A_GROUP if order else ROWS_AT_ONCE)
            rows += table.num_rows
            found = pc.min_max(table[moment]).as_py()
            bounds += [value for value in found.values() if value is not None]
    stats: dict[str, Any] = {"numRecords": rows}
    if bounds:
        stats |= {"minValues": {moment: min(bounds)}, "maxValues": {moment: max(bounds)}}
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


def _commit(log: DeltaLog, version: int, actions: Sequence[dict[str, Any]], removed: set[str]) -> None:
    """Takes the first free version after the one that was read, if no commit between them removed a file of ours."""
    now_ms = time.time_ns() // 1_000_000
    info = {"commitInfo": {"timestamp": now_ms, "operation": "OPTIMIZE", "operationParameters": {}}}
    waiting = log.folder / f"_commit_{uuid.uuid4()}.json.tmp"
    try:
        waiting.write_text("".join(f"{json.dumps(action)}\n" for action in [info, *actions]))
        while not _is_taken(log, version + 1, waiting):
            version += 1
            commit = log.read(version)
            if commit is None or any(file.path in removed for file in commit.removed):
                raise OvertakenError(f"{log.table}: version {version} removed what was put together")
        if not log.has(version):
            # Cleaned away meanwhile: what was free is a gap in the past.
            log.commit_path(version + 1).unlink()
            raise OvertakenError(f"{log.table}: version {version} is gone, putting files together took too long")
    finally:
        # Once the commit is there nothing may fail any more.
        with suppress(OSError):
            waiting.unlink(missing_ok=True)


def _is_taken(log: DeltaLog, version: int, waiting: Path) -> bool:
    """Whether the commit has become this version; not if another one is it."""
    try:
        os.link(waiting, log.commit_path(version))
    except FileExistsError:
        return False
    return True
