"""Whoever floods waits: whatever one client asks, another's heartbeats are answered, and nothing is done twice."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable
from typing import Any

import pytest

from rollcall.schemas.messages import HeartbeatRequest, OffsetCommitRequest
from rollcall.serve.gateway.fair_threads import FairThreads
from tests.gateway.running import Running, asynchronous, gateway, gateway_and_client
from tests.gateway.wire_client import beaten, heartbeat
from tests.waiting import WITHIN_S, until_true
from tests.wire_client import Client, framed

HERE, READ_AND_WRITTEN = "/127.0.0.1", 2


class Gate:
    """Work from elsewhere, which keeps the gateway's one thread until it is let go."""

    def __init__(self, threads: FairThreads) -> None:
        self._begun, self._is_over = threading.Event(), threading.Event()
        threads.run("elsewhere", self._stand)

    def _stand(self) -> None:
        self._begun.set()
        self._is_over.wait(WITHIN_S)

    async def holds(self, threads: FairThreads, client: Client) -> None:
        """Work from here waits behind it, and a client's heartbeats are answered meanwhile."""
        await until_true(lambda: self._begun.is_set() and HERE in threads._waiting)
        for _ in range(10):
            await beaten(client)

    def let_go(self) -> None:
        self._is_over.set()


async def keep_nobody_waiting(running: Running, flood: Awaitable[object], times: int) -> None:
    """Floods, and checks that the thread gets the work in `times` pieces at least, while the loop serves others."""
    quiet, threads = await running.client(), running.server.threads
    gate = Gate(threads)
    flooding = asyncio.ensure_future(flood)
    for piece in range(times):
        await gate.holds(threads, quiet)
        assert not flooding.done()
        after = Gate(threads) if piece < times - 1 else None
        gate.let_go()
        gate = after or gate
    await flooding


async def flood_by(running: Running, frame: bytes) -> None:
    client = await running.client()
    client.send_raw(frame)
    await client.receive_raw()
    client.close()


@pytest.mark.parametrize(
    "frame",
    [
        framed("Metadata", 12, topics=[{"name": "wide"}] * 10_000),
        framed("Metadata", 12, topics=[{"name": f"t{i}"} for i in range(10_000)]),
        framed("FindCoordinator", 4, coordinator_keys=[f"g{i}" for i in range(10_000)]),
        framed("DescribeGroups", 5, groups=[f"g{i}" for i in range(5000)]),
        framed("OffsetFetch", 8, groups=[{"group_id": f"g{i}", "topics": None} for i in range(5000)]),
        framed("LeaveGroup", 4, group_id="g", members=[{"member_id": f"m{i}"} for i in range(10_000)]),
        framed("DeleteGroups", 1, groups_names=[f"g{i}" for i in range(5000)]),
        framed("Fetch", 11, topics=[{"topic": f"t{i}", "partitions": [{"partition": 0}]} for i in range(20_000)]),
        framed("ListOffsets", 5, topics=[{"name": "t", "partitions": [{"partition_index": i} for i in range(40_000)]}]),
    ],
    ids=["one topic", "topics", "coordinators", "describe", "offsets", "leave", "delete", "fetch", "list offsets"],
)
@asynchronous
async def test_one_long_request_keeps_nobody_else_waiting(frame: bytes) -> None:
    async with gateway({"topics": "wide:1000"}) as running:
        await keep_nobody_waiting(running, flood_by(running, frame), READ_AND_WRITTEN)


@asynchronous
async def test_a_list_of_many_groups_keeps_nobody_else_waiting() -> None:
    async with gateway() as running:
        running.backend.listed = [(f"group-{i}", "consumer", "Stable", "classic") for i in range(20_000)]
        await keep_nobody_waiting(running, flood_by(running, framed("ListGroups", 4)), 1)


@asynchronous
async def test_a_topic_is_reported_once_however_often_it_is_named() -> None:
    async with gateway_and_client({"topics": "wide:1000"}) as (_, client):
        known = next(iter((await client.call("Metadata", 12, topics=None)).topics))
        asked = [{"name": "wide"}, {"topic_id": known.topic_id, "name": None}, {"name": "wide"}, {"name": "none"}]
        answer = await client.call("Metadata", 12, topics=asked * 2000)
        reported = [(topic.name, len(topic.partitions)) for topic in answer.topics]
        assert reported == [("wide", 1000), ("wide", 1000), ("none", 0)]


@pytest.mark.parametrize(
    ("api", "version", "field", "entry"),
    [
        ("DescribeGroups", 5, "groups", "g"),
        ("ConsumerGroupDescribe", 1, "group_ids", "g"),
        ("OffsetFetch", 8, "groups", {"group_id": "g", "topics": None}),
    ],
)
@asynchronous
async def test_a_group_is_asked_and_reported_once_however_often_it_is_named(
    api: str, version: int, field: str, entry: object
) -> None:
    async with gateway_and_client() as (running, client):
        answer = await client.call(api, version, **{field: [entry] * 1000})
        assert [group.group_id for group in answer.groups] == ["g"]
        assert len(running.backend.asked) == 1


def partitions_in(answer: Any) -> list[tuple[str, list[int]]]:
    return [(topic.name, [each.partition_index for each in topic.partitions]) for topic in answer.topics]


@asynchronous
async def test_a_group_that_is_fetched_twice_is_fetched_once_for_everything_asked() -> None:
    async with gateway_and_client() as (running, client):
        asked = [("t2", [1, 0, 1]), ("t1", [3]), ("t2", [0, 2])]
        groups = [{"group_id": "g", "topics": [{"name": name, "partition_indexes": at}]} for name, at in asked]
        (reported,) = (await client.call("OffsetFetch", 8, groups=groups)).groups
        assert partitions_in(reported) == [("t2", [1, 0, 2]), ("t1", [3])]
        topics = [{"name": name, "partition_indexes": at} for name, at in asked]
        alone = await client.call("OffsetFetch", 7, group_id="g", topics=topics)
        assert partitions_in(alone) == partitions_in(reported)
        everything = [*groups, {"group_id": "g", "topics": None}]
        assert (await client.call("OffsetFetch", 8, groups=everything)).groups[0].topics == ()
        assert len(running.backend.asked) == 3


@pytest.mark.parametrize(
    ("version", "asked"),
    [
        (8, {"groups": [{"group_id": "g", "topics": None}]}),
        (8, {"groups": [{"group_id": name, "topics": None} for name in ("g", "h")]}),
        (7, {"group_id": "g", "topics": None}),
    ],
    ids=["one group", "two groups", "no list of groups"],
)
@asynchronous
async def test_an_answer_longer_than_may_be_unread_is_not_built(version: int, asked: dict[str, object]) -> None:
    async with gateway_and_client({"gateway.send.max.bytes": "20000"}) as (running, client):
        partitions = [{"partition_index": n, "committed_offset": 1, "committed_metadata": "m" * 4000} for n in range(4)]
        for group in ("g", "h"):
            topics = [{"name": "t1", "partitions": partitions[: 2 if group == "h" else 4]}]
            await client.call("OffsetCommit", 8, group_id=group, generation_id_or_member_epoch=-1, topics=topics)
        two = {"group_id": "h", "topics": None}
        assert len((await client.call("OffsetFetch", 8, groups=[two])).groups[0].topics[0].partitions) == 2
        more = [{"name": f"t{n}", "partitions": partitions[:1]} for n in (2, 3)]
        await client.call("OffsetCommit", 8, group_id="g", generation_id_or_member_epoch=-1, topics=more)
        client.send("OffsetFetch", version, **asked)
        assert await client.is_closed_by_peer()
        assert running.server.metrics.closed.labels("request")._value.get() == 1


@asynchronous
async def test_what_many_groups_are_asked_waits_for_those_before() -> None:
    async with gateway_and_client() as (running, client):
        running.backend.is_silent = True
        client.send("DescribeGroups", 5, groups=[f"g{i}" for i in range(5000)])
        quiet = await running.client()
        for _ in range(50):
            assert (await quiet.call("ApiVersions", 0)).error_code.name == "none"
        assert len(running.backend.asked) == 1000
        client.close()


@asynchronous
async def test_more_names_than_any_client_sends_end_the_connection() -> None:
    async with gateway() as running:
        for frame in (
            framed("DescribeGroups", 5, groups=["g"] * 10_001),
            framed("Metadata", 12, topics=[{"name": "t"}] * 10_001),
            framed("OffsetFetch", 7, group_id="g", topics=[{"name": "t", "partition_indexes": [0] * 50_000}]),
        ):
            client = await running.client()
            client.send_raw(frame)
            assert await client.is_closed_by_peer()
        assert running.backend.asked == []


@asynchronous
async def test_no_more_than_its_share_of_bytes_of_one_client_is_unanswered() -> None:
    async with gateway_and_client({"gateway.max.in.flight.bytes.per.connection": "10000"}) as (running, client):
        running.backend.is_silent = True
        for _ in range(10):
            client.send("Heartbeat", 4, **heartbeat(member="m" * 3000))
        quiet = await running.client()
        for _ in range(10):
            await quiet.call("ApiVersions", 0)
        assert len(running.backend.asked) == 4


@asynchronous
async def test_a_request_behind_a_long_one_is_asked_after_it() -> None:
    async with gateway_and_client() as (running, client):
        topics = [{"name": f"t{i}", "partitions": [{"partition_index": 0, "committed_offset": 1}]} for i in range(2000)]
        long = client.send("OffsetCommit", 8, group_id="g", generation_id_or_member_epoch=-1, topics=topics)
        behind = client.send("Heartbeat", 4, **heartbeat())
        assert (await client.receive("OffsetCommit", 8))[0] == long
        assert (await client.receive("Heartbeat", 4))[0] == behind
        assert [type(request) for request in running.backend.asked] == [OffsetCommitRequest, HeartbeatRequest]
