"""What the checkpoint of a stopped query says: how far it has read the request table, and how its state is spread.

Knows the files that Spark writes for each batch (`offsets` before it, `commits` after it); must not know the tables.
"""

from __future__ import annotations

import json
import os
from pathlib import Path


def read_version(checkpoint: Path) -> int | None:
    """The last version of the request table that a finished batch has read.

    -1 before the first batch; None where requests come from another source, whose offset has no version.
    """
    try:
        finished = [int(name) for name in os.listdir(checkpoint / "commits") if name.isdigit()]
    except FileNotFoundError:
        return -1
    if not finished:
        return -1
    # A line for the format's version, one for the batch, then one for each source's offset.
    offset = json.loads((checkpoint / "offsets" / str(max(finished))).read_text().splitlines()[2])
    return int(offset["version"]) if "version" in offset else None


def shuffle_partitions(checkpoint: Path) -> int | None:
    """The number of shuffle partitions that the state is spread over; None before the first batch."""
    try:
        begun = [int(name) for name in os.listdir(checkpoint / "offsets") if name.isdigit()]
    except FileNotFoundError:
        return None
    if not begun:
        return None
    settings = frozen_settings((checkpoint / "offsets" / str(max(begun))).read_text())
    return int(settings["spark.sql.shuffle.partitions"])


def frozen_settings(batch: str) -> dict[str, str]:
    """The settings that a checkpoint keeps, of the text of a batch's file in `offsets`; none for no text."""
    settings: dict[str, str] = json.loads(batch.splitlines()[1])["conf"] if batch else {}
    return settings
