"""/metrics and /health are served only under known names: a stranger's web page must not read them by DNS rebinding."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from rollcall.jobs.config import JobConfig
from rollcall.jobs.job_monitor import JobMonitor
from rollcall.serve.listeners.addresses import Address, parse_address
from rollcall.serve.listeners.monitor import Monitor
from rollcall.tables.home import Home
from tests.exporter.processes import served

STRANGE = (
    "evil.example",
    "evil.example:9308",
    "127.0.0.1.evil.example",
    "metrics.example.evil.example:9308",
    "localhost.evil.example:80",
    "localhost:80:evil",
    "evil.example, localhost",
    "[evil.example]:9308",
    "[::1]evil.example",
    "",
)
KNOWN = (
    "localhost",
    "LOCALHOST:9308",
    "127.0.0.1:9308",
    "10.1.2.3:9308",
    "[::1]:9308",
    "[fd00::7]",
    socket.gethostname(),
)
LISTED = ("Rollcall-Metrics.monitoring.svc", "metrics.example")


class OwnFigures:
    registry = CollectorRegistry()


@pytest.fixture(params=["127.0.0.1", "0.0.0.0", ""])
def monitor(request: pytest.FixtureRequest) -> Iterator[Monitor]:
    with closing(Monitor(Address(request.param, 0), OwnFigures(), lambda: {"status": "ok"}, LISTED)) as monitor:
        yield monitor


def status(address: Address, host: str, path: str = "/metrics") -> tuple[int, str]:
    with closing(HTTPConnection("127.0.0.1", address.port, timeout=20)) as connection:
        connection.putrequest("GET", path, skip_host=True)
        connection.putheader("Host", host)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


@pytest.mark.parametrize("path", ["/metrics", "/health", "/"])
def test_a_strange_name_gets_nothing(monitor: Monitor, path: str) -> None:
    for host in STRANGE:
        code, text = status(monitor.address, host, path)
        assert code == 421, host
        assert "add the name to rollcall.metrics.hosts" in text


def test_addresses_the_machines_names_and_listed_names_are_answered(monitor: Monitor) -> None:
    for host in (*KNOWN, *LISTED, *(f"{name.lower()}:9465" for name in LISTED), f"{LISTED[1]}.:9465"):
        assert status(monitor.address, host)[0] == 200, host


def test_a_second_host_does_not_help(monitor: Monitor) -> None:
    with closing(HTTPConnection("127.0.0.1", monitor.address.port, timeout=20)) as connection:
        connection.putrequest("GET", "/metrics", skip_host=True)
        for host in ("localhost", "evil.example"):
            connection.putheader("Host", host)
        connection.endheaders()
        assert connection.getresponse().status == 421


def test_every_program_takes_the_names_from_its_settings(tmp_path: Path) -> None:
    pairs = {"spark.coordinator.metrics.listen": "127.0.0.1:0", "rollcall.metrics.hosts": "job.example,other.example"}
    with closing(JobMonitor(Home(str(tmp_path)), JobConfig.from_pairs(pairs))) as job:
        address = parse_address("", job.shown.removeprefix("http://"))
        assert [status(address, host)[0] for host in ("other.example", "evil.example")] == [200, 421]
    with served(tmp_path, "--set", "rollcall.metrics.hosts=export.example") as shown:
        address = parse_address("", shown.removeprefix("http://"))
        assert [status(address, host)[0] for host in ("export.example", "evil.example")] == [200, 421]
