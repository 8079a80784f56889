"""TLS: the same protocol inside it, and a client's certificate as its name."""

from __future__ import annotations

import asyncio
import logging
import ssl
from pathlib import Path

import pytest

from rollcall.programs.errors import ConfigError
from rollcall.serve.listeners.tls import principal_of
from tests.gateway.logging_in import CERTIFICATES, TLS, log_in
from tests.gateway.running import asynchronous, gateway
from tests.gateway.wire_client import alone_in, is_answered, join, park
from tests.waiting import until_true


def trusting(certificate: str | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=CERTIFICATES / "ca.pem")
    if certificate is not None:
        context.load_cert_chain(CERTIFICATES / f"{certificate}.pem", CERTIFICATES / f"{certificate}.key")
    return context


@asynchronous
async def test_tls_carries_the_same_protocol() -> None:
    async with gateway(TLS) as running:
        client = await running.client(ssl=trusting())
        assert (await client.call("JoinGroup", 9, **join())).error_code.name == "member_id_required"
        assert running.backend.asked[0].principal is None


@asynchronous
async def test_who_never_finishes_the_handshake_counts_as_well() -> None:
    async with gateway({**TLS, "gateway.max.connections": "3"}) as running:
        silent = [await running.client() for _ in range(3)]
        await until_true(lambda: len(running.server.connections) == 3)
        assert await (await running.client()).is_closed_by_peer()
        silent[0].close()
        await until_true(lambda: len(running.server.connections) == 2)
        assert await is_answered(await running.client(ssl=trusting()))
    await until_true(lambda: len(running.server.connections) == 0)


@pytest.mark.parametrize(
    ("has_shaken_hands", "garbage"),
    [
        (False, b"\0\0\0\x0a\0\x12\0\0\0\0\0\1\0\0"),
        (False, b"\x16\x03\x01\xff\xff" + bytes(100)),
        (False, b"x" * 9000),
        (True, b"GET / HTTP/1.1\r\n\r\n"),
    ],
)
@asynchronous
async def test_garbage_before_and_after_the_handshake_ends_its_connection_and_no_other(
    has_shaken_hands: bool, garbage: bytes
) -> None:
    async with gateway(TLS) as running:
        other = await running.client(ssl=trusting())
        client = await running.client(ssl=trusting() if has_shaken_hands else None)
        client.send_raw(garbage)
        assert await client.is_closed_by_peer()
        assert await is_answered(other)


@asynchronous
async def test_who_has_gone_while_it_was_read_no_further_is_not_counted_for_ever() -> None:
    async with gateway(TLS) as running:
        first, second = [await running.client(ssl=trusting()) for _ in range(2)]
        member, _ = await alone_in(first)
        await park(second)
        second.send_raw(b"\xff" * 100_000)
        await until_true(lambda: running.backend.waiting == 1)
        await first.call("ApiVersions", 0)
        second.writer.transport.abort()
        await first.call("ApiVersions", 0)
        first.send("JoinGroup", 9, **join(member=member))
        await first.receive("JoinGroup", 9)
        await until_true(lambda: len(running.server.connections) == 1, 5)


@asynchronous
async def test_a_client_that_reads_nothing_is_cut_off_without_an_error(caplog: pytest.LogCaptureFixture) -> None:
    async with gateway({**TLS, "gateway.send.max.bytes": "1024", "topics": "t:3000"}) as running:
        client = await running.client(ssl=trusting())
        client.stop_reading()
        for _ in range(100):
            client.send("Metadata", 12, topics=None)
        await until_true(lambda: len(running.server.connections) == 0)
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


@asynchronous
async def test_a_clients_certificate_is_its_name() -> None:
    async with gateway({**TLS, "gateway.ssl.client.ca": str(CERTIFICATES / "ca.pem")}) as running:
        client = await running.client(ssl=trusting("client"))
        await client.call("JoinGroup", 9, **join())
        assert running.backend.asked[0].principal == r"User:CN=alice,O=Rollcall\, tests,C=DE"
        stranger = await running.client(ssl=trusting())
        assert await stranger.is_closed_by_peer() or stranger.reader.at_eof()


def test_no_certificate_is_no_name() -> None:
    assert principal_of(None) is None
    assert principal_of({"subject": ((("commonName", "x"), ("userId", "7")),)}) == "User:CN=x+UID=7"


@asynchronous
async def test_sasl_goes_over_tls(users_file: Path) -> None:
    async with gateway({**TLS, "gateway.users": str(users_file)}) as running:
        client = await running.client(ssl=trusting())
        assert (await log_in(client, "PLAIN")).error_code.name == "none"
        assert await is_answered(client)


@pytest.mark.parametrize(
    ("pairs", "why"),
    [
        ({"gateway.ssl.certificate": "/nowhere.pem"}, "gateway.ssl.certificate=/nowhere.pem: No such file"),
        ({"gateway.ssl.certificate": str(CERTIFICATES / "server.key")}, "gateway.ssl.certificate="),
        ({**TLS, "gateway.ssl.client.ca": "/nowhere.pem"}, "gateway.ssl.client.ca=/nowhere.pem: No such file"),
        ({"gateway.users": "/nowhere"}, "/nowhere: cannot be read: No such file"),
        ({"gateway.rules": "/nowhere"}, "/nowhere: cannot be read: No such file"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(pairs: dict[str, str], why: str) -> None:
    async def start() -> None:
        async with gateway(pairs):
            pass

    with pytest.raises(ConfigError, match=why):
        asyncio.run(start())
