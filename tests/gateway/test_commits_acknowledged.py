"""Commits over the wire beside a slow coordinator: which wait for no batch, and that none is lost with its gateway."""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from rollcall.schemas.messages import OffsetCommitRequest
from rollcall.serve.listeners.addresses import Address, parse_address
from tests.child import Child
from tests.gateway.consumer_beats import AT_ONCE, beat
from tests.gateway.running import DEFAULTS, GROUPS, asynchronous, beside
from tests.gateway.table_coordinator import TableCoordinator
from tests.gateway.wire_client import alone_in, beaten
from tests.waiting import until_true
from tests.wire_client import Client

COMMITS = 20


async def commit(client: Client, member: str, generation: int, offset: int, version: int = 8) -> str:
    topics = [{"name": "t1", "partitions": [{"partition_index": 0, "committed_offset": offset}]}]
    who = {"member_id": member, "generation_id_or_member_epoch": generation}
    answer = await client.call("OffsetCommit", version, group_id="g", topics=topics, **who)
    return str(answer.topics[0].partitions[0].error_code.name)


async def with_an_offset(address: Address) -> tuple[Client, str, int]:
    """A member whose group has an offset, and that the coordinator has heard."""
    client = await Client.connect(address)
    member, generation = await alone_in(client)
    assert await commit(client, member, generation, 0) == "none"
    return client, member, generation


def stored(coordinator: TableCoordinator) -> int:
    offset = coordinator.groups["g"].offsets.get(("t1", 0))
    return -1 if offset is None else offset.committed_offset


def acknowledged(coordinator: TableCoordinator) -> int:
    return sum(isinstance(one, OffsetCommitRequest) and one.is_acknowledged for one in coordinator.requests)


@asynchronous
async def test_a_member_that_commits_again_and_again_waits_for_no_batch(tmp_path: Path) -> None:
    with TableCoordinator(tmp_path, GROUPS, reports_batches=True) as coordinator:
        async with beside(tmp_path) as server:
            client, member, generation = await with_an_offset(server.address)
            while not acknowledged(coordinator):
                assert await commit(client, member, generation, 0) == "none"
            with coordinator.between_batches:
                for offset in range(1, COMMITS + 1):
                    assert await commit(client, member, generation, offset) == "none"
            await until_true(lambda: stored(coordinator) == COMMITS)
        assert acknowledged(coordinator) > COMMITS


@asynchronous
async def test_a_member_of_a_consumer_group_waits_for_no_batch_with_its_first_commit(tmp_path: Path) -> None:
    with TableCoordinator(tmp_path, AT_ONCE, reports_batches=True) as coordinator:
        async with beside(tmp_path) as server:
            client = await Client.connect(server.address)
            epoch = (await beat(client, "m", 0)).member_epoch
            with coordinator.between_batches:
                for offset in range(1, COMMITS + 1):
                    assert await commit(client, "m", epoch, offset, version=9) == "none"
            await until_true(lambda: stored(coordinator) == COMMITS)
        assert acknowledged(coordinator) == COMMITS


@pytest.mark.parametrize("is_beside", [True, False], ids=["another writer", "a setting"])
@asynchronous
async def test_beside_another_writer_and_by_a_setting_every_commit_waits(is_beside: bool, tmp_path: Path) -> None:
    with TableCoordinator(tmp_path, GROUPS, reports_batches=True) as coordinator:
        pairs = {} if is_beside else {"gateway.early.commits": "false"}
        async with beside(tmp_path, **pairs) as server, beside(tmp_path) if is_beside else nullcontext():
            client, member, generation = await with_an_offset(server.address)
            for offset in range(1, COMMITS + 1):
                assert await commit(client, member, generation, offset) == "none"
            await until_true(lambda: stored(coordinator) == COMMITS)
        assert acknowledged(coordinator) == 0


@asynchronous
async def test_a_commit_that_was_acknowledged_outlives_its_gateway(tmp_path: Path) -> None:
    """The gateway is killed the moment that the client has its answer, before the coordinator comes to the commit."""
    home = tmp_path / "home"
    home.mkdir()
    coordinator = TableCoordinator(home, GROUPS, reports_batches=True)
    words = [word for key, value in DEFAULTS.items() for word in ("--set", f"{key}={value}")]
    command = [sys.executable, "-m", "rollcall.serve.gateway", "--home", str(home), *words]
    gateway = Child(command, tmp_path, is_alone=False)
    try:
        with coordinator:
            said = await asyncio.to_thread(gateway.read_until, "listens on ")
            address = parse_address("listen", said.rpartition("listens on ")[2].partition(";")[0])
            client, member, generation = await with_an_offset(address)
            await beaten(client, member, generation)
        # No batch runs now: whoever is answered has not waited for one.
        assert await commit(client, member, generation, 7) == "none"
        assert stored(coordinator) < 7
        gateway.send_signal(signal.SIGKILL)
    finally:
        gateway.kill()
        gateway.wait()
    with coordinator:
        await until_true(lambda: stored(coordinator) == 7)
