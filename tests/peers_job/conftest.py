"""The coordinator that real clients meet here: the Spark job with a gateway before it, each a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from gateway.settings import Address
from tests.peers_clients.conftest import PARTITIONS, TOPIC, Coordinator
from tests.peers_job.job import Job

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

    @property
    def coordinator(self) -> Coordinator:
        return Coordinator(self.gateway, PACE)


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with Job(tmp_path_factory.mktemp("job") / "home", TOPICS, SETTINGS) as job:
        job.start_coordinator()
        yield Running(job, job.start_gateway())


@pytest.fixture(scope="session")
def coordinator(running: Running) -> Coordinator:
    return running.coordinator
