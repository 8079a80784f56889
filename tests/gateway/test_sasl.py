"""Clients log in by SASL as they speak it; a stranger learns nothing."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from tests.gateway.logging_in import MECHANISMS, log_in
from tests.gateway.running import asynchronous, gateway, gateway_and_client
from tests.gateway.wire_client import beaten, heartbeat, join


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(("name", "password"), [("alice", "wonderland"), ("b=o,b", "pässword")])
@asynchronous
async def test_who_knows_the_password_is_let_in_by_name(
    mechanism: str, name: str, password: str, users_file: Path
) -> None:
    async with gateway_and_client({"gateway.users": str(users_file)}) as (running, client):
        assert (await log_in(client, mechanism, name, password)).error_code.name == "none"
        assert (await client.call("JoinGroup", 9, **join())).error_code.name == "member_id_required"
        assert running.backend.asked[0].principal == f"User:{name}"


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(
    ("name", "password"), [("alice", "wonderlan"), ("nobody", "wonderland"), ("Alice", "wonderland")]
)
@asynchronous
async def test_who_does_not_learns_no_more_than_that_after_a_while_and_sent_away(
    mechanism: str, name: str, password: str, users_file: Path
) -> None:
    async with gateway_and_client({"gateway.users": str(users_file)}) as (running, client):
        began = time.monotonic()
        answer = await log_in(client, mechanism, name, password)
        assert answer.error_code.name == "sasl_authentication_failed"
        assert answer.error_message == "Authentication failed: invalid user name or password"
        assert time.monotonic() - began >= 0.1
        assert await client.is_closed_by_peer()
        assert (await log_in(await running.client(), mechanism)).error_code.name == "none"


@pytest.mark.parametrize("api", ["Metadata", "JoinGroup", "FindCoordinator", "Heartbeat"])
@asynchronous
async def test_before_that_nothing_else_is_answered(api: str, users_file: Path) -> None:
    async with gateway_and_client({"gateway.users": str(users_file)}) as (running, client):
        assert 17 in {known.api_key for known in (await client.call("ApiVersions", 0)).api_keys}
        client.send(api, 1)
        assert await client.is_closed_by_peer()
        assert running.backend.asked == []


@asynchronous
async def test_a_pipeline_behind_an_authentication_waits_for_it(users_file: Path) -> None:
    async with gateway_and_client({"gateway.users": str(users_file)}) as (_, client):
        client.send("SaslHandshake", 1, mechanism="PLAIN")
        client.send("SaslAuthenticate", 2, auth_bytes=b"\0alice\0wonderland")
        client.send("Heartbeat", 4, **heartbeat())
        for api, version in (("SaslHandshake", 1), ("SaslAuthenticate", 2)):
            await client.receive(api, version)
        assert (await client.receive("Heartbeat", 4))[1].error_code.name == "unknown_member_id"


@asynchronous
async def test_an_unknown_mechanism_is_answered_with_those_there_are(users_file: Path) -> None:
    settings_ = {"gateway.users": str(users_file), "gateway.sasl.mechanisms": "SCRAM-SHA-512"}
    async with gateway_and_client(settings_) as (_, client):
        for name in ("PLAIN", "GSSAPI"):
            answer = await client.call("SaslHandshake", 1, mechanism=name)
            assert (answer.error_code.name, answer.mechanisms) == ("unsupported_sasl_mechanism", ("SCRAM-SHA-512",))
        assert (await log_in(client, "SCRAM-SHA-512")).error_code.name == "none"


@asynchronous
async def test_a_token_without_a_handshake_and_a_second_handshake_are_out_of_order(users_file: Path) -> None:
    async with gateway_and_client({"gateway.users": str(users_file)}) as (running, client):
        answer = await client.call("SaslAuthenticate", 2, auth_bytes=b"\0alice\0wonderland")
        assert answer.error_code.name == "illegal_sasl_state"
        assert await client.is_closed_by_peer()
        client = await running.client()
        await log_in(client, "PLAIN")
        again = await client.call("SaslHandshake", 1, mechanism="PLAIN")
        assert again.error_code.name == "illegal_sasl_state"


@asynchronous
async def test_who_says_nothing_in_time_is_sent_away(users_file: Path) -> None:
    async with gateway({"gateway.users": str(users_file), "gateway.authentication.timeout.ms": "1"}) as running:
        assert await (await running.client()).is_closed_by_peer()


@asynchronous
async def test_where_nobody_has_to_authenticate_there_is_nothing_to_say() -> None:
    async with gateway_and_client() as (running, client):
        assert 17 not in {known.api_key for known in (await client.call("ApiVersions", 0)).api_keys}
        await client.call("JoinGroup", 9, **join())
        assert running.backend.asked[0].principal is None


@asynchronous
async def test_rules_speak_of_the_name_that_was_proven(users_file: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.write_text("allow User:alice prefix team-a- ALL\n")
    async with gateway({"gateway.users": str(users_file), "gateway.rules": str(rules)}) as running:
        alice, bob = await running.client(), await running.client()
        await log_in(alice, "SCRAM-SHA-256")
        await log_in(bob, "SCRAM-SHA-256", "b=o,b", "pässword")
        assert await beaten(alice, group="team-a-x") == "unknown_member_id"
        for client, group in ((alice, "team-b-x"), (bob, "team-a-x")):
            assert await beaten(client, group=group) == "group_authorization_failed"


@asynchronous
async def test_those_who_guess_passwords_keep_nobody_elsewhere_out(users_file: Path) -> None:
    async with gateway({"gateway.users": str(users_file)}) as running:
        guessers = [await running.client(local_addr=("127.0.0.2", 0)) for _ in range(300)]
        for guesser in guessers:
            guesser.send("SaslHandshake", 1, mechanism="PLAIN")
            guesser.send("SaslAuthenticate", 2, auth_bytes=b"\0alice\0guess")
        guesses = [asyncio.create_task(guesser.is_closed_by_peer(60)) for guesser in guessers]
        honest = await running.client(local_addr=("127.0.0.3", 0))
        assert (await log_in(honest, "PLAIN")).error_code.name == "none"
        assert sum(guess.done() for guess in guesses) < 100
        for guess in guesses:
            guess.cancel()


@asynchronous
async def test_before_that_no_long_request_is_read(users_file: Path) -> None:
    async with gateway_and_client({"gateway.users": str(users_file)}) as (running, client):
        client.send_raw((16_385).to_bytes(4, "big"))
        assert await client.is_closed_by_peer()
        known = await running.client()
        await log_in(known, "PLAIN")
        assert await beaten(known, "m" * 20_000) == "unknown_member_id"
