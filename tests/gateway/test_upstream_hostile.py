"""A gateway before an upstream that answers nonsense, late, too much or never; and clients that ask it for too much."""

from __future__ import annotations

import logging
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import psutil
import pytest

from rollcall.schemas.errors import Error
from rollcall.serve.gateway.upstream import broker_connection, brokers
from rollcall.serve.gateway.upstream.brokers import MAX_BROKERS, joined, split
from rollcall.serve.gateway.wire.codec import RequestHeader, WireError, codec
from rollcall.serve.gateway.wire.shaping import entity_of
from rollcall.serve.listeners.addresses import Address
from tests.gateway.gateway_before import before_scripted, gateway_before, other
from tests.gateway.running import asynchronous
from tests.gateway.scripted_broker import Answering, answered, framed, scripted_broker, written
from tests.gateway.wire_client import is_served
from tests.wire_client import Client

SASL_HANDSHAKE = 17
SEVEN: dict[str, Any] = {"node_id": 7, "host": "kafka-7.example", "port": 9092}


NO_ANSWERS: dict[str, bytes | Answering] = {
    "another's": framed(struct.pack(">i", 2) + b"the answer to another request"),
    "empty": framed(b""),
    "three bytes": framed(b"\0\0\0"),
    "negative": struct.pack(">i", -5),
    "without end": b"\xff\xff\xff\xff",
    "endless and another's": struct.pack(">ii", 2**31 - 1, 2),
    "twice": lambda head, frame: answered(head, frame) * 2,
    "another's, rewritten": lambda head, _: written("DescribeCluster", head._replace(correlation_id=2), {}),
    "nonsense, rewritten": framed(b"\0\0\0\1nonsense"),
}


@pytest.mark.parametrize("name", NO_ANSWERS)
@asynchronous
async def test_what_is_no_answer_to_its_request_reaches_no_client(name: str) -> None:
    async with before_scripted() as (broker, server, client):
        answer = NO_ANSWERS[name]
        broker.answer = (lambda *_: answer) if isinstance(answer, bytes) else answer
        if name.endswith("rewritten"):
            client.send("DescribeCluster", 1)
        else:
            client.send_raw(other(1))
        assert await client.is_closed_by_peer()
        assert await is_served(server.address)


@asynchronous
async def test_a_broker_that_lets_nobody_in_is_given_up_after_a_while(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "password").write_text("secret")
    asked_in = {
        "gateway.upstream.security.protocol": "SASL_PLAINTEXT",
        "gateway.upstream.sasl.mechanism": "PLAIN",
        "gateway.upstream.sasl.username": "gateway",
        "gateway.upstream.sasl.password.file": str(tmp_path / "password"),
    }
    async with scripted_broker() as broker:

        def lets_in(head: RequestHeader, _: bytes) -> bytes:
            if head.api_key == SASL_HANDSHAKE:
                return written("SaslHandshake", head, {"mechanisms": ["PLAIN"]})
            return written("SaslAuthenticate", head, {})

        broker.answer = lets_in
        async with gateway_before(broker, **asked_in) as server:
            broker.answer = lambda *_: None
            monkeypatch.setattr(broker_connection, "LOGIN_WITHIN_S", 0.05)
            client = await Client.connect(server.address)
            client.send_raw(other(1))
            assert await client.is_closed_by_peer()
            assert await is_served(server.address)


@pytest.mark.parametrize(
    ("host", "port"), [("127.0.0.1", -1), ("127.0.0.1", 70_000), ("a\0b", 9092), ("x" * 300, 9092), ("", 0)]
)
@asynchronous
async def test_a_broker_at_no_address_ends_its_clients_connections_alone(
    host: str, port: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with before_scripted() as (broker, server, client):
        broker.place = {"host": host, "port": port}
        await (await Client.connect(server.address)).call("Metadata", 12, topics=None)
        client.send_raw(other(1))
        assert await client.is_closed_by_peer()
        assert await is_served(server.address)
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


@asynchronous
async def test_an_upstream_that_names_brokers_without_end_takes_no_more_ports_than_a_cluster_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(brokers, "MAX_BROKERS", 20)
    async with before_scripted() as (broker, server, client):
        broker.nodes = list(range(15))
        reported = (await client.call("Metadata", 12, topics=None)).brokers
        assert len({each.port for each in reported}) == 15
        broker.nodes = list(range(100, 115))
        client.send("Metadata", 12, topics=None)
        assert await client.is_closed_by_peer()
        assert await is_served(server.address)


def _listening() -> set[int]:
    """The ports at which this process listens: one that it closed may be another's by now."""
    return {one.laddr.port for one in psutil.Process().net_connections("tcp") if one.status == psutil.CONN_LISTEN}


@pytest.mark.parametrize("api", ["Metadata", "DescribeCluster"])
@asynchronous
async def test_an_upstream_that_names_other_brokers_each_time_keeps_few_ports_open(
    api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(brokers, "GONE_MAX", 10)
    async with before_scripted() as (broker, server, client):
        place = {"host": "kafka.example", "port": 9092}
        broker.answer = lambda head, _: written(
            "DescribeCluster", head, {"brokers": [{"broker_id": node, **place} for node in broker.nodes]}
        )
        ports: list[int] = []
        for turn in range(10):
            broker.nodes = list(range(100 + 5 * turn, 105 + 5 * turn))
            ports += [each.port for each in (await client.call(api, 1)).brokers]
        # The last answer's, as many that are gone as may be, and those that the last answer took the places of.
        # The system may give a port that was closed to a broker that came later.
        assert _listening() & {*ports} == {*ports[-15:]}
        assert await is_served(server.address)


@asynchronous
async def test_a_broker_that_is_gone_for_long_has_no_port_but_the_first_keep_theirs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with before_scripted() as (broker, server, client):

        async def ports() -> list[int]:
            return [each.port for each in (await client.call("Metadata", 12, topics=None)).brokers]

        broker.nodes = [7, 8]
        first, second = await ports()
        old = await Client.connect(Address(server.address.host, second))
        broker.nodes = [9]
        await ports()
        assert second in _listening()
        monkeypatch.setattr(brokers, "GONE_FOR_S", -1.0)
        await ports()
        assert _listening() & {first, second} == {first}
        # Who came while it was there is served on.
        found = await old.call("FindCoordinator", 4, coordinator_keys=["g"])
        assert found.coordinators[0].node_id == 7
        broker.nodes = [7, 8]
        assert (await ports())[1] in _listening()


@asynchronous
async def test_answers_to_be_rewritten_are_taken_one_at_a_time_however_many_are_asked_for() -> None:
    count = 300_000
    topics = struct.pack(">i", count) + (struct.pack(">hh", 0, 3) + b"abc" + struct.pack(">i", 0)) * count
    async with before_scripted() as (broker, _, client):
        broker.metadata = lambda head, _: answered(head, bytes(4) + topics)
        tracemalloc.start()
        try:
            for _ in range(30):
                client.send("Metadata", 0, topics=[])
            for number in range(1, 31):
                answer = await client.receive_raw()
                assert (struct.unpack_from(">i", answer)[0], len(answer)) == (number, len(topics) + 8)
            _, peak_bytes = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        # Both ends are in this process and hold some of it as well.
        assert peak_bytes < 15 * len(topics)


@pytest.mark.parametrize("version", range(14))
def test_every_versions_beginning_is_read_and_written_as_it_is(version: int) -> None:
    spoken = codec("Metadata", version)
    for known in ([], [SEVEN], [SEVEN, {**SEVEN, "node_id": 2**31 - 1, "rack": "r" if version else None}]):
        values = {"brokers": known, "topics": [{"name": "t"}]}
        whole = spoken.write_response(-9, entity_of(spoken.response_type, values))
        parts = split(version, whole[4:])
        assert [(each.node_id, each.host, each.port) for each in parts.brokers] == [
            (each["node_id"], each["host"], each["port"]) for each in known
        ]
        assert b"t" in parts.behind
        assert joined(version, parts) == whole


@pytest.mark.parametrize("version", [0, 12])
def test_a_beginning_that_is_none_is_an_error_that_says_so(version: int) -> None:
    spoken = codec("Metadata", version)
    whole = spoken.write_response(1, entity_of(spoken.response_type, {"brokers": [SEVEN] * 3}))[4:]
    for length in range(16):
        with pytest.raises(WireError, match=f"MetadataResponse v{version}"):
            split(version, whole[:length])
    many = spoken.write_response(1, entity_of(spoken.response_type, {"brokers": [SEVEN] * (MAX_BROKERS + 1)}))[4:]
    with pytest.raises(WireError, match=f"{MAX_BROKERS + 1} brokers"):
        split(version, many)


@asynchronous
async def test_a_broker_that_does_not_know_the_version_says_so_to_the_client() -> None:
    refusal = {
        "error_code": Error.UNSUPPORTED_VERSION,
        "api_keys": [{"api_key": 18, "min_version": 0, "max_version": 3}],
    }
    async with before_scripted() as (broker, _, client):
        broker.versions = lambda head, _: written("ApiVersions", head._replace(api_version=0), refusal)
        client.send("ApiVersions", 4, client_software_name="c", client_software_version="1")
        _, reported = await client.receive("ApiVersions", 0)
        assert reported.error_code.name == "unsupported_version"
        assert [(known.api_key, known.max_version) for known in reported.api_keys] == [(18, 3)]


@asynchronous
async def test_a_broker_that_answers_no_api_at_all_ends_nothing() -> None:
    async with before_scripted() as (broker, _, client):
        broker.versions = lambda head, _: written("ApiVersions", head, {})
        assert (await client.call("ApiVersions", 0)).api_keys == ()
