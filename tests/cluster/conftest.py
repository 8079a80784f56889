"""One home elsewhere for the tests of this folder: a job on a cluster, and a gateway before it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from rollcall.serve.listeners.addresses import Address
from tests.cluster.elsewhere import BUCKET, Elsewhere, Program, elsewhere
from tests.peers_clients.conftest import Coordinator

HOME = f"s3a://{BUCKET}/rollcall"


@dataclass
class Running:
    """The parts, with the job's driver and the gateway."""

    parts: Elsewhere
    driver: Program
    gateway: Address

    @property
    def coordinator(self) -> Coordinator:
        return Coordinator(self.gateway, pace=10.0)


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with elsewhere(tmp_path_factory.mktemp("elsewhere")) as parts:
        driver = parts.submit(HOME)
        yield Running(parts, driver, parts.gateway(HOME))
