"""A gateway before an upstream: what is refused, and what becomes of clients when a broker or a client is gone."""

from __future__ import annotations

import asyncio
import logging
import struct
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollcall.serve.gateway.upstream.apis import NOT_PASSED_ON
from rollcall.serve.listeners.addresses import parse_address
from tests.gateway.garbage import GARBAGE
from tests.gateway.gateway_before import OTHER_API, before_scripted, gateway_before, other, received
from tests.gateway.logging_in import log_in
from tests.gateway.running import asynchronous
from tests.gateway.scripted_broker import framed, scripted_broker
from tests.gateway.wire_client import alone_in, beaten, heartbeat, is_answered
from tests.wire_client import Client

UNKNOWN_VERSIONS = [(0, 2), (0, 10), (1, 16), (3, 14), (3, -1), (10, 7), (10, 5216), (10, -1)]


@pytest.mark.parametrize("request_", [(key, 0) for key in sorted(NOT_PASSED_ON)] + UNKNOWN_VERSIONS)
@asynchronous
async def test_what_is_not_passed_on_ends_the_connection(
    request_: tuple[int, int], caplog: pytest.LogCaptureFixture
) -> None:
    async with before_scripted() as (broker, _, client):
        client.send_raw(other(1, bytes(20), *request_))
        assert await client.is_closed_by_peer()
        assert broker.seen == []
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


@asynchronous
async def test_a_broker_that_ends_the_connection_ends_the_clients_and_another_finds_it_back() -> None:
    async with before_scripted() as (broker, server, client):
        bystander = await Client.connect(server.address)
        client.send_raw(other(1))
        await client.receive_raw()
        broker.cut()
        assert await client.is_closed_by_peer()
        assert await is_answered(bystander)
        again = await Client.connect(server.address)
        again.send_raw(other(2))
        assert await received(again) == 2


@asynchronous
async def test_a_broker_that_is_not_there_ends_the_connection_but_groups_go_on() -> None:
    async with before_scripted() as (broker, server, client):
        await broker.close()
        member, generation = await alone_in(client)
        client.send_raw(other(1))
        assert await client.is_closed_by_peer()
        assert await beaten(await Client.connect(server.address), member, generation) == "none"


@asynchronous
async def test_a_client_that_leaves_takes_its_connection_to_the_broker_with_it() -> None:
    async with before_scripted() as (broker, _, client):
        client.send_raw(other(1))
        await client.receive_raw()
        ended = asyncio.create_task(broker.next_end())
        client.close()
        await asyncio.wait_for(ended, 10)


HALF_A_FIND_COORDINATOR = framed(struct.pack(">hhih", 10, 4, 1, 0))
HALF_A_PRODUCE = framed(struct.pack(">hhih", 0, 9, 1, 0))
FRAMES_OF_OURS = ["a length of 2 GB", "a negative length", "HTTP", "an empty frame", "a Heartbeat without its fields"]


@pytest.mark.parametrize("garbage", [*map(GARBAGE.get, FRAMES_OF_OURS), HALF_A_FIND_COORDINATOR, HALF_A_PRODUCE])
@asynchronous
async def test_what_is_no_request_ends_its_connection_and_reaches_no_broker(garbage: bytes) -> None:
    async with before_scripted() as (broker, server, client):
        bystander = await Client.connect(server.address)
        client.send_raw(garbage)
        assert await client.is_closed_by_peer()
        bystander.send_raw(other(2))
        assert await received(bystander) == 2
        assert [head.correlation_id for head, _ in broker.seen] == [2]


@given(st.binary(max_size=200))
def test_whatever_a_client_sends_nobody_else_is_harmed(data: bytes) -> None:
    async def send() -> None:
        async with before_scripted() as (_, server, client):
            bystander = await Client.connect(server.address)
            client.send_raw(framed(data) + data)
            client.writer.write_eof()
            assert await client.is_closed_by_peer()
            assert await is_answered(bystander)

    asyncio.run(send())


@asynchronous
async def test_before_a_client_has_said_who_it_is_only_versions_pass_and_no_long_request_has_room(
    users_file: Path,
) -> None:
    async with before_scripted(**{"gateway.users": str(users_file)}) as (broker, server, client):
        reported = {known.api_key for known in (await client.call("ApiVersions", 3)).api_keys}
        assert {17, 36, OTHER_API} <= reported
        client.send_raw(other(1))
        assert await client.is_closed_by_peer()
        client = await Client.connect(server.address)
        client.send_raw(other(1, bytes(3_000_000))[:4])
        assert await client.is_closed_by_peer()
        client = await Client.connect(server.address)
        await log_in(client, "PLAIN")
        client.send_raw(other(2, bytes(3_000_000)))
        assert await received(client) == 2
        assert [head.correlation_id for head, _ in broker.seen] == [2]


@asynchronous
async def test_a_group_request_as_long_as_a_produce_may_be_is_still_too_long() -> None:
    async with before_scripted() as (_, _, client):
        client.send_raw(other(1, bytes(3_000_000)))
        assert len(await client.receive_raw()) > 3_000_000
        client.send("Heartbeat", 4, **heartbeat(member="m" * 3_000_000))
        assert await client.is_closed_by_peer()


@asynchronous
async def test_an_upstream_without_brokers_one_that_hangs_up_and_too_few_ports_are_said_in_a_sentence() -> None:
    async with scripted_broker() as broker:
        broker.nodes = []
        with pytest.raises(OSError, match=f"gateway.upstream={broker.address}: names no broker"):
            async with gateway_before(broker):
                pass
        broker.nodes = [7, 8]
        with pytest.raises(OSError, match="ports from 65535 on are too few"):
            async with gateway_before(broker, **{"gateway.listen": "127.0.0.1:65535"}):
                pass
        broker.hangs_up = True
        with pytest.raises(OSError, match="ends the connection; is gateway"):
            async with gateway_before(broker):
                pass


@asynchronous
async def test_the_command_line_names_an_upstream_and_says_what_is_wrong_with_it(tmp_path: Path) -> None:
    async with scripted_broker() as broker:
        words = [sys.executable, "-m", "rollcall.serve.gateway", "--home", str(tmp_path), "--listen", "127.0.0.1:0"]
        words += ["--metrics", "127.0.0.1:0", "--upstream", str(broker.address)]
        pipe = asyncio.subprocess.PIPE
        running = await asyncio.create_subprocess_exec(*words, stdout=pipe, stderr=pipe)
        assert running.stdout is not None
        said = (await running.stdout.readline()).decode()
        client = await Client.connect(parse_address("x", said.split(" listens on ")[1].partition(";")[0]))
        client.send_raw(other(1))
        assert await received(client) == 1
        running.terminate()
        await running.communicate()
        broker.hangs_up = True
        refused = await asyncio.create_subprocess_exec(*words, stdout=pipe, stderr=pipe)
        _, err = await refused.communicate()
        assert refused.returncode == 2
        assert err.decode().startswith(f"rollcall: the gateway cannot start: gateway.upstream={broker.address}: ends")
        assert err.count(b"\n") == 1


@asynchronous
async def test_an_upstream_that_is_not_there_is_named() -> None:
    async with scripted_broker() as broker:
        address = broker.address
    broker.address = address
    with pytest.raises(OSError, match=f"gateway.upstream={address}: "):
        async with gateway_before(broker):
            pass
