"""A temporary folder that lasts as long as the process that uses it.

A process that is killed leaves its folder behind; the next that makes one of the same kind removes it. Others may put
what they like into the place where temporary folders lie: no link of theirs is followed, and no pipe is waited for.
Knows folders and locks of files; must not know what a folder holds.
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
"""Locked by the process whose folder it is."""
YOUNG_S = 60.0
"""A folder that is younger may be one whose process has not locked it yet."""


@contextmanager
def own_folder(kind: str) -> Iterator[Path]:
    """A new folder whose name begins with its kind, removed at the end."""
    _remove_abandoned(kind)
    with tempfile.TemporaryDirectory(prefix=kind) as folder:
        owner = os.open(Path(folder) / OWNER, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(owner, fcntl.LOCK_EX)
            yield Path(folder)
        finally:
            os.close(owner)


def _remove_abandoned(kind: str) -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{kind}*"):
        # In use, another user's, or removed just now.
        with suppress(OSError):
            _remove_if_abandoned(folder)


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
