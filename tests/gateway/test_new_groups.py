"""One user can create a limited number of groups, and everybody gets the list of groups whatever its length."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rollcall.coordinator_udfs.protocol.known_groups import KnownGroups
from rollcall.schemas.consumer_protocol import TopicPartition
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import GroupRequest
from rollcall.serve.gateway.backend import BackendError
from rollcall.serve.gateway.tables.under_way import GROUP_BYTES, UnderWay
from tests.gateway.running import GROUPS, asynchronous, gateway_and_client, gateway_of
from tests.gateway.table_coordinator import TableCoordinator
from tests.gateway.wire_client import alone_in, heartbeat, join
from tests.requests import commit, consumer_beat
from tests.requests import join as a_join
from tests.wire_client import Client

AT = TopicPartition("t1", 0)


def refusal(under_way: UnderWay, request: GroupRequest) -> Error | None:
    try:
        under_way.begin(request, None)
    except BackendError as refused:
        return refused.answer
    return None


class Made:
    """What an alice and others ask, and which groups there are."""

    def __init__(self, room_for: int) -> None:
        self.known = KnownGroups()
        self.under_way = UnderWay(self.known, room_for * (GROUP_BYTES + 2))

    def ask(self, group: str, by: str | None = "User:alice", **more: Any) -> Error | None:
        who: dict[str, Any] = {"principal": by, "request_id": f"{group} {by}"}
        return refusal(self.under_way, commit("", -1, {AT: 1}, group=group, **who, **more))

    def answer(self, group: str, by: str | None = "User:alice") -> None:
        self.under_way.drop(f"{group} {by}")

    def make(self, group: str, by: str | None = "User:alice") -> None:
        assert self.ask(group, by) is None
        self.create(group)
        self.answer(group, by)

    def create(self, group: str) -> None:
        self.known.apply(group, EffectName.GROUP_CREATED, None)

    def remove(self, group: str) -> None:
        self.known.apply(group, EffectName.GROUP_REMOVED, None)
        self.under_way.forget(group)


def test_one_maker_makes_a_limited_number_of_groups_and_others_are_not_concerned() -> None:
    made = Made(room_for=2)
    made.make("g1")
    made.make("g2")
    assert made.ask("g3") is Error.INVALID_COMMIT_OFFSET_SIZE
    assert made.under_way.new_groups.refused == 1
    assert made.ask("g1") is None
    assert made.ask("g3", by="User:bob") is None
    assert made.ask("g4", by=None, client_host="/10.0.0.1") is None


def test_makers_without_a_name_are_distinguished_by_their_addresses() -> None:
    made = Made(room_for=1)
    assert made.ask("g1", by=None, client_host="/10.0.0.1") is None
    assert made.ask("g2", by=None, client_host="/10.0.0.1") is Error.INVALID_COMMIT_OFFSET_SIZE
    assert made.ask("g3", by=None, client_host="/10.0.0.2") is None


def test_a_group_that_is_gone_or_never_was_makes_room() -> None:
    made = Made(room_for=1)
    made.make("g1")
    made.remove("g1")
    assert made.ask("g2") is None
    assert made.ask("g3") is not None
    made.answer("g2")
    made.make("g3")


def test_a_refused_request_does_not_free_a_group_that_another_is_making() -> None:
    made = Made(room_for=1)
    assert made.ask("g1") is None
    assert made.ask("g1", by="User:bob") is None
    made.answer("g1", "User:bob")
    made.create("g1")
    made.answer("g1")
    assert made.ask("g2") is not None


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (a_join("", 0, "new"), Error.GROUP_MAX_SIZE_REACHED),
        (consumer_beat("m", 0, 0, "new"), Error.GROUP_MAX_SIZE_REACHED),
        (commit("", -1, {AT: 1}, group="new"), Error.INVALID_COMMIT_OFFSET_SIZE),
        (consumer_beat("m", 5, 0, "new"), None),
        (commit("m", 3, {AT: 1}, group="new"), None),
    ],
    ids=["join", "consumer group", "commit", "heartbeat", "commit of a member"],
)
def test_what_makes_a_group_is_refused_as_kafka_refuses_too_much(request_: GroupRequest, error: Error | None) -> None:
    assert refusal(UnderWay(KnownGroups(), 50), request_) is error


@asynchronous
async def test_through_the_tables_groups_count_while_they_are_there(tmp_path: Path) -> None:
    room_for_two = {"gateway.new.groups.max.bytes": "1024"}
    long = ["a" * 400, "b" * 400, "c" * 400]
    with TableCoordinator(tmp_path, GROUPS):
        async with gateway_of(tmp_path, **room_for_two) as server:
            client = await Client.connect(server.address)

            async def committed(group: str) -> str:
                topics = [{"name": "t1", "partitions": [{"partition_index": 0, "committed_offset": 1}]}]
                answer = await client.call("OffsetCommit", 8, group_id=group, topics=topics)
                return str(answer.topics[0].partitions[0].error_code.name)

            assert [await committed(group) for group in long] == ["none", "none", "invalid_commit_offset_size"]
            assert await committed(long[0]) == "none"
            assert (await client.call("JoinGroup", 9, **join(long[2]))).error_code.name == "group_max_size_reached"
            (gone,) = (await client.call("DeleteGroups", 2, groups_names=[long[0]])).results
            assert gone.error_code.name == "none"
            assert await committed(long[2]) == "none"
            assert server.metrics.registry.get_sample_value("rollcall_gateway_refused_groups_total") == 2
            listed = await client.call("ListGroups", 5)
            assert {group.group_id for group in listed.groups} == {long[1], long[2]}


@asynchronous
async def test_a_list_longer_than_an_answer_is_cut_to_what_fits_the_shortest_ids_first(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with gateway_and_client({"gateway.send.max.bytes": "100000"}) as (running, client):
        await alone_in(client, "ours")
        forged = [(f"{n}".ljust(32_000, "x"), "", "Empty", "classic") for n in range(40)]
        honest = [(f"orders-{n}", "consumer", "Stable", "classic") for n in range(1000)]
        running.backend.listed = [*forged, *honest]
        for version in range(6):
            listed = await client.call("ListGroups", version)
            assert [group.group_id for group in listed.groups] == [group[0] for group in honest]
        stable = await client.call("ListGroups", 5, states_filter=["Empty"])
        assert [group.group_id for group in stable.groups] == [forged[0][0]]
        assert (await client.call("Heartbeat", 4, **heartbeat())).error_code.name == "unknown_member_id"
        assert running.server.metrics.registry.get_sample_value("rollcall_gateway_cut_lists_total") == 7
    assert "of 1040 groups 1000 are listed" in caplog.text
