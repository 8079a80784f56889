"""Who appends to a home's request table: each writer holds a locked file in the home's folder `writers` while it runs.
A single writer knows that no other request comes before those that it has appended. So a newcomer that finds others
waits before its first append, longer than any of them trusts its last look. The system frees the lock however a process
ends.

Knows files and locks. Must not know what is appended.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

WRITERS_FOLDER = "writers"
LOOK_TRUSTED_S = 0.25
"""How long a writer that saw no other one assumes that it is alone."""
NEWCOMER_WAITS_S = 1.0


class RequestWriters:
    """This writer, and whether there are others. home: the folder that the request table lies in."""

    def __init__(self, home: Path, writer_id: str, wait: Callable[[float], object] = time.sleep) -> None:
        self._folder = home / WRITERS_FOLDER
        self._own = writer_id
        self._wait = wait
        self._handle: int | None = None
        self._saw_nobody_at = float("-inf")

    def join(self) -> None:
        """Registers this writer; waits if there are others. Raises OSError."""
        if self._handle is not None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(self._folder / self._own, flags, 0o644)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._handle = handle
        if self._others_live():
            self._wait(NEWCOMER_WAITS_S)

    def leave(self) -> None:
        if self._handle is not None:
            with suppress(OSError):
                (self._folder / self._own).unlink(missing_ok=True)
            os.close(self._handle)
            self._handle = None

    def is_alone(self) -> bool:
        """Whether no other writer's append comes before those of this writer so far."""
        now = time.monotonic()
        if self._handle is None:
            return False
        if now - self._saw_nobody_at > LOOK_TRUSTED_S:
            try:
                self._saw_nobody_at = float("-inf") if self._others_live() else now
            except OSError:
                return False
        return now - self._saw_nobody_at <= LOOK_TRUSTED_S

    def _others_live(self) -> bool:
        return any(self._lives(name) for name in os.listdir(self._folder) if name != self._own)

    def _lives(self, name: str) -> bool:
        path = self._folder / name
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
        return False
