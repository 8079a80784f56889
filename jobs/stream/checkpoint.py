"""Reads a query's checkpoint: how far it has read its sources, and how its state is partitioned.

Knows the files that Spark writes for each batch (`offsets` before it, `commits` after it); must not know the tables.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def read_version(checkpoint: Path) -> int | None:
    """The last version of the request table that a finished batch of a stopped query has read.

    -1 before the first batch; None if requests come from another source, whose offset has no version.
    """
    finished = finished_batches(checkpoint)
    if not finished:
        return -1
    offset = offsets_of(checkpoint, max(finished))[0]
    return int(offset["version"]) if "version" in offset else None


def finished_batches(checkpoint: Path) -> list[int]:
    """The numbers of finished batches that are still kept."""
    return _numbers(checkpoint / "commits")


def begun_batches(checkpoint: Path) -> list[int]:
    """The numbers of started batches that are still kept."""
    return _numbers(checkpoint / "offsets")


def _numbers(folder: Path) -> list[int]:
    try:
        return [int(name) for name in os.listdir(folder) if name.isdigit()]
    except FileNotFoundError:
        return []


def offsets_of(checkpoint: Path, batch: int) -> list[dict[str, Any]]:
    """The end offset of each source in a started batch."""
    # A line for the format's version, one for the batch, then one for each source's offset.
    return [json.loads(line) for line in (checkpoint / "offsets" / str(batch)).read_text().splitlines()[2:]]


def query_id(checkpoint: Path) -> str:
    """The query's id, which its commits carry; empty: it was never started."""
    try:
        return str(json.loads((checkpoint / "metadata").read_text())["id"])
    except FileNotFoundError:
        return ""


def shuffle_partitions(checkpoint: Path) -> int | None:
    """The number of shuffle partitions of the state; None before the first batch."""
    begun = begun_batches(checkpoint)
    if not begun:
        return None
    settings = frozen_settings((checkpoint / "offsets" / str(max(begun))).read_text())
    return int(settings["spark.sql.shuffle.partitions"])


def frozen_settings(batch: str) -> dict[str, str]:
    """The settings that a checkpoint fixes, from the text of a batch's file in `offsets`; empty for no text."""
    settings: dict[str, str] = json.loads(batch.splitlines()[1])["conf"] if batch else {}
    return settings
