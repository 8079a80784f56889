"""The page beside a run: if it ends, it is started again, after a longer pause each time.

Knows when it is started; must not know what else runs, nor what a page shows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0
STEADY_S = 60.0
"""After a page was served for this long, the pause is the shortest again."""


class Page(Protocol):
    """A page's process: see `rollcall.cli.run.servers.PageProcess`."""

    @property
    def address(self) -> str | None: ...

    @property
    def status(self) -> int | None: ...

    def last_words(self) -> str: ...

    def end(self, patience_s: float) -> None: ...


class KeptPage:
    """A page that is kept running. start: starts another one; say: gets a line when it has ended or is back."""

    def __init__(
        self,
        page: Page,
        start: Callable[[], Page],
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._page = page
        self._start = start
        self._say = say
        self._clock = clock
        self._served_since: float | None = clock()
        self._starts_at: float | None = None
        self._wait_s = FIRST_WAIT_S

    def look(self) -> None:
        """Starts the page again if it has ended and the pause is over; call it now and then."""
        now = self._clock()
        if self._starts_at is not None:
            if now >= self._starts_at:
                self._page, self._starts_at = self._start(), None
        elif self._page.status is not None:
            self._note_end(now)
        elif self._served_since is None and self._page.address is not None:
            self._served_since = now
            self._say(f"The page is at {self._page.address} again.")

    def end(self, patience_s: float) -> None:
        """Ends it for good."""
        self._page.end(patience_s)

    def _note_end(self, now: float) -> None:
        if self._served_since is not None and now - self._served_since >= STEADY_S:
            self._wait_s = FIRST_WAIT_S
        self._served_since = None
        self._starts_at = now + self._wait_s
        why = self._page.last_words().removeprefix("rollcall: ").rstrip(".")
        self._say(f"The page has ended ({why}); it starts again in {self._wait_s:.0f} s. The rest keeps running.")
        self._wait_s = min(2 * self._wait_s, LONGEST_WAIT_S)
