"""The coordinator job, its gateways and a page as processes on a home: started, killed, started again.

Knows programs and where they say that they are ready; must not know what clients do.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import psutil
import pyarrow as pa
from deltalake import DeltaTable

from rollcall.cli.run.servers import CoordinatorProcess, GatewayProcess, PageProcess
from rollcall.serve.listeners.addresses import Address
from rollcall.tables.home import Home
from tests.peers_job.reported import Reported
from tests.waiting import until

START_PATIENCE_S = 120.0
END_PATIENCE_S = 60.0
ANYWHERE = Address("127.0.0.1", 0)


class Job(Reported):
    """A coordinator and the gateways beside it. Ends what still runs when it is left."""

    every_s = 0.5  # To read the whole table takes a core from those who are waited for.

    def __init__(self, home: Path, topics: Mapping[str, int], settings: Mapping[str, object] | None = None) -> None:
        self.home = Home(home)
        self._topics = ",".join(f"{topic}:{count}" for topic, count in topics.items())
        every = {**({"topics": self._topics} if topics else {}), **(settings or {})}
        self._settings = [word for key, value in every.items() for word in ("--set", f"{key}={value}")]
        self._coordinator: CoordinatorProcess | None = None
        self._gateways: dict[Address, GatewayProcess] = {}
        self._page: PageProcess | None = None
        self._numbers = itertools.count()
        (home / "logs").mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *_: object) -> None:
        for child in (*self._gateways.values(), self._page, self._coordinator):
            if child is not None:
                child.end(END_PATIENCE_S)

    def pids(self) -> list[int]:
        """The process ids of the coordinator and of the gateways, as far as they were started."""
        children = [self._coordinator, *self._gateways.values()]
        return [child.pid for child in children if child is not None]

    # ------------------------------------------------------------ the coordinator

    def start_coordinator(self) -> None:
        """Starts it and waits until its query runs."""
        coordinator = self._coordinator = CoordinatorProcess(self.home, *self._settings)
        until(lambda: _is_ready(coordinator), coordinator.last_words, START_PATIENCE_S)

    def kill_coordinator(self) -> None:
        """SIGKILL to it and to the JVM that it started."""
        assert self._coordinator is not None
        self._coordinator.kill()
        until(lambda: self._coordinator is not None and self._coordinator.status is not None, "the coordinator's end")

    def await_its_end(self) -> int:
        """Until the coordinator has ended by itself; its exit status."""
        assert self._coordinator is not None
        coordinator = self._coordinator
        status = until(lambda: _ended(coordinator), "the coordinator's end", END_PATIENCE_S)
        return status[0]

    def fill_its_disk(self) -> None:
        """From now on the coordinator, its JVM and its Python workers can write to no file."""
        assert self._coordinator is not None
        job = psutil.Process(self._coordinator.pid)
        for process in (job, *job.children(recursive=True)):
            _, most = process.rlimit(psutil.RLIMIT_FSIZE)
            process.rlimit(psutil.RLIMIT_FSIZE, (0, most))

    def sleep_for(self, seconds: float) -> None:
        """The coordinator and the gateways stand still for this time, as on a machine that is suspended."""
        pids = self.pids()
        for pid in pids:
            os.killpg(pid, signal.SIGSTOP)
        wakes_at = time.monotonic() + seconds
        try:
            until(lambda: time.monotonic() >= wakes_at, "the end of the sleep", 2 * seconds)
        finally:
            for pid in pids:
                os.killpg(pid, signal.SIGCONT)

    # ------------------------------------------------------------ the gateways

    def start_gateway(self, listen: Address = ANYWHERE, metrics: str = "") -> Address:
        """Starts one more, or one anew; where it listens."""
        settings = [*self._settings, "--set", f"gateway.metrics.listen={metrics}"]
        topics = ("--topics", self._topics) if self._topics else ()
        places = ("--listen", str(listen), *settings, *topics)
        gateway = GatewayProcess(self.home, *places, name=f"gateway-{next(self._numbers)}")
        until(lambda: _is_ready(gateway), gateway.last_words, START_PATIENCE_S)
        address = gateway.address
        assert address is not None
        self._gateways[address] = gateway
        return address

    @contextmanager
    def another_gateway(self, metrics: str = "") -> Iterator[Address]:
        """One more for a while: as long as it lives, clients and tools may find their way to it."""
        address = self.start_gateway(metrics=metrics)
        try:
            yield address
        finally:
            if address in self._gateways:
                self.kill_gateway(address)

    def kill_gateway(self, address: Address) -> None:
        """SIGKILL to the one that listens there."""
        gateway = self._gateways.pop(address)
        gateway.kill()
        until(lambda: gateway.status is not None, "the gateway's end")

    # ------------------------------------------------------------ the page

    def start_page(self) -> None:
        """Starts it and waits until it is served."""
        page = self._page = PageProcess(self.home, "--listen", "127.0.0.1:0")
        until(lambda: _is_ready(page), page.last_words, START_PATIENCE_S)

    def kill_page(self) -> None:
        """SIGKILL."""
        assert self._page is not None
        self._page.kill()
        until(lambda: self._page is not None and self._page.status is not None, "the page's end")

    def on_page(self, query: str) -> list[dict[str, Any]]:
        """The rows that the page answers a query with."""
        assert self._page is not None
        with urlopen(f"{self._page.address}answer.jsonl?{urlencode({'q': query})}", timeout=60) as answer:
            return [json.loads(line) for line in answer]

    # ------------------------------------------------------------ what the tables hold

    def table(self, since_ms: int = 0) -> pa.Table:
        return DeltaTable(self.home.effects).to_pyarrow_table(filters=[("at_ms", ">=", since_ms)])

    def request_ids(self) -> set[str]:
        rows = DeltaTable(self.home.requests).to_pyarrow_table(columns=["request_id"])
        return set(rows["request_id"].to_pylist())


def _is_ready(server: CoordinatorProcess | GatewayProcess | PageProcess) -> bool:
    assert server.status is None, server.last_words()
    return server.is_ready


def _ended(server: CoordinatorProcess) -> tuple[int] | None:
    """Its exit status, once it has one."""
    return None if server.status is None else (server.status,)
