"""A temporary folder that lasts as long as the process that uses it.

A killed process leaves its folder behind; the next process that makes one of the same kind removes it. Other users can
write beside temporary folders, so no link is followed and no pipe is waited for. Knows folders and locks of files; must
not know what a folder holds.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

OWNER = ".owner"
"""Locked by the process that owns the folder."""
YOUNG_S = 60.0
"""The process of a younger folder may not have locked it yet."""


@contextmanager
def own_folder(kind: str) -> Iterator[Path]:
    """A new folder whose name begins with its kind, removed at the end."""
    for folder in Path(tempfile.gettempdir()).glob(f"{kind}*"):
        # In use, another user's, or removed just now.
        with suppress(OSError):
            _remove_if_abandoned(folder)
    with tempfile.TemporaryDirectory(prefix=kind) as made:
        owner = os.open(Path(made) / OWNER, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(owner, fcntl.LOCK_EX)
            yield Path(made)
        finally:
            os.close(owner)


def _remove_if_abandoned(folder: Path) -> None:
    itself = folder.lstat()
    if not stat.S_ISDIR(itself.st_mode) or itself.st_uid != os.getuid():
        return
    owner = os.open(folder / OWNER, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        found = os.fstat(owner)
        if not stat.S_ISREG(found.st_mode):
            return
        fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if time.time() - found.st_mtime > YOUNG_S:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(owner)
