"""A request log that grows, without the lines of one group: as if another broker coordinated it.

Knows bytes and lines; must not know what a line says.
"""

from __future__ import annotations

import threading
from pathlib import Path

LOOK_EVERY_S = 0.05


class PartOfALog:
    """Copies a log as it grows, until it is closed, without the lines that name a group."""

    def __init__(self, log: Path, copy: Path, *, without: str) -> None:
        self._log, self._copy, self._without = log, copy, without.encode()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        copy.touch()
        self._thread.start()

    def close(self) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        with self._log.open("rb") as lines, self._copy.open("ab", buffering=0) as copy:
            rest = b""
            while not self._is_over.wait(LOOK_EVERY_S):
                *whole, rest = (rest + lines.read()).split(b"\n")
                copy.write(b"".join(line + b"\n" for line in whole if self._without not in line))
