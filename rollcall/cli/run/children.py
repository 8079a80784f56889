"""Processes that a program starts, and that end with it: their output goes to log files.

Each runs in a session of its own, so that a Ctrl-C in the terminal reaches only the parent, which then ends its
children in its own order. Knows processes and signals. Must not know what they do.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from rollcall.programs.child_python import module_command, module_environment

KILL_AFTER_S = 5.0
_TAIL_BYTES = 4000


class Child:
    """One Python program, `python -m module ...`; a log file takes what it prints."""

    def __init__(self, name: str, arguments: Sequence[str], log: Path) -> None:
        self.name = name
        self.log = log
        with log.open("ab") as out:
            self._begins_at = out.tell()
            self._process = subprocess.Popen(
                module_command(*arguments),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=module_environment(PYTHONUNBUFFERED="1"),
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def status(self) -> int | None:
        """Return its exit status; None while it runs."""
        return self._process.poll()

    def last_words(self) -> str:
        """Return the last printed line, which says why it ended."""
        with self.log.open("rb") as log:
            log.seek(max(self.log.stat().st_size - _TAIL_BYTES, 0))
            lines = [line for line in log.read().decode("utf-8", "replace").splitlines() if line.strip()]
        return lines[-1].strip() if lines else "it printed nothing"

    def said(self, beginning: str) -> str | None:
        """The rest of the first printed line with this beginning; None if there is none yet."""
        with self.log.open("rb") as log:
            log.seek(self._begins_at)
            for line in log:
                text = line.decode("utf-8", "replace")
                if text.startswith(beginning) and text.endswith("\n"):
                    return text.removeprefix(beginning).strip()
        return None

    def ask_to_stop(self) -> None:
        """Send SIGTERM."""
        if self.status is None:
            self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL to it and all processes that it started."""
        if self.status is None:
            os.killpg(self.pid, signal.SIGKILL)

    def end(self, patience_s: float) -> None:
        """Ask it to stop, wait, then kill it and all processes that it started."""
        self.ask_to_stop()
        try:
            self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.wait(KILL_AFTER_S)


def end_all(children: Sequence[Child], patience_s: float) -> None:
    """Stop several processes at once, then wait for each."""
    for child in children:
        child.ask_to_stop()
    for child in children:
        child.end(patience_s)
