"""Work that a thread of its own repeats until it is stopped. Must not know what the work is."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

Failed = Callable[[Exception], object]


def _log(_: Exception) -> None:
    logging.getLogger("rollcall").exception("%s: an error, so it is tried again", threading.current_thread().name)


class Repeated(threading.Thread):
    """Waits, works, and again, until it is stopped; of each row of errors `failed` gets the first.

    is_at_once: it works first and then waits.
    """

    def __init__(
        self,
        name: str,
        every_s: float,
        work: Callable[[], object],
        failed: Failed = _log,
        *,
        is_at_once: bool = False,
    ) -> None:
        super().__init__(name=name, daemon=True)
        self.every_s, self._is_at_once = every_s, is_at_once
        self.is_failing = False
        self._work, self._failed = work, failed
        self._stopped = threading.Event()

    def run(self) -> None:
        wait_s = 0.0 if self._is_at_once else self.every_s
        while not self._stopped.wait(wait_s):
            try:
                self._work()
                self.is_failing = False
            except Exception as error:
                if not self.is_failing and not self.is_stopped:
                    self._failed(error)
                self.is_failing = True
            wait_s = self.every_s

    @property
    def is_stopped(self) -> bool:
        return self._stopped.is_set()

    def stop(self, within_s: float | None = None) -> bool:
        """Waits for work that has begun, at most this long; returns whether it has ended."""
        self._stopped.set()
        if self.is_alive():
            self.join(within_s)
        return not self.is_alive()
