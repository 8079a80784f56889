"""The coordinator, a gateway and the page as child processes on a home, and whether each is ready.

If the page ends, it is started again. Knows what these programs print and write about themselves. Must not know what
they do.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from rollcall.cli.run.children import Child
from rollcall.serve.listeners.addresses import Address, parse_address
from rollcall.serve.page.__main__ import LISTENS
from rollcall.tables.home import Home
from rollcall.tables.job_status import read_status

_LISTENS = "rollcall: the gateway listens on "


class CoordinatorProcess(Child):
    """`python -m rollcall.jobs.coordinator`; words: its command line beside the home."""

    def __init__(self, home: Home, *words: str) -> None:
        super().__init__(
            "coordinator",
            ["rollcall.jobs.coordinator", "--home", home.location, *words],
            home.path / "logs" / "coordinator.log",
        )
        self._home = home.path

    @property
    def is_ready(self) -> bool:
        """Whether its query runs."""
        status = read_status(self._home)
        return status is not None and status.process == self.pid and status.state == "running"


class PageProcess(Child):
    """`python -m rollcall.serve.page`; words: its command line beside the home."""

    def __init__(self, home: Home, *words: str) -> None:
        super().__init__(
            "page", ["rollcall.serve.page", "--home", home.location, *words], home.path / "logs" / "page.log"
        )

    @property
    def address(self) -> str | None:
        """As a browser opens it, once it is served."""
        said = self.said(LISTENS)
        return None if said is None else said.partition(";")[0]

    @property
    def is_ready(self) -> bool:
        return self.address is not None


class GatewayProcess(Child):
    """`python -m rollcall.serve.gateway`; words: its command line beside the home."""

    def __init__(self, home: Home, *words: str, name: str = "gateway") -> None:
        super().__init__(
            name, ["rollcall.serve.gateway", "--home", home.location, *words], home.path / "logs" / f"{name}.log"
        )

    @property
    def address(self) -> Address | None:
        """Where it listens, once it does."""
        said = self.said(_LISTENS)
        return None if said is None else parse_address("the gateway", said.partition(";")[0])

    @property
    def is_ready(self) -> bool:
        return self.address is not None


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
        """Starts the page again if it has ended and the pause has passed; call it now and then."""
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
