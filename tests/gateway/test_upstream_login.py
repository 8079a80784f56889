"""A gateway gets into an upstream that asks who it is: here the upstream is a gateway too, which knows TLS and SASL."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from rollcall.programs.errors import ConfigError
from rollcall.serve.gateway.sasl import AuthenticationError, tokens
from rollcall.serve.gateway.server import Server
from rollcall.serve.gateway.settings import Settings
from rollcall.serve.listeners.credentials import write_user
from tests.gateway.gateway_before import gateway_before
from tests.gateway.logging_in import CERTIFICATES, MECHANISMS, TLS
from tests.gateway.running import asynchronous, gateway
from tests.gateway.wire_client import alone_in
from tests.wire_client import Client


@pytest.fixture
def users(tmp_path: Path) -> dict[str, str]:
    write_user(tmp_path / "users", "ga=te,way", "opensesame")
    (tmp_path / "password").write_text("opensesame\n")
    (tmp_path / "another").write_text("abracadabra\n")
    return {"gateway.users": str(tmp_path / "users")}


def sasl(tmp_path: Path, mechanism: str = "PLAIN", protocol: str = "SASL_PLAINTEXT", **more: str) -> dict[str, str]:
    pairs = {
        "security.protocol": protocol,
        "sasl.mechanism": mechanism,
        "sasl.username": "ga=te,way",
        "sasl.password.file": str(tmp_path / "password"),
    }
    return {f"gateway.upstream.{key}": value for key, value in (pairs | more).items()}


async def assert_serves(server: Server) -> None:
    """The upstream's data comes through, and groups are the gateway's own."""
    client = await Client.connect(server.address)
    described = await client.call("Metadata", 9, topics=None)
    assert sorted(topic.name for topic in described.topics) == ["t1", "t2"]
    assert [broker.port for broker in described.brokers] == [server.address.port]
    member_id, _ = await alone_in(client, "g")
    assert (await client.call("Metadata", 9, topics=None)).topics == described.topics
    await client.call("LeaveGroup", 0, group_id="g", member_id=member_id)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@asynchronous
async def test_it_authenticates_on_each_connection(mechanism: str, users: dict[str, str], tmp_path: Path) -> None:
    async with gateway(users) as upstream, gateway_before(upstream, **sasl(tmp_path, mechanism)) as server:
        await assert_serves(server)
        await assert_serves(server)


@asynchronous
async def test_tls_alone_with_sasl_and_with_a_certificate_of_its_own(users: dict[str, str], tmp_path: Path) -> None:
    tls = {"gateway.upstream.security.protocol": "SSL", "gateway.upstream.ssl.ca": f"{CERTIFICATES}/ca.pem"}
    own = f"{CERTIFICATES}/client"
    shown = {"gateway.upstream.ssl.certificate": f"{own}.pem", "gateway.upstream.ssl.key": f"{own}.key"}
    for asks, shows in (
        (TLS, tls),
        (TLS | users, tls | sasl(tmp_path, "SCRAM-SHA-512", "SASL_SSL")),
        (TLS | {"gateway.ssl.client.ca": f"{CERTIFICATES}/ca.pem"}, tls | shown),
    ):
        async with gateway(asks) as upstream, gateway_before(upstream, **shows) as server:
            await assert_serves(server)


@pytest.mark.parametrize(
    ("mechanisms", "change", "why"),
    [
        ("", {"gateway.upstream.sasl.password.file": "{tmp}/another"}, r"does not let 'ga=te,way' in: "),
        ("", {"gateway.upstream.sasl.username": "nobody"}, r"does not let 'nobody' in: "),
        ("", {"gateway.upstream.security.protocol": "SASL_SSL"}, "is gateway.upstream.security.protocol its"),
        ("SCRAM-SHA-512", {}, "it offers SCRAM-SHA-512 and not PLAIN"),
    ],
)
@asynchronous
async def test_who_is_not_let_in_learns_why_at_the_start(
    mechanisms: str, change: dict[str, str], why: str, users: dict[str, str], tmp_path: Path
) -> None:
    pairs = {key: value.replace("{tmp}", str(tmp_path)) for key, value in (sasl(tmp_path) | change).items()}
    offered = {"gateway.sasl.mechanisms": mechanisms} if mechanisms else {}
    async with gateway(users | offered) as upstream:
        with pytest.raises(OSError, match=why):
            async with gateway_before(upstream, **pairs):
                pass


@asynchronous
async def test_a_stranger_to_the_upstream_is_no_stranger_for_long(users: dict[str, str], tmp_path: Path) -> None:
    """A password that is changed while the gateway runs ends the connections of its clients, who hear it at once."""
    async with gateway(users) as upstream, gateway_before(upstream, **sasl(tmp_path)) as server:
        await assert_serves(server)
        write_user(tmp_path / "users", "ga=te,way", "changed")
        client = await Client.connect(server.address)
        client.send("Metadata", 9, topics=None)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await client.receive("Metadata", 9)


def unfit(pairs: dict[str, str], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        Settings.from_pairs({f"gateway.{key}": value for key, value in pairs.items()})


def test_contradictions_are_refused_by_name() -> None:
    upstream = {"upstream": "kafka:9092"}
    unfit({"upstream.security.protocol": "TLS", **upstream}, "security.protocol=TLS: is not one of PLAINTEXT, SSL")
    unfit({"upstream.security.protocol": "SSL"}, "security.protocol=SSL: needs gateway.upstream")
    unfit({"upstream.ssl.ca": "/ca", **upstream}, "upstream.ssl.ca: needs .* to be one with SSL")
    unfit({"upstream.sasl.username": "u", **upstream}, "upstream.sasl.username: needs .* to be one with SASL")
    unfit({"upstream.security.protocol": "SASL_SSL", **upstream}, "needs gateway.upstream.sasl.username and")
    unfit({"upstream.sasl.mechanism": "GSSAPI", **upstream}, "sasl.mechanism=GSSAPI: is not one of PLAIN")
    key = {"upstream.ssl.key": "/k", "upstream.security.protocol": "SSL", **upstream}
    unfit(key, "upstream.ssl.key: needs gateway.upstream.ssl.certificate")


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ([b"r=another,s=c2FsdA==,i=4096"], "nonce"),
        ([b"r={nonce}x,s=c2FsdA==,i=4096000000"], "iterations"),
        ([b"hello"], "malformed"),
        ([b"r={nonce}x,s=c2FsdA==,i=4096", b"v=AAAA"], "does not know the password"),
        ([b"r={nonce}x,s=c2FsdA==,i=4096", b"e=other-error"], "malformed"),
    ],
)
def test_a_server_that_does_not_know_the_password_is_found_out(answers: list[bytes], why: str) -> None:
    conversation = tokens("SCRAM-SHA-256", "alice", "wonderland")
    nonce = next(conversation).partition(b"r=")[2]
    *before_last, last = (answer.replace(b"{nonce}", nonce) for answer in answers)
    for answer in before_last:
        conversation.send(answer)
    with pytest.raises(AuthenticationError, match=why):
        conversation.send(last)
