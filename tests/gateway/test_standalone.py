"""What a gateway on its own says of versions, topics, offsets and records: enough for a consumer, no more."""

from __future__ import annotations

import asyncio
import gc
import time
import tracemalloc
import uuid
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from kafka.record import MemoryRecords

from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    APIS,
    ConsumerGroupAssignment,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupTopicPartitions,
)
from rollcall.schemas.offset_messages import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponseTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from rollcall.serve.gateway import standalone
from rollcall.serve.gateway.exchange import Ask, Caller, Later
from rollcall.serve.gateway.standalone import Growth, TopicLogs
from rollcall.serve.gateway.topic_ids import TopicIds
from rollcall.serve.gateway.wire.codec import codec
from rollcall.serve.gateway.wire.shaping import entity_of
from tests.gateway.running import asynchronous, gateway, gateway_and_client
from tests.gateway.wire_client import alone_in, heartbeat, is_served
from tests.requests import consumer_beat

# ---------------------------------------------------------------- ApiVersions


@pytest.mark.parametrize("version", range(5))
@asynchronous
async def test_every_version_of_api_versions_names_all_that_is_answered(version: int) -> None:
    async with gateway_and_client() as (_, client):
        software = {"client_software_name": "me", "client_software_version": "1.0"}
        answer = await client.call("ApiVersions", version, **software)
    ranges = {known.api_key: (known.min_version, known.max_version) for known in answer.api_keys}
    assert answer.error_code.name == "none"
    for api in APIS.values():
        assert ranges[api.key] == (api.versions.first, api.versions.last)
    assert ranges.keys() - {api.key for api in APIS.values()} == {0, 1, 2, 3, 18, 60}
    assert [known.api_key for known in answer.api_keys] == sorted(ranges)


@asynchronous
async def test_an_unknown_version_of_api_versions_is_answered_in_v0_with_the_versions_of_that_api_alone() -> None:
    async with gateway_and_client() as (_, client):
        client.send_raw(bytes.fromhex("00000010 0012 0063 00000007 0002 6d65 00 01 02 03"))
        correlation_id, answer = await client.receive("ApiVersions", 0)
        assert (correlation_id, answer.error_code.name) == (7, "unsupported_version")
        assert [(k.api_key, k.min_version, k.max_version) for k in answer.api_keys] == [(18, 0, 4)]
        assert (await client.call("ApiVersions", 0)).error_code.name == "none"


@pytest.mark.parametrize("name", ["", "-x", "a b", "x-", "ä"])
@asynchronous
async def test_a_software_name_that_kafka_refuses_is_refused(name: str) -> None:
    async with gateway_and_client() as (_, client):
        answer = await client.call("ApiVersions", 3, client_software_name=name, client_software_version="1")
        assert answer.error_code.name == "invalid_request"


# ---------------------------------------------------------------- Metadata


@pytest.mark.parametrize("version", range(14))
@asynchronous
async def test_metadata_names_the_topics_of_the_settings_and_this_gateway_as_their_leader(version: int) -> None:
    async with gateway_and_client({"topics": "t1:4,t2:1"}) as (running, client):
        everything: dict[str, Any] = {"topics": [] if version == 0 else None}
        answer = await client.call("Metadata", version, **everything)
        assert [(broker.node_id, broker.host, broker.port) for broker in answer.brokers] == [(0, *running.address)]
        assert {topic.name: len(topic.partitions) for topic in answer.topics} == {"t1": 4, "t2": 1}
        assert {partition.leader_id for topic in answer.topics for partition in topic.partitions} == {0}


@asynchronous
async def test_an_unknown_topic_is_said_to_be_unknown_and_not_made() -> None:
    async with gateway_and_client() as (_, client):
        for _ in range(2):
            asked = {"topics": [{"name": "t1"}, {"name": "nope"}], "allow_auto_topic_creation": True}
            answer = await client.call("Metadata", 12, **asked)
            reported = [(topic.name, topic.error_code.name) for topic in answer.topics]
            assert reported == [("t1", "none"), ("nope", "unknown_topic_or_partition")]


@asynchronous
async def test_a_topic_has_one_id_for_ever_and_is_found_by_it() -> None:
    ids = []
    for _ in range(2):
        async with gateway_and_client({"topics": "t1:4"}) as (_, client):
            ids.append((await client.call("Metadata", 12, topics=None)).topics[0].topic_id)
            # Kafka's own client leaves the name empty, others leave it out.
            asked = {"topics": [{"topic_id": ids[0], "name": ""}, {"topic_id": uuid.UUID(int=7), "name": None}]}
            known, unknown = (await client.call("Metadata", 12, **asked)).topics
            assert (known.name, known.error_code.name) == ("t1", "none")
            assert (unknown.name, unknown.error_code.name) == (None, "unknown_topic_id")
    assert ids[0] == ids[1] == TopicIds({"t1": 1}).by_name["t1"]


@asynchronous
async def test_no_topics_asked_for_is_no_topics_answered_since_v1() -> None:
    async with gateway_and_client() as (_, client):
        assert (await client.call("Metadata", 1, topics=[])).topics == ()


@pytest.mark.parametrize("version", range(3))
@asynchronous
async def test_the_cluster_is_described(version: int) -> None:
    async with gateway_and_client() as (running, client):
        answer = await client.call("DescribeCluster", version)
        assert [(broker.broker_id, broker.host, broker.port) for broker in answer.brokers] == [(0, *running.address)]
        assert answer.cluster_id == (await client.call("Metadata", 12)).cluster_id


@asynchronous
async def test_clients_are_sent_to_the_advertised_address_where_there_is_one() -> None:
    async with gateway_and_client({"gateway.advertised": "kafka.example:9999"}) as (_, client):
        (broker,) = (await client.call("Metadata", 12, topics=[])).brokers
        (found,) = (await client.call("FindCoordinator", 4, coordinator_keys=["g"])).coordinators
        assert (broker.host, broker.port) == (found.host, found.port) == ("kafka.example", 9999)
        assert broker.node_id == found.node_id


@asynchronous
async def test_behind_a_wildcard_clients_are_sent_where_they_came() -> None:
    settings = {"gateway.listen": "0.0.0.0:0", "gateway.allow.anonymous.beyond.loopback": "true"}
    async with gateway(settings) as running:
        port = running.address.port
        client = await type(await running.client()).connect(running.address._replace(host="127.0.0.3"))
        (broker,) = (await client.call("Metadata", 12, topics=[])).brokers
        assert (broker.host, broker.port) == ("127.0.0.3", port)


# ---------------------------------------------------------------- offsets and records


@pytest.mark.parametrize("version", range(1, 11))
@asynchronous
async def test_first_and_next_offset_of_a_partition_are_0_and_there_is_no_other(version: int) -> None:
    async with gateway_and_client() as (_, client):
        partitions = [{"partition_index": 0, "timestamp": timestamp} for timestamp in (-1, -2, 1000)]
        topics = [{"name": "t1", "partitions": [*partitions, {"partition_index": 9, "timestamp": -1}]}]
        (topic,) = (await client.call("ListOffsets", version, topics=topics)).topics
        assert [p.offset for p in topic.partitions] == [0, 0, -1, -1]
        assert [p.error_code.name for p in topic.partitions][2:] == ["none", "unknown_topic_or_partition"]


def fetch(version: int, topic: str = "t1", partition: int = 0, wait_ms: int = 0) -> dict[str, object]:
    key = {"topic_id": TopicIds({"t1": 1, topic: 1}).by_name[topic]} if version >= 13 else {"topic": topic}
    return {
        "max_wait_ms": wait_ms,
        "topics": [{**key, "partitions": [{"partition": partition, "fetch_offset": 7, "partition_max_bytes": 1000}]}],
    }


@pytest.mark.parametrize("version", range(4, 18))
@asynchronous
async def test_a_partition_is_fetched_empty_at_whatever_offset(version: int) -> None:
    async with gateway_and_client() as (_, client):
        answer = await client.call("Fetch", version, **fetch(version))
        ((partition,),) = [topic.partitions for topic in answer.responses]
        assert (partition.error_code.name, partition.high_watermark, partition.records) == ("none", 7, b"")


@asynchronous
async def test_a_fetch_waits_as_long_as_it_may_and_holds_nobody_else() -> None:
    async with gateway() as running:
        waiting, long = await running.client(), await running.client()
        long.send("Fetch", 12, **fetch(12, wait_ms=600_000))
        answer = asyncio.ensure_future(long.receive("Fetch", 12))
        began = time.monotonic()
        waiting.send("Fetch", 12, **fetch(12, wait_ms=1000))
        behind = waiting.send("Heartbeat", 4, **heartbeat())
        assert await is_served(running.address)
        await waiting.receive("Fetch", 12)
        assert time.monotonic() - began >= 1
        assert (await waiting.receive("Heartbeat", 4))[0] == behind
        assert not answer.done()
        answer.cancel()


@pytest.mark.parametrize(
    ("version", "topic", "error"),
    [(12, "nope", "unknown_topic_or_partition"), (13, "nope", "unknown_topic_id")],
)
@asynchronous
async def test_a_fetch_of_what_is_not_there_is_answered_at_once(version: int, topic: str, error: str) -> None:
    async with gateway_and_client() as (_, client):
        answer = await client.call("Fetch", version, **fetch(version, topic, wait_ms=60_000))
        assert answer.responses[0].partitions[0].error_code.name == error
        answer = await client.call("Fetch", version, **fetch(version, "t1", partition=4, wait_ms=60_000))
        assert answer.responses[0].partitions[0].error_code.name == "unknown_topic_or_partition"


# ---------------------------------------------------------------- topics that grow

SINCE_MS = 1_700_000_000_000
GROWING = {"topics": "t1:4,t2:1", "gateway.demo.records.per.second": "t1:5", "gateway.demo.since.ms": str(SINCE_MS)}


@pytest.fixture
def two_seconds_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock stands where logs that grow have 10 records."""
    monkeypatch.setattr(standalone, "time", lambda: SINCE_MS / 1000 + 2.5)


@pytest.mark.usefixtures("two_seconds_on")
@asynchronous
async def test_a_growing_topic_is_listed_by_the_clock_and_the_others_stay_empty() -> None:
    async with gateway_and_client(GROWING) as (_, client):
        asked = (-1, -2, -3, 0, SINCE_MS + 1000, SINCE_MS + 1001, SINCE_MS + 2001)
        partitions = [{"partition_index": 0, "timestamp": timestamp} for timestamp in asked]
        topics = [{"name": name, "partitions": partitions} for name in ("t1", "t2")]
        grown, empty = (await client.call("ListOffsets", 8, topics=topics)).topics
        assert [one.offset for one in grown.partitions] == [10, 0, 5, 0, 0, 5, -1]
        assert [one.offset for one in empty.partitions] == [0, 0, -1, -1, -1, -1, -1]


@pytest.mark.usefixtures("two_seconds_on")
@pytest.mark.parametrize("version", [4, 12, 17])
@asynchronous
async def test_records_are_fetched_from_any_offset_up_to_the_end(version: int) -> None:
    async with gateway_and_client(GROWING) as (_, client):
        answer = await client.call("Fetch", version, **fetch(version, wait_ms=60_000))
        ((partition,),) = [topic.partitions for topic in answer.responses]
        assert (partition.high_watermark, partition.last_stable_offset) == (10, 10)
        (batch,) = iter(MemoryRecords(partition.records).next_batch, None)
        assert batch.validate_crc()
        assert [(one.offset, one.value, one.timestamp - SINCE_MS) for one in batch] == [
            (offset, f"t1 {offset}".encode(), 2000) for offset in (7, 8, 9)
        ]


@pytest.mark.usefixtures("two_seconds_on")
@asynchronous
async def test_an_answer_holds_no_more_records_than_it_may() -> None:
    async with gateway_and_client(GROWING | {"gateway.demo.since.ms": "0"}) as (_, client):
        partitions = [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": size} for size in (0, 1_000_000) * 200]
        answer = await client.call("Fetch", 12, topics=[{"topic": "t1", "partitions": partitions}])
        found = [MemoryRecords(one.records or b"") for one in answer.responses[0].partitions]
        counts = [sum(len(list(batch)) for batch in iter(records.next_batch, None)) for records in found]
        assert counts[:2] == [1, 20]
        assert sum(counts) == 1000


FETCH = codec("Fetch", 11)


def fetched(message: Any, frame: bytes = b"") -> Later:
    """What a fetch of a topic t waits for."""
    topics = {"t": 40_000}
    (fetches,) = [each for each in TopicLogs(topics, TopicIds(topics), Growth()).endpoints() if each.api == "Fetch"]
    later = fetches.answer(Ask(FETCH, message, frame, "c", Caller("c", "/h", ("h", 1))))
    assert isinstance(later, Later)
    return later


@asynchronous
async def test_a_long_fetch_waits_as_the_bytes_it_came_in() -> None:
    partitions = [{"partition": number} for number in range(40_000)]
    values = {"max_wait_ms": 2**31 - 1, "topics": [{"topic": "t", "partitions": partitions}]}
    frame = FETCH.write_request(1, "c", entity_of(FETCH.request_type, values))[4:]
    del partitions, values
    tracemalloc.start()
    _, message = FETCH.read_request(frame)
    later = fetched(message, frame)
    assert tracemalloc.get_traced_memory()[0] > len(frame)
    del message
    gc.collect()
    assert tracemalloc.get_traced_memory()[0] < 100_000
    tracemalloc.stop()
    response: Any = later.response(later.future).build()
    (reported,) = response["responses"]
    assert len(reported["partitions"]) == 40_000
    later.future.cancel()


@asynchronous
async def test_a_fetch_that_is_cancelled_when_its_time_is_up_says_nothing() -> None:
    loop = asyncio.get_running_loop()
    message = entity_of(FETCH.request_type, {"topics": [{"topic": "t", "partitions": [{"partition": 0}]}]})
    errors: list[object] = []
    loop.set_exception_handler(lambda _, context: errors.append(context))
    # So short that it is over in the loop's next turn, before which its connection ends.
    later = fetched(replace(message, max_wait=timedelta(microseconds=1)))
    loop.call_soon(later.future.cancel)
    over = asyncio.Event()
    loop.call_later(0.01, over.set)
    await over.wait()
    assert errors == []
    assert later.future.cancelled()


@asynchronous
async def test_there_are_no_fetch_sessions() -> None:
    async with gateway_and_client() as (_, client):
        first = await client.call("Fetch", 12, session_epoch=0, **fetch(12))
        assert first.session_id == 0
        refused = await client.call("Fetch", 12, session_id=5, **fetch(12))
        assert refused.error_code.name == "fetch_session_id_not_found"


def produce(acks: int) -> dict[str, object]:
    partitions = [{"index": index, "records": None} for index in (0, 9)]
    return {"acks": acks, "timeout_ms": 1000, "topic_data": [{"name": "t1", "partition_data": partitions}]}


@pytest.mark.parametrize("version", range(3, 13))
@asynchronous
async def test_nothing_can_be_produced(version: int) -> None:
    async with gateway_and_client() as (_, client):
        (topic,) = (await client.call("Produce", version, **produce(acks=-1))).responses
        reported = [(p.index, p.error_code.name, p.base_offset) for p in topic.partition_responses]
        assert reported == [(0, "policy_violation", -1), (9, "policy_violation", -1)]
        if version >= 8:
            assert "its topics take no records" in topic.partition_responses[0].error_message


@asynchronous
async def test_a_producer_that_wants_no_answer_loses_its_connection() -> None:
    async with gateway_and_client() as (_, client):
        client.send("Produce", 9, **produce(acks=0))
        assert await client.is_closed_by_peer()


# ---------------------------------------------------------------- topic ids in commits


@asynchronous
async def test_offsets_committed_by_topic_id_are_those_of_its_name_and_unknown_ids_are_reported() -> None:
    known, unknown = TopicIds({"t1": 1}).by_name["t1"], uuid.UUID(int=7)
    async with gateway_and_client() as (_, client):
        member, generation = await alone_in(client)
        who = {"group_id": "g", "generation_id_or_member_epoch": generation, "member_id": member}
        topics = [
            {"topic_id": topic_id, "partitions": [{"partition_index": 0, "committed_offset": 5}]}
            for topic_id in (unknown, known)
        ]
        committed = await client.call("OffsetCommit", 10, **who, topics=topics)
        assert {t.topic_id: t.partitions[0].error_code.name for t in committed.topics} == {
            known: "none",
            unknown: "unknown_topic_id",
        }
        asked = [{"topic_id": topic_id, "partition_indexes": [0]} for topic_id in (known, unknown)]
        for groups in ([{"group_id": "g", "topics": asked}], [{"group_id": "g", "topics": None}]):
            (group,) = (await client.call("OffsetFetch", 10, groups=groups)).groups
            found = {t.topic_id: t.partitions[0].committed_offset for t in group.topics}
            assert found[known] == 5
        by_name = [{"group_id": "g", "topics": [{"name": "t1", "partition_indexes": [0]}]}]
        (group,) = (await client.call("OffsetFetch", 9, groups=by_name)).groups
        assert group.topics[0].partitions[0].committed_offset == 5


def test_an_answer_that_is_built_while_topics_change_goes_by_those_there_were() -> None:
    ids, of_both = TopicIds(), [str(uuid.UUID(int=number)) for number in (1, 2)]
    ids.learn({"t": 1}, {"t": uuid.UUID(int=1), "u": uuid.UUID(int=2)})
    asked = [OffsetCommitRequestTopic(topic_id=each, partitions=[]) for each in of_both]
    request = OffsetCommitRequest(request_id="r", api_version=10, group_id="g", topics=asked)
    named: Any = ids.with_names(request)
    given = OffsetCommitResponse(
        topics=[OffsetCommitResponseTopic(topic_id=topic.topic_id, partitions=[]) for topic in named.topics]
    )
    before = ids.as_of_now()
    ids.learn({"t": 1}, {"t": uuid.UUID(int=1)})
    for known in (before, ids):
        answered: Any = known.with_ids(request, given)
        assert [topic.topic_id for topic in answered.topics] == of_both


@pytest.mark.parametrize("said", ["topic_name", "topic_id"])
def test_a_member_is_given_ids_whether_a_home_has_names_in_their_place_or_beside_them(said: str) -> None:
    ids = TopicIds({"t": 2})
    given = ConsumerGroupTopicPartitions(**{said: "t"}, partitions=[0, 1])
    answer = ConsumerGroupHeartbeatResponse(assignment=ConsumerGroupAssignment(topic_partitions=[given]))
    answered: Any = ids.with_ids(consumer_beat("m", 1, 0), answer)
    assert [topic.topic_id for topic in answered.assignment.topic_partitions] == [str(ids.by_name["t"])]


def test_a_fetch_by_id_is_answered_as_the_effects_table_has_it_without_names() -> None:
    ids, id_of_t = TopicIds({"t": 1}), str(TopicIds({"t": 1}).by_name["t"])
    known, unknown = (OffsetFetchRequestTopic(topic_id=one, partition_indexes=[0]) for one in (id_of_t, "no topic's"))
    asked = OffsetFetchRequest(
        request_id="r", api_version=10, groups=[OffsetFetchRequestGroup(group_id="g", topics=[known, unknown])]
    )
    found = [OffsetFetchResponsePartition(partition_index=0, committed_offset=42)]
    for shown in (id_of_t, "t"):
        group = OffsetFetchResponseGroup(
            group_id="g", topics=[OffsetFetchResponseTopic(topic_id=shown, partitions=found)]
        )
        answered: Any = ids.with_ids(asked, OffsetFetchResponse(groups=[group]))
        assert [(topic.topic_id, topic.partitions[0].error_code) for topic in answered.groups[0].topics] == [
            (id_of_t, Error.NONE),
            ("no topic's", Error.UNKNOWN_TOPIC_ID),
        ]
