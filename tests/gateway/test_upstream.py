"""A gateway before an upstream: what passes on, in which order answers come back, and what is rewritten."""

from __future__ import annotations

import asyncio
import struct

import pytest

from rollcall.schemas.messages import APIS
from rollcall.serve.gateway.wire.codec import RequestHeader
from rollcall.serve.listeners.addresses import Address
from tests.gateway.gateway_before import OTHER_API, before_scripted, gateway_before, other, received
from tests.gateway.running import asynchronous
from tests.gateway.scripted_broker import answered, scripted_broker, written
from tests.gateway.wire_client import alone_in, heartbeat, is_answered, is_served, join, park
from tests.waiting import until_true
from tests.wire_client import Client

LONG_BYTES = 40_000_000

# ---------------------------------------------------------------- passed on


@asynchronous
async def test_what_is_not_about_groups_goes_to_the_upstream_and_comes_back_byte_for_byte() -> None:
    async with before_scripted() as (broker, _, client):
        body = bytes(range(256)) * 100
        client.send_raw(other(7, body))
        answer = await client.receive_raw()
        assert answer == struct.pack(">i", 7) + other(7, body)[4:]
        assert broker.seen == [(RequestHeader(OTHER_API, 0, 7), other(7, body)[4:])]


@asynchronous
async def test_answers_of_both_come_in_the_order_of_the_requests() -> None:
    async with before_scripted() as (_, _, client):
        for number in range(50):
            client.send_raw(other(1000 + number, b"x" * number))
            client.send("Heartbeat", 4, **heartbeat())
        for number in range(50):
            assert await received(client) == 1000 + number
            assert (await client.receive("Heartbeat", 4))[0] == number + 1


@asynchronous
async def test_an_answer_of_the_upstream_waits_for_a_parked_join_before_it() -> None:
    async with before_scripted() as (_, server, first):
        second = await Client.connect(server.address)
        member, _ = await alone_in(first)
        second.send_raw(other(500))
        assert await received(second) == 500
        _, parked = await park(second)
        second.send_raw(other(501))
        first.send("JoinGroup", 9, **join(member=member))
        assert (await second.receive("JoinGroup", 9))[0] == parked
        assert await received(second) == 501


@asynchronous
async def test_a_group_request_behind_a_slow_answer_of_the_upstream_waits_for_it() -> None:
    async with before_scripted() as (broker, _, client):
        go = asyncio.Event()

        async def answer_when_asked(head: RequestHeader, frame: bytes) -> bytes:
            await go.wait()
            return broker.echo(head, frame)

        broker.answer = answer_when_asked
        client.send_raw(other(1))
        behind = client.send("Heartbeat", 4, **heartbeat())
        await until_true(lambda: len(broker.seen) == 1)
        go.set()
        assert await received(client) == 1
        assert (await client.receive("Heartbeat", 4))[0] == behind


@asynchronous
async def test_a_long_answer_that_names_brokers_is_rewritten_while_others_are_served() -> None:
    async with before_scripted() as (broker, server, client):
        broker.topics = [f"topic-{number}" for number in range(20_000)]
        quiet = await Client.connect(server.address)
        asked = asyncio.create_task(client.call("Metadata", 12, topics=None))
        while not asked.done():
            await quiet.call("Heartbeat", 4, **heartbeat())
        answer = asked.result()
        assert [(known.node_id, known.port) for known in answer.brokers] == [(7, server.address.port)]
        assert len(answer.topics) == 20_000


@asynchronous
async def test_a_long_answer_passes_in_pieces_as_fast_as_the_client_reads() -> None:
    async with before_scripted() as (broker, server, client):
        broker.answer = lambda head, _: answered(head, bytes(LONG_BYTES))
        client.stop_reading()
        client.send_raw(other(1) + other(2))
        await until_true(lambda: len(broker.seen) >= 1)
        assert await is_served(server.address)
        # The broker has not even got rid of the first answer, so the gateway holds but a part of it.
        assert len(broker.seen) == 1
        client.start_reading()
        for correlation_id in (1, 2):
            answer = await asyncio.wait_for(client.receive_raw(), 30)
            assert (struct.unpack_from(">i", answer)[0], len(answer)) == (correlation_id, LONG_BYTES + 4)


@asynchronous
async def test_a_client_that_stops_reading_a_long_answer_is_cut_off_and_its_broker_set_free() -> None:
    async with before_scripted(**{"gateway.send.timeout.ms": "1"}) as (broker, server, client):
        broker.answer = lambda head, _: answered(head, bytes(LONG_BYTES))
        client.stop_reading()
        client.send_raw(other(1))
        await asyncio.wait_for(broker.next_end(), 10)
        await until_true(lambda: len(server.connections) == 0)
        assert await is_served(server.address)


@pytest.mark.parametrize("version", [3, 8, 9])
@asynchronous
async def test_a_produce_that_wants_no_answer_gets_none_and_holds_nobody_up(version: int) -> None:
    # An empty head's tags and no transaction's id, each in a byte; or no transaction's id alone.
    before_acks = b"\0\0" if version >= 9 else b"\xff\xff"

    def as_kafka(head: RequestHeader, frame: bytes) -> bytes | None:
        (acks,) = struct.unpack_from(">h", frame, 10 + len(before_acks))
        return None if acks == 0 else answered(head, frame)

    async with before_scripted() as (broker, _, client):
        broker.answer = as_kafka
        for correlation_id, acks in ((1, 0), (2, 1), (3, 0), (4, -1)):
            body = before_acks + struct.pack(">h", acks) + bytes(40)
            client.send_raw(other(correlation_id, body, api_key=0, version=version))
        for correlation_id in (2, 4):
            assert await received(client) == correlation_id
        assert await is_answered(client)


# ---------------------------------------------------------------- rewritten


@pytest.mark.parametrize("version", range(5))
@asynchronous
async def test_versions_are_the_upstreams_but_for_the_groups_and_what_is_not_passed_on(version: int) -> None:
    async with before_scripted() as (_, _, client):
        answer = await client.call("ApiVersions", version)
        offered = {known.api_key: known.max_version for known in answer.api_keys}
        assert offered.keys() == {0, 1, 3, 60, OTHER_API} | {api.key for api in APIS.values()}
        assert (offered[0], offered[1], offered[3], offered[OTHER_API]) == (9, 15, 13, 3)
        assert (offered[8], offered[9], offered[11]) == (9, 9, 9)
        if version >= 3:
            assert [feature.name for feature in answer.supported_features] == ["metadata.version"]


@pytest.mark.parametrize("version", [0, 5, 9, 12, 13])
@asynchronous
async def test_every_broker_stands_behind_a_port_of_ours(version: int) -> None:
    async with scripted_broker() as broker:
        broker.nodes = [7, 8]
        async with gateway_before(broker) as server:
            client = await Client.connect(server.address)
            brokers = (await client.call("Metadata", version, topics=None)).brokers
            assert {b.host for b in brokers} == {"127.0.0.1"}
            ports = {b.node_id: b.port for b in brokers}
            assert ports[7] == server.address.port
            assert len({*ports.values(), broker.address.port}) == 3
            elsewhere = await Client.connect(Address("127.0.0.1", ports[8]))
            elsewhere.send_raw(other(1))
            await elsewhere.receive_raw()
            assert broker.seen[-1][0] == RequestHeader(OTHER_API, 0, 1)


@asynchronous
async def test_a_broker_that_is_new_gets_a_port_when_it_is_first_heard_of() -> None:
    async with before_scripted() as (broker, server, client):
        broker.nodes = [7, 9]
        brokers = (await client.call("Metadata", 12, topics=None)).brokers
        newcomer = next(b for b in brokers if b.node_id == 9)
        assert newcomer.port not in (server.address.port, broker.address.port)
        again = (await client.call("Metadata", 12, topics=None)).brokers
        assert {b.node_id: b.port for b in again}[9] == newcomer.port
        other_client = await Client.connect(Address("127.0.0.1", newcomer.port))
        found = (await other_client.call("FindCoordinator", 4, coordinator_keys=["g"])).coordinators[0]
        assert (found.node_id, found.host, found.port) == (9, "127.0.0.1", newcomer.port)


@asynchronous
async def test_a_groups_coordinator_is_the_broker_that_is_asked_and_a_transactions_is_the_upstreams() -> None:
    async with before_scripted() as (broker, server, client):
        node = {"key": "tx", "node_id": 7, "host": broker.address.host, "port": broker.address.port}
        broker.answer = lambda head, _: written(
            "FindCoordinator", head, {"coordinators": [node]} if head.api_version >= 4 else node
        )
        here = (7, "127.0.0.1", server.address.port)
        (group,) = (await client.call("FindCoordinator", 4, coordinator_keys=["g"])).coordinators
        assert (group.node_id, group.host, group.port) == here
        assert (await client.call("FindCoordinator", 0, key="g")).port == server.address.port
        assert broker.seen == []
        asked = {"key_type": 1, "coordinator_keys": ["tx"]}
        (transaction,) = (await client.call("FindCoordinator", 4, **asked)).coordinators
        assert (transaction.node_id, transaction.host, transaction.port) == here
        old = await client.call("FindCoordinator", 1, key_type=1, key="tx")
        assert (old.node_id, old.host, old.port) == here
        assert len(broker.seen) == 2


@asynchronous
async def test_a_described_cluster_has_our_addresses_and_controllers_have_their_own() -> None:
    async with before_scripted() as (broker, server, client):
        node = {"broker_id": 7, "host": broker.address.host, "port": broker.address.port}
        broker.answer = lambda head, frame: written(
            "DescribeCluster", head, {"endpoint_type": frame[-2], "brokers": [node]}
        )
        (ours,) = (await client.call("DescribeCluster", 1, endpoint_type=1)).brokers
        assert ours.port == server.address.port
        (controller,) = (await client.call("DescribeCluster", 1, endpoint_type=2)).brokers
        assert controller.port == broker.address.port


@asynchronous
async def test_clients_are_sent_to_the_advertised_host() -> None:
    async with before_scripted(**{"gateway.advertised": "kafka.example:1"}) as (_, server, client):
        (only,) = (await client.call("Metadata", 12, topics=None)).brokers
        assert (only.host, only.port) == ("kafka.example", server.address.port)


@asynchronous
async def test_configs_of_groups_are_ours_and_all_others_the_upstreams() -> None:
    async with before_scripted() as (broker, _, client):
        for kind in (2, 4):
            resource = {"resource_type": kind, "resource_name": "1", "configuration_keys": None}
            client.send("DescribeConfigs", 4, resources=[resource])
            await client.receive_raw()
        client.send("ListConfigResources", 1, resource_types=[16])
        await client.receive_raw()
        assert [head.api_key for head, _ in broker.seen] == [32, 32, 74]
        answer = await client.call("DescribeConfigs", 4, resources=[{"resource_type": 32, "resource_name": "g"}])
        assert answer.results[0].error_code.name == "none"
        listed = await client.call("ListConfigResources", 1, resource_types=[32])
        assert (listed.error_code.name, len(broker.seen)) == ("none", 3)
