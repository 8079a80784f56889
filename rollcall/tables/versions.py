"""The versions of a table for code outside `tables/`: which there are, and which files each appended. Other packages
know how a table is kept only by this, `appending`, `upkeep` and `in_spark`.

Must not know what is in a row, nor load pyarrow or deltalake.
"""

from __future__ import annotations

from pathlib import Path

from rollcall.tables.delta_log import LOG_FOLDER, DeltaLog, DeltaLogError

Versions = DeltaLog
"""Others ask it for `versions`, `latest`, `has` and `appended`."""
TableError = DeltaLogError


def is_table(path: str | Path) -> bool:
    """Whether there is a table at a path of this machine."""
    return Path(path, LOG_FOLDER).is_dir()
