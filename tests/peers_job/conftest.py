"""The coordinator that real clients meet here: the Spark job with a gateway before it, each a process of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rollcall.serve.listeners.addresses import Address
from tests.peers_clients.conftest import PARTITIONS, TOPIC, Coordinator
from tests.peers_job.job import Job
from tests.ports import free_port

WIDE_TOPIC = "wide"
WIDE = 60
TOPICS = {TOPIC: PARTITIONS, "t1": 4, "t2": 4, WIDE_TOPIC: WIDE}
SETTINGS = {
    "group.min.session.timeout.ms": "500",
    "group.max.session.timeout.ms": "300000",
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.session.timeout.ms": "45000",
    "group.consumer.assignment.interval.ms": "0",
}
PACE = 3.0
"""An answer takes a micro-batch: sessions are that much longer than where a broker's answers take milliseconds."""


@dataclass
class Running:
    """A job and the gateway before it."""

    job: Job
    gateway: Address
    metrics: Address
    """Where the job serves its own and its groups' metrics."""
    alarms: Path
    """What its command of alarms was given, a line each."""

    @property
    def coordinator(self) -> Coordinator:
        return Coordinator(self.gateway, PACE)


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("job")
    metrics = Address("127.0.0.1", free_port())
    alarms = folder / "alarms"
    watched = {
        "spark.coordinator.metrics.listen": metrics,
        "rollcall.export.interval.ms": 1_000,
        "rollcall.alerts.interval.ms": 1_000,
        "rollcall.alerts.command": json.dumps(["/bin/sh", "-c", 'cat >> "$0"; echo >> "$0"', str(alarms)]),
    }
    with Job(folder / "home", TOPICS, SETTINGS | watched) as job:
        job.start_coordinator()
        yield Running(job, job.start_gateway(), metrics, alarms)


@pytest.fixture(scope="session")
def coordinator(running: Running) -> Coordinator:
    return running.coordinator
