"""SIGTERM and Ctrl-C as a question that a program can ask. Must not know what is to be stopped."""

from __future__ import annotations

import signal
import threading
import time

NAMES = ("TERM", "INT")
# Ctrl-C reaches this process and its children: a second signal that comes so soon is the same Ctrl-C.
_SAME_S = 1.0


class StopSignal:
    """Set by the first SIGTERM or SIGINT; a second one makes it urgent."""

    def __init__(self) -> None:
        self._asked = threading.Event()
        self._asked_at = 0.0
        self.is_urgent = False
        self.listen()

    def listen(self) -> None:
        """Takes the signals, again if a library has taken them since."""
        for name in NAMES:
            signal.signal(signal.Signals[f"SIG{name}"], lambda number, frame: self.ask())

    def wait(self, seconds: float) -> bool:
        """Waits this many seconds for a signal; whether one has come."""
        return self._asked.wait(seconds)

    def ask(self) -> None:
        """Does what a signal does."""
        now = time.monotonic()
        if self._asked.is_set():
            self.is_urgent = self.is_urgent or now - self._asked_at > _SAME_S
            return
        self._asked_at = now
        self._asked.set()
