"""Folders under build/ that tests fill once, by Maven: one process at a time, and anew when their sources change.

Knows when a folder is up to date; must not know what is in it.
"""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path


def fetched_once(folder: Path, sources: Sequence[Path], fetch: Callable[[], None]) -> Path:
    """The folder, filled by `fetch` unless that was done since the sources changed."""
    done = folder / ".done"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists() or done.stat().st_mtime < max(source.stat().st_mtime for source in sources):
            shutil.rmtree(folder, ignore_errors=True)
            fetch()
            done.touch()
    return folder
