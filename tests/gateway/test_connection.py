"""One connection: the order of answers, and every kind of bad client with its outcome, other clients unharmed."""

from __future__ import annotations

import asyncio
import logging
import math
import resource
import socket
import struct
from collections.abc import Iterator
from unittest.mock import Mock

import pytest

from rollcall.schemas.errors import Error
from rollcall.schemas.messages import HeartbeatResponse
from rollcall.serve.gateway.wire.codec import codec
from rollcall.serve.listeners.connections import ConnectionMetrics, Connections, Limits
from tests.gateway.garbage import GARBAGE
from tests.gateway.running import asynchronous, gateway, gateway_and_client
from tests.gateway.wire_client import alone_in, heartbeat, is_answered, is_served, join, park
from tests.waiting import until_true
from tests.wire_client import framed

HEARTBEAT = codec("Heartbeat", 4)
FILES_BESIDE = 300
"""How many files a test's process may have open for other reasons."""


# ---------------------------------------------------------------- order


@asynchronous
async def test_answers_come_in_the_order_of_the_requests_whatever_they_are() -> None:
    async with gateway_and_client() as (_, client):
        wanted = []
        for _ in range(20):
            for api, version, values in [
                ("Heartbeat", 4, heartbeat()),
                ("ApiVersions", 0, {}),
                ("DescribeGroups", 5, {"groups": ["a", "b"]}),
                ("Metadata", 12, {"topics": None}),
                ("Heartbeat", 0, heartbeat()),
            ]:
                wanted.append((client.send(api, version, **values), api, version))
        for correlation_id, api, version in wanted:
            assert (await client.receive(api, version))[0] == correlation_id


@asynchronous
async def test_a_parked_join_holds_what_stands_behind_it_until_it_is_answered() -> None:
    async with gateway() as running:
        first, second = await running.client(), await running.client()
        member, generation = await alone_in(first)
        waiting, parked = await park(second)
        behind = second.send("Heartbeat", 4, **heartbeat(member=waiting, generation=generation + 1))
        await until_true(lambda: running.backend.waiting == 1)
        assert running.backend.by_id["g"].members.keys() == {member, waiting}
        first.send("JoinGroup", 9, **join(member=member))
        assert (await second.receive("JoinGroup", 9))[0] == parked
        correlation_id, answer = await second.receive("Heartbeat", 4)
        assert (correlation_id, answer.error_code.name) == (behind, "none")


@asynchronous
async def test_the_same_request_again_is_answered_in_order_early_or_not() -> None:
    async with gateway_and_client() as (running, client):
        backend, unknown, known = running.backend, "unknown_member_id", "none"
        for is_early, version in ((False, 4), (True, 4), (True, 4), (True, 3), (False, 3), (True, 4), (False, 4)):
            backend.is_early = is_early
            answer = await client.call("Heartbeat", version, **heartbeat())
            assert answer.error_code.name == (known if is_early else unknown)
        client.send_raw(framed("Heartbeat", 4, correlation_id=-1, **heartbeat()))
        assert (await client.receive("Heartbeat", 4))[0] == -1
        backend.is_early = True
        client.send_raw(framed("Heartbeat", 4, correlation_id=-2, **heartbeat()))
        assert (await client.receive("Heartbeat", 4))[0] == -2
        backend.is_silent, backend.is_early = True, False
        first = client.send("Heartbeat", 4, **heartbeat())
        await until_true(lambda: backend.waiting == 1)
        backend.is_early, latencies = True, running.server.metrics.latencies
        second = client.send("Heartbeat", 4, **heartbeat())
        assert (await (await running.client()).call("ApiVersions", 0)).error_code.name == "none"
        for answer in list(backend._waiting.values()):
            answer.set_result(HeartbeatResponse(error_code=Error.UNKNOWN_MEMBER_ID))
        for sent, error in ((first, unknown), (second, known)):
            correlation_id, answer = await client.receive("Heartbeat", 4)
            assert (correlation_id, answer.error_code.name) == (sent, error)
        assert sum(latencies._counts["Heartbeat"]) == 11


@asynchronous
async def test_an_error_of_the_gateways_own_ends_the_connection_also_when_a_request_comes_again() -> None:
    async with gateway_and_client() as (running, client):
        running.backend.is_early = True
        await client.call("Heartbeat", 4, **heartbeat())
        running.backend.raises = RuntimeError("not foreseen")
        client.send("Heartbeat", 4, **heartbeat())
        assert await client.is_closed_by_peer()
        running.backend.raises, running.backend.is_early = None, False
        assert await is_served(running.address)


@asynchronous
async def test_a_frame_may_come_byte_by_byte_and_many_in_one_piece() -> None:
    async with gateway_and_client() as (_, client):
        frame = framed("Heartbeat", 4, correlation_id=7, **heartbeat())
        for byte in frame:
            client.send_raw(bytes([byte]))
            await client.writer.drain()
        assert (await client.receive("Heartbeat", 4))[0] == 7
        client.send_raw(frame * 1000)
        for _ in range(1000):
            assert (await client.receive("Heartbeat", 4))[0] == 7


# ---------------------------------------------------------------- what is no request


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE.keys())
@asynchronous
async def test_what_is_no_request_ends_its_connection_and_no_other(garbage: bytes) -> None:
    async with gateway() as running:
        other, client = await running.client(), await running.client()
        client.send_raw(garbage)
        assert await client.is_closed_by_peer()
        assert await is_answered(other)
        await until_true(lambda: len(running.server.connections) == 1)


@pytest.mark.parametrize("settings", [{"gateway.connections.max.idle.ms": "1"}, {}], ids=["nothing", "the end"])
@asynchronous
async def test_half_a_frame_and_then_nothing_or_the_end_is_the_end(settings: dict[str, str]) -> None:
    async with gateway_and_client(settings) as (_, client):
        client.send_raw(b"\0\0\0\x20half")
        if not settings:
            client.writer.write_eof()
        assert await client.is_closed_by_peer()


# ---------------------------------------------------------------- bad manners


@asynchronous
async def test_a_client_that_leaves_while_its_join_is_parked_leaves_nothing_behind_but_its_membership() -> None:
    async with gateway() as running:
        first, second = await running.client(), await running.client()
        member, _ = await alone_in(first)
        waiting, _ = await park(second)
        await until_true(lambda: running.backend.waiting == 1)
        second.close()
        await until_true(lambda: running.backend.waiting == 0)
        await until_true(lambda: len(running.server.connections) == 1)
        rejoined = await first.call("JoinGroup", 9, **join(member=member))
        assert {m.member_id for m in rejoined.members} == {member, waiting}


@asynchronous
async def test_a_client_that_floods_is_read_no_further_than_its_share() -> None:
    async with gateway({"gateway.max.in.flight.requests.per.connection": "5"}) as running:
        first, second, flood = [await running.client() for _ in range(3)]
        member, _ = await alone_in(first)
        await park(flood)
        await until_true(lambda: running.backend.waiting == 1)
        frame = framed("Heartbeat", 4, correlation_id=7, **heartbeat())
        flood.send_raw(frame * 200_000)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(flood.writer.drain(), 0.3)
        assert await is_answered(second)
        first.send("JoinGroup", 9, **join(member=member))
        assert (await flood.receive("JoinGroup", 9))[1].error_code.name == "none"
        for _ in range(1000):
            assert (await flood.receive("Heartbeat", 4))[0] == 7


@asynchronous
async def test_no_more_than_its_share_of_one_clients_requests_is_unanswered_at_a_time() -> None:
    async with gateway_and_client({"gateway.max.in.flight.requests.per.connection": "3"}) as (running, client):
        running.backend.is_silent = True
        for _ in range(10):
            client.send("Heartbeat", 4, **heartbeat())
        await until_true(lambda: running.backend.waiting == 3)
        assert (await (await running.client()).call("ApiVersions", 0)).error_code.name == "none"
        assert running.backend.waiting == 3


@asynchronous
async def test_a_client_that_reads_nothing_is_cut_off_and_its_answers_do_not_pile_up() -> None:
    async with gateway_and_client({"gateway.send.timeout.ms": "1"}) as (running, client):
        await until_true(lambda: 0.0 not in running.server.connections._watched.values())
        client.stop_reading()
        frame = framed("Metadata", 12, topics=None)
        with pytest.raises((ConnectionError, asyncio.TimeoutError)):  # noqa: PT012
            while True:
                client.send_raw(frame * 1000)
                await asyncio.wait_for(client.writer.drain(), 10)
        assert await is_served(running.address)


@asynchronous
async def test_answers_beyond_the_limit_of_what_may_be_unread_end_the_connection_at_once() -> None:
    async with gateway_and_client({"gateway.send.max.bytes": "1024", "topics": "t:3000"}) as (running, client):
        client.stop_reading()
        for _ in range(100):
            client.send("Metadata", 12, topics=None)
        await until_true(lambda: len(running.server.connections) == 0)
        assert await is_served(running.address)


@asynchronous
async def test_long_answers_that_nobody_reads_are_kept_of_few_clients_only() -> None:
    async with gateway({"gateway.held.max.bytes": "20000000"}) as running:
        running.backend.listed = [(f"{n}".ljust(32_000, "x"), "", "Empty", "classic") for n in range(400)]
        hoarders = [await running.client() for _ in range(4)]
        for client in hoarders:
            client.stop_reading()
            client.send("ListGroups", 5)
        closed = running.server.metrics.closed.labels("held")
        await until_true(lambda: closed._value.get() >= 2)
        await until_true(lambda: len(running.server.connections) <= 2)
        for client in hoarders:
            client.start_reading()
        await until_true(lambda: not running.server.connections._held)
        reader = await running.client()
        assert len((await reader.call("ListGroups", 5)).groups) == 400


@asynchronous
async def test_a_silent_connection_is_closed_but_not_one_whose_answer_is_withheld() -> None:
    async with gateway({"gateway.connections.max.idle.ms": "900"}) as running:
        silent, first, second = [await running.client() for _ in range(3)]
        member, generation = await alone_in(first)
        await park(second)
        closed = asyncio.create_task(silent.is_closed_by_peer())
        while not closed.done():
            await first.call("Heartbeat", 4, **heartbeat(member=member, generation=generation))
        assert closed.result()
        assert len(running.server.connections) == 2
        first.send("JoinGroup", 9, **join(member=member))
        assert (await second.receive("JoinGroup", 9))[1].error_code.name == "none"


@asynchronous
async def test_connections_beyond_the_limit_are_closed_and_those_within_it_stay() -> None:
    async with gateway({"gateway.max.connections": "2"}) as running:
        first, second, third = [await running.client() for _ in range(3)]
        assert await third.is_closed_by_peer()
        for client in (first, second):
            assert (await client.call("ApiVersions", 0)).error_code.name == "none"
        first.close()
        await until_true(lambda: len(running.server.connections) == 1)
        assert await is_served(running.address)


@asynchronous
async def test_unfinished_requests_take_no_more_room_than_there_is_and_the_oldest_makes_room() -> None:
    async with gateway({"gateway.held.max.bytes": "1000000"}) as running:
        half = (2_000_000).to_bytes(4, "big") + bytes(400_000)
        held = []
        for _ in range(4):
            held.append(await running.client())
            held[-1].send_raw(half)
            await held[-1].writer.drain()
            await is_served(running.address)
        for oldest in held[:2]:
            assert await oldest.is_closed_by_peer()
        await until_true(lambda: len(running.server.connections) == 2)
        frame = framed("Heartbeat", 4, correlation_id=7, **heartbeat(member="m" * 30_000))
        client = await running.client()
        client.send_raw(frame * 20)
        for _ in range(20):
            assert (await client.receive("Heartbeat", 4))[0] == 7


@asynchronous
async def test_requests_that_are_not_answered_take_no_more_room_than_there_is_and_those_with_most_make_room() -> None:
    async with gateway({"gateway.held.max.bytes": "1000000"}) as running:
        running.backend.is_silent = True
        small, *large = [await running.client() for _ in range(5)]
        for number, client in enumerate((small, *large), 1):
            metadata = bytes(100_000 if client is small else 400_000)
            client.send("JoinGroup", 9, **{**join(), "protocols": [{"name": "range", "metadata": metadata}]})
            await until_true(lambda number=number: len(running.backend.asked) == number)  # type: ignore[misc]
        await until_true(lambda: len(running.server.connections) == 3)
        running.backend.is_silent = False
        assert await is_served(running.address)
        assert not await small.is_closed_by_peer(0.05)


@asynchronous
async def test_one_address_may_have_no_more_connections_than_its_limit() -> None:
    async with gateway({"gateway.max.connections.per.ip": "1"}) as running:
        await running.client()
        assert await (await running.client()).is_closed_by_peer()
        elsewhere = await running.client(local_addr=("127.0.0.2", 0))
        assert (await elsewhere.call("ApiVersions", 0)).error_code.name == "none"


@pytest.fixture
def most_files() -> Iterator[int]:
    """How many files this process may open during the test."""
    usual, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    yield most
    resource.setrlimit(resource.RLIMIT_NOFILE, (usual, most))


@asynchronous
async def test_five_thousand_idle_connections_keep_nobody_else_from_being_served(most_files: int) -> None:
    # Both ends are in this process; where it may open fewer files, the gateway's own limit is met as well.
    count = min(5000, (most_files - FILES_BESIDE) // 2)
    async with gateway({"gateway.max.connections": str(count + 1)}) as running:
        loop = asyncio.get_running_loop()
        idle = []
        for _ in range(count):
            sock = socket.socket()
            sock.setblocking(False)
            await loop.sock_connect(sock, running.address)
            idle.append(sock)
        await until_true(lambda: len(running.server.connections) == count)
        assert await is_served(running.address)
        await until_true(lambda: len(running.server.connections) == count)
        last_to_fit = await running.client()
        await until_true(lambda: len(running.server.connections) == count + 1)
        one_too_many = await running.client()
        assert await one_too_many.is_closed_by_peer()
        last_to_fit.close()
        for sock in idle:
            sock.close()
        await until_true(lambda: len(running.server.connections) == 0)


@asynchronous
async def test_who_resets_the_connection_before_it_is_served_is_not_counted(caplog: pytest.LogCaptureFixture) -> None:
    async with gateway({"gateway.max.connections": "50"}) as running:
        for _ in range(40):
            sock = socket.create_connection(running.address)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            sock.close()
        assert await is_served(running.address)
        await until_true(lambda: len(running.server.connections) == 0)
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


@pytest.mark.parametrize("field", ["client_id", "group_instance_id"])
@asynchronous
async def test_a_name_that_no_member_id_can_begin_with_ends_its_connection_and_is_not_asked(field: str) -> None:
    async with gateway() as running:
        for size, is_taken in ((32_730, True), (32_731, False)):
            client, name = await running.client(), "n" * size
            values = {**join(), **({} if field == "client_id" else {field: name})}
            client.send("JoinGroup", 5, name if field == "client_id" else "client", **values)
            if is_taken:
                _, answer = await client.receive("JoinGroup", 5)
                assert len(answer.member_id) == 32_767
            else:
                assert await client.is_closed_by_peer()
        assert len(running.backend.asked) == 1
        assert await is_served(running.address)


@asynchronous
async def test_an_error_of_our_own_ends_one_connection_and_sends_no_details(caplog: pytest.LogCaptureFixture) -> None:
    async with gateway_and_client() as (running, client):
        running.backend.raises = RuntimeError("a bug of ours")
        client.send("Heartbeat", 4, **heartbeat())
        assert await client.is_closed_by_peer()
        running.backend.raises = None
        assert await is_served(running.address)
    assert "a bug of ours" in caplog.text


@asynchronous
async def test_a_gateway_that_stops_closes_every_connection() -> None:
    async with gateway_and_client() as (_, client):
        await client.call("ApiVersions", 0)
    assert await client.is_closed_by_peer()


@asynchronous
async def test_a_connection_whose_check_breaks_is_closed_and_all_others_are_checked_as_they_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rollcall.serve.listeners.connections._CHECK_S", 0.001)
    connections = Connections(Limits(10, 10, 1000), ConnectionMetrics("test_"))

    broken, fine, quiet = Mock(), Mock(), Mock()
    broken.check.side_effect = RuntimeError("not foreseen")
    fine.check.return_value, quiet.check.return_value = 0.0, math.inf
    for connection in (broken, fine, quiet):
        connections.watch_over(connection)
    watching = asyncio.create_task(connections.watch())
    await until_true(lambda: fine.check.call_count > 3)
    broken.close.assert_called()
    assert quiet.check.call_count == 1
    connections.check_soon(quiet)
    await until_true(lambda: quiet.check.call_count > 1)
    assert not watching.done()
    watching.cancel()
