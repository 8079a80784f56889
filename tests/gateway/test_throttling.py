"""The time that a client shall wait reaches the client, and holds whether the client waits or not."""

from __future__ import annotations

from typing import Any

import pytest

from rollcall.schemas.effect_rows import detail_of_response
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import APIS
from rollcall.schemas.wire_fields import carried_names
from rollcall.serve.gateway.tables.effects_table import response_of
from tests.gateway.asked import ASKED
from tests.gateway.running import asynchronous, gateway, gateway_and_client
from tests.gateway.wire_client import beaten, heartbeat


def test_every_api_whose_groups_answer_is_here() -> None:
    assert ASKED.keys() == APIS.keys() - {"ListGroups", "ListConfigResources", "FindCoordinator"}


@pytest.mark.parametrize("api", ASKED)
@asynchronous
async def test_every_answer_says_how_long_to_wait(api: str) -> None:
    async with gateway() as running:
        running.backend.throttle_time_ms = 1500
        client = await running.client()
        answer = await client.call(api, APIS[api].versions.last, **ASKED[api])
        assert answer.throttle_time.total_seconds() == 1.5


@pytest.mark.parametrize("api", ASKED)
def test_a_row_of_the_effects_table_says_it_in_every_version_that_can(api: str) -> None:
    response: Any = APIS[api].response
    reported = 0
    for version in range(APIS[api].versions.first, APIS[api].versions.last + 1):
        answer = response(throttle_time_ms=1500)
        names = {name for name, _ in carried_names(response, version)}
        read = response_of(api, Error.NONE, detail_of_response(answer, version))
        assert read.wait_ms == (1500 if "throttle_time_ms" in names else 0)
        reported += read.wait_ms > 0
    assert reported


@asynchronous
async def test_a_client_that_does_not_wait_is_read_no_further_meanwhile() -> None:
    async with gateway() as running:
        client, other = await running.client(), await running.client()
        running.backend.throttle_time_ms = 3_600_000
        await beaten(client)
        running.backend.throttle_time_ms = 0
        client.send("Heartbeat", 4, **heartbeat())
        for _ in range(20):
            await beaten(other)
        assert len(running.backend.asked) == 21


@asynchronous
async def test_when_the_time_is_over_it_is_answered() -> None:
    async with gateway_and_client() as (running, client):
        running.backend.throttle_time_ms = 20
        for _ in range(2):
            await beaten(client)
        assert len(running.backend.asked) == 2
