"""Consumer groups (KIP-848) before an upstream: its topics are theirs, by its ids, and followed as they change."""

from __future__ import annotations

import contextlib
import logging
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from rollcall.schemas.messages import ConsumerGroupHeartbeatRequest
from rollcall.serve.gateway.upstream import followed_topics
from rollcall.serve.gateway.upstream.followed_topics import TOPICS_VERSION, topics_in
from rollcall.serve.gateway.wire.codec import RequestHeader, WireError, codec
from tests.gateway.consumer_beats import AT_ONCE, beat, given
from tests.gateway.core_backend import CoreBackend
from tests.gateway.gateway_before import gateway_before
from tests.gateway.running import asynchronous
from tests.gateway.scripted_broker import ScriptedBroker, scripted_broker, written
from tests.waiting import until_true
from tests.wire_client import Client

SOON = {"gateway.upstream.topics.interval.ms": "100"}


class Before(NamedTuple):
    """A gateway before a scripted upstream, and a client of it."""

    broker: ScriptedBroker
    client: Client
    backend: CoreBackend

    def reported(self) -> list[dict[str, int] | None]:
        """The topics that each heartbeat brought."""
        return [beat.cluster_topics for beat in self.backend.asked if isinstance(beat, ConsumerGroupHeartbeatRequest)]

    def owned(self, sizes: dict[str, int]) -> list[dict[str, Any]]:
        return [{"topic_id": self.broker.ids[name], "partitions": list(range(size))} for name, size in sizes.items()]

    async def until_reported(self, member: str, epoch: int, **fields: Any) -> Any:
        """Heartbeats until one is answered with an assignment; that answer."""
        while given(answer := await beat(self.client, member, epoch, **fields)) is None:
            assert answer.error_code.name == "none", answer
        return answer


@asynccontextmanager
async def before(**sizes: int) -> AsyncIterator[Before]:
    async with scripted_broker() as broker:
        broker.sizes = dict(sizes)
        async with gateway_before(broker, AT_ONCE, **SOON) as server:
            assert isinstance(server.backend, CoreBackend)
            yield Before(broker, await Client.connect(server.address), server.backend)


def ranges(*counts: tuple[UUID, int]) -> list[tuple[UUID, tuple[int, ...]]]:
    return [(topic_id, tuple(range(count))) for topic_id, count in counts]


@asynchronous
async def test_a_member_is_given_the_upstreams_partitions_by_the_upstreams_ids() -> None:
    async with before(t1=3, t2=2) as running:
        ids = running.broker.ids
        joined = await beat(running.client, "m1", 0, subscribed_topic_names=["t1", "t2", "none"])
        assert sorted(given(joined) or []) == sorted(ranges((ids["t1"], 3), (ids["t2"], 2)))
        await beat(running.client, "m1", 2, topic_partitions=running.owned({"t1": 3, "t2": 2}))
        (group,) = (await running.client.call("ConsumerGroupDescribe", 1, group_ids=["g"])).groups
        (member,) = group.members
        assert {(t.topic_name, t.topic_id) for t in member.assignment.topic_partitions} == set(ids.items())
        assert group.group_state == "Stable"


@asynchronous
async def test_partitions_that_are_added_reach_a_member_with_its_next_heartbeat() -> None:
    async with before(t1=2) as running:
        await beat(running.client, "m1", 0)
        running.broker.sizes["t1"] = 5
        news = await running.until_reported("m1", 2)
        assert (news.member_epoch, given(news)) == (3, ranges((running.broker.ids["t1"], 5)))


@asynchronous
async def test_a_topic_that_is_deleted_is_taken_away_and_one_that_is_made_is_given() -> None:
    async with before(t1=2, t2=1) as running:
        ids = running.broker.ids
        await beat(running.client, "m1", 0, subscribed_topic_names=["t1", "t2", "t3"])
        await beat(running.client, "m1", 2, topic_partitions=running.owned({"t1": 2, "t2": 1}))
        del running.broker.sizes["t2"]
        without = await running.until_reported("m1", 2)
        assert given(without) == ranges((ids["t1"], 2))
        await beat(running.client, "m1", 2, topic_partitions=running.owned({"t1": 2}))
        running.broker.sizes["t3"] = 1
        news = await running.until_reported("m1", 3)
        assert sorted(given(news) or []) == sorted(ranges((ids["t1"], 2), (ids["t3"], 1)))


@asynchronous
async def test_a_topic_that_was_made_again_is_taken_away_and_given_by_its_new_id(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(followed_topics, "_GONE_FOR_S", 0.5)
    async with before(t1=2) as running:
        await beat(running.client, "m1", 0)
        old = running.owned({"t1": 2})
        await beat(running.client, "m1", 2, topic_partitions=old)
        del running.broker.ids["t1"]
        assert given(await running.until_reported("m1", 2)) == []
        await beat(running.client, "m1", 2, topic_partitions=[])
        again = await running.until_reported("m1", 3)
        assert given(again) == ranges((running.broker.ids["t1"], 2))
        assert running.broker.ids["t1"] != old[0]["topic_id"]


@asynchronous
async def test_a_group_is_given_topics_with_each_join_and_once_after_a_change() -> None:
    async with before(t1=2) as running:
        await beat(running.client, "m1", 0)
        for _ in range(3):
            await beat(running.client, "m1", 2)
        assert running.reported() == [{"t1": 2}, None, None, None]
        running.broker.sizes["u"] = 1
        while running.reported()[-1] is None:
            await beat(running.client, "m1", 2)
        await beat(running.client, "m1", 2)
        await beat(running.client, "m1", -1)
        await beat(running.client, "m1", 0)
        assert running.reported()[-4:] == [{"t1": 2, "u": 1}, None, None, {"t1": 2, "u": 1}]


@asynchronous
async def test_what_a_refused_heartbeat_brought_is_brought_again() -> None:
    async with before(t1=2) as running:
        await beat(running.client, "m1", 0)
        running.broker.sizes["u"] = 1
        while running.reported()[-1] in (None, {"t1": 2}):
            assert (await beat(running.client, "m2", 2)).error_code.name == "unknown_member_id"
        await beat(running.client, "m1", 2)
        await beat(running.client, "m1", 2)
        assert running.reported()[-2:] == [{"t1": 2, "u": 1}, None]


@asynchronous
async def test_while_the_upstream_is_away_its_topics_stay_and_after_it_they_are_followed_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING, "gateway")
    async with before(t1=2) as running:
        await beat(running.client, "m1", 0)
        running.broker.hangs_up = True
        await until_true(lambda: "does not list its topics" in caplog.text)
        assert given(await beat(running.client, "m2", 0)) == []
        running.broker.hangs_up = False
        running.broker.sizes["t1"] = 4
        await running.until_reported("m2", 3, topic_partitions=[])


@asynchronous
async def test_before_an_upstream_without_topic_ids_consumer_groups_are_not_offered(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with scripted_broker() as broker:
        keys = [{"api_key": key, "min_version": 0, "max_version": last} for key, last in ((3, 11), (18, 3))]
        broker.versions = lambda head, _: written("ApiVersions", head, {"api_keys": keys})
        async with gateway_before(broker) as server:
            client = await Client.connect(server.address)
            offered = {known.api_key for known in (await client.call("ApiVersions", 3)).api_keys}
            assert 11 in offered
            assert not {68, 69} & offered
    assert "Metadata ends with v11" in caplog.text


@asynchronous
async def test_more_partitions_than_can_be_shared_out_are_said_and_the_topics_stay(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followed_topics, "is_believable", lambda sizes: sum(sizes.values()) < 4)
    async with before(t1=2) as running:
        running.broker.sizes["t1"] = 4
        await until_true(lambda: "more than 200000 partitions" in caplog.text)
        assert given(await beat(running.client, "m1", 0)) == ranges((running.broker.ids["t1"], 2))


def metadata(topics: list[dict[str, Any]]) -> bytes:
    brokers = [{"node_id": 7, "host": "kafka.example", "port": 9092}]
    values = {"brokers": brokers, "cluster_id": "c", "controller_id": 7, "topics": topics}
    return written("Metadata", RequestHeader(3, TOPICS_VERSION, 1), values)[4:]


def test_topics_are_read_as_they_are_written() -> None:
    partition = {"leader_id": 7, "replica_nodes": [7, 8, 9], "isr_nodes": [7, 8], "offline_replicas": [9]}
    partitions = [{"partition_index": number, **partition} for number in range(300)]
    frame = metadata([{"name": "t", "topic_id": UUID(int=5), "partitions": partitions}, {"name": "no id"}])
    assert topics_in(frame) == {"t": (UUID(int=5), 300)}
    assert topics_in(metadata([])) == {}
    _, read = codec("Metadata", TOPICS_VERSION).read_response(frame)
    assert [(topic.name, len(topic.partitions)) for topic in read.topics] == [("t", 300), ("no id", 0)]


def test_topics_that_end_too_early_are_refused() -> None:
    topic = {"name": "t", "topic_id": UUID(int=5), "partitions": [{"partition_index": 0, "replica_nodes": [7]}]}
    frame = metadata([topic])
    for end in range(len(frame)):
        with pytest.raises(WireError):
            topics_in(frame[:end])
    many = frame[: frame.index(b"\x02t")] + struct.pack(">B", 0xFF) * 5
    with pytest.raises(WireError):
        topics_in(many)


@for_all(st.integers(0, 10**6), st.binary(min_size=1, max_size=8))
def test_of_changed_bytes_topics_are_read_or_refused(at: int, change: bytes) -> None:
    partitions = [{"partition_index": number, "replica_nodes": [7, 8]} for number in range(3)]
    frame = metadata([{"name": name, "topic_id": UUID(int=5), "partitions": partitions} for name in ("t", "u")])
    place = at % len(frame)
    with contextlib.suppress(WireError):
        topics_in(frame[:place] + change + frame[place + len(change) :])
