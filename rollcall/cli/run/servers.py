"""The coordinator, a gateway and the page as child processes on a home, and whether each is ready.

Knows what these programs print and write about themselves. Must not know what they do, nor when they end.
"""

from __future__ import annotations

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
