"""A temporary folder that lasts as long as the process that uses it.

A process that is killed leaves its folder behind; the next that makes one of the same kind removes it. Knows folders
and locks of files; must not know what a folder holds.
"""

from __future__ import annotations

import fcntl
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

OWNER = ".owner"
"""Locked by the process whose folder it is."""
YOUNG_S = 60.0
"""A folder that is younger may be one whose process has not locked it yet."""


@contextmanager
def own_folder(kind: str) -> Iterator[Path]:
    """A new folder whose name begins with its kind, removed at the end."""
    _remove_abandoned(kind)
    with tempfile.TemporaryDirectory(prefix=kind) as folder, (Path(folder) / OWNER).open("w") as owner:
        fcntl.flock(owner, fcntl.LOCK_EX)
        yield Path(folder)


def _remove_abandoned(kind: str) -> None:
    for owner in Path(tempfile.gettempdir()).glob(f"{kind}*/{OWNER}"):
        try:
            with owner.open() as handle:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if time.time() - owner.stat().st_mtime > YOUNG_S:
                    shutil.rmtree(owner.parent, ignore_errors=True)
        except OSError:
            # In use, another user's, or removed just now.
            continue
