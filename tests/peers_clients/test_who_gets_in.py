"""Unmodified clients authenticate, and are let into the groups that are theirs and no others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from rollcall.serve.listeners.credentials import write_user
from tests.gateway.process import serving
from tests.peers_clients.conftest import PARTITIONS, SESSION_MS, TOPIC, Coordinator
from tests.peers_clients.fleet import KINDS, Fleet
from tests.waiting import until

CERTIFICATES = Path(__file__).parents[1] / "gateway" / "certificates"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Coordinator]:
    """A gateway with TLS, a user alice and groups of hers."""
    folder = tmp_path_factory.mktemp("guarded")
    write_user(folder / "users", "alice", "wonderland")
    (folder / "rules").write_text("allow User:alice prefix team-a- ALL\n")
    settings = {
        "topics": f"{TOPIC}:{PARTITIONS}",
        "group.min.session.timeout.ms": "500",
        "group.initial.rebalance.delay.ms": "0",
        "gateway.ssl.certificate": str(CERTIFICATES / "server.pem"),
        "gateway.ssl.key": str(CERTIFICATES / "server.key"),
        "gateway.users": str(folder / "users"),
        "gateway.rules": str(folder / "rules"),
    }
    with serving(settings) as address:
        yield Coordinator(address)


def fleet(guarded: Coordinator, group: str, mechanism: str, password: str = "wonderland") -> Fleet:
    known = {"user": "alice", "password": password, "mechanism": mechanism, "ca": str(CERTIFICATES / "ca.pem")}
    return Fleet(guarded.bootstrap, group, TOPIC, session_ms=str(SESSION_MS), **known)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_who_knows_the_password_shares_in_a_group_of_its_own(mechanism: str, guarded: Coordinator) -> None:
    with ExitStack() as stack:
        fleets = [stack.enter_context(fleet(guarded, f"team-a-{kind}-{mechanism}", mechanism)) for kind in KINDS]
        workers = [known.start(kind) for known, kind in zip(fleets, KINDS, strict=True)]
        for known, worker in zip(fleets, workers, strict=True):
            known.await_shares([worker], PARTITIONS)


@pytest.mark.parametrize(
    ("group", "password"), [("team-b-x", "wonderland"), ("team-a-x", "looking glass")], ids=["group", "password"]
)
def test_another_group_and_a_wrong_password_are_refused(group: str, password: str, guarded: Coordinator) -> None:
    with fleet(guarded, group, "SCRAM-SHA-256", password) as refused:
        worker = refused.start("aiokafka")
        until(lambda: worker.process.poll() is not None, "the end of the worker")
        assert worker.process.returncode != 0
        assert worker.partitions == frozenset()
