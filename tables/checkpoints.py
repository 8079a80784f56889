"""Reads a checkpoint's data files with pyarrow, for `tables.live_files`. Knows the checkpoint's column `add` alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

from tables.delta_log import AddedFile


def read_checkpoint(paths: Sequence[Path]) -> Iterator[AddedFile]:
    """The live files that a checkpoint lists."""
    for path in paths:
        adds = pq.ParquetFile(path).read(columns=["add"])["add"]
        for add in adds.filter(pc.is_valid(adds)).to_pylist():
            yield AddedFile(
                path=add["path"],
                partition_values=dict(add["partitionValues"]),
                size=add["size"],
                data_change=add["dataChange"],
                stats=add.get("stats"),
                deletion_vector=add.get("deletionVector"),
            )
