"""A gateway over the tables beside a slow coordinator: what is answered without waiting for it, and what it learns."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from deltalake import DeltaTable

from rollcall.schemas.messages import HeartbeatRequest, HeartbeatRunRequest, StreamRequest
from rollcall.schemas.tables import REQUESTS
from tests.gateway.running import GROUPS, asynchronous, beside, gateway_of
from tests.gateway.table_coordinator import TableCoordinator
from tests.gateway.wire_client import alone_in, beaten, join
from tests.wire_client import Client

BEATS = 30


def appended(home: Path) -> list[StreamRequest]:
    table = DeltaTable(str(home / REQUESTS.name)).to_pyarrow_table()
    return [msgspec.json.decode(text, type=StreamRequest) for text in table["request"].to_pylist()]


def runs_of(home: Path) -> list[HeartbeatRunRequest]:
    return [request for request in appended(home) if isinstance(request, HeartbeatRunRequest)]


@asynchronous
async def test_a_member_at_rest_waits_for_no_batch_and_all_its_heartbeats_are_reported(tmp_path: Path) -> None:
    with TableCoordinator(tmp_path, GROUPS, reports_batches=True) as coordinator:
        async with beside(tmp_path) as server:
            client = await Client.connect(server.address)
            member, generation = await alone_in(client)
            with coordinator.between_batches:
                assert {await beaten(client, member, generation) for _ in range(BEATS)} == {"none"}
    assert not [request for request in appended(tmp_path) if isinstance(request, HeartbeatRequest)]
    runs = runs_of(tmp_path)
    assert sum(len(one.beats) for run in runs for one in run.members) == BEATS
    assert all(run.is_answered and run.handed_on_ms is not None for run in runs)


@pytest.mark.parametrize("is_by_a_setting", [True, False])
@asynchronous
async def test_by_a_setting_and_while_the_last_batch_is_old_every_heartbeat_is_left_to_the_coordinator(
    is_by_a_setting: bool, tmp_path: Path
) -> None:
    with TableCoordinator(tmp_path, GROUPS, reports_batches=is_by_a_setting):
        by_a_setting = beside(tmp_path, **{"gateway.heartbeats.answered.early": "false"})
        async with by_a_setting if is_by_a_setting else gateway_of(tmp_path) as server:
            client = await Client.connect(server.address)
            member, generation = await alone_in(client)
            assert await beaten(client, member, generation) == "none"
            assert await beaten(client, member, generation + 1) == "illegal_generation"
    assert runs_of(tmp_path) == []


@asynchronous
async def test_a_gateway_that_comes_back_knows_who_is_a_member(tmp_path: Path) -> None:
    with TableCoordinator(tmp_path, GROUPS, reports_batches=True):
        async with beside(tmp_path) as server:
            member, generation = await alone_in(await Client.connect(server.address))
        async with beside(tmp_path) as server:
            client = await Client.connect(server.address)
            assert await beaten(client, member, generation) == "none"
            listed = (await client.call("ListGroups", 5)).groups
            assert [(g.group_id, g.protocol_type, g.group_state) for g in listed] == [("g", "consumer", "Stable")]
    assert len(runs_of(tmp_path)) == 1


@asynchronous
async def test_a_new_client_is_given_its_id_at_once_and_it_is_the_coordinators(tmp_path: Path) -> None:
    with TableCoordinator(tmp_path, GROUPS, reports_batches=True) as coordinator:
        async with beside(tmp_path) as server:
            client = await Client.connect(server.address)
            with coordinator.between_batches:
                for n in range(BEATS):
                    given = await client.call("JoinGroup", 9, **join(f"g{n}"))
                    assert given.error_code.name == "member_id_required"
            joined = await client.call("JoinGroup", 9, **join(f"g{BEATS - 1}", member=given.member_id))
            assert (joined.error_code.name, joined.member_id) == ("none", given.member_id)


@asynchronous
async def test_a_list_knows_what_was_asked_before_it_on_another_connection(tmp_path: Path) -> None:
    with TableCoordinator(tmp_path, GROUPS, batch_s=0.3, reports_batches=True):
        async with beside(tmp_path) as server:
            first, second = await Client.connect(server.address), await Client.connect(server.address)
            for n in range(3):
                await first.call("JoinGroup", 9, **join(f"g{n}"))
                listed = await second.call("ListGroups", 5)
                assert f"g{n}" in {group.group_id for group in listed.groups}
