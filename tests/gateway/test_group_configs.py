"""Configs of groups over the wire: whose are answered, and what is not a group's."""

from __future__ import annotations

from typing import Any

import pytest

from tests.gateway.consumer_beats import beat
from tests.gateway.running import asynchronous, gateway_and_client
from tests.wire_client import Client

SESSION = "consumer.session.timeout.ms"


async def alter(
    client: Client, *groups: str, value: str = "50000", kind: int = 32
) -> list[tuple[str, str, str | None]]:
    configs = [{"name": SESSION, "config_operation": 0, "value": value}]
    asked = [{"resource_type": kind, "resource_name": group, "configs": configs} for group in groups]
    answer = await client.call("IncrementalAlterConfigs", 1, resources=asked)
    return [(each.resource_name, each.error_code.name, each.error_message) for each in answer.responses]


async def described(client: Client, *groups: str, v: int = 4, **fields: Any) -> dict[str, Any]:
    asked = [{"resource_type": 32, "resource_name": group, "configuration_keys": [SESSION]} for group in groups]
    answer = await client.call("DescribeConfigs", v, resources=asked, **fields)
    return {each.resource_name: each for each in answer.results}


async def listed(client: Client) -> list[str]:
    answer = await client.call("ListConfigResources", 1, resource_types=[32])
    return sorted(each.resource_name for each in answer.config_resources)


@pytest.mark.parametrize("version", [1, 2, 3, 4])
@asynchronous
async def test_what_is_set_is_described_in_every_version(version: int) -> None:
    async with gateway_and_client() as (_, client):
        assert await alter(client, "a", "b") == [("a", "none", None), ("b", "none", None)]
        found = await described(client, "a", "c", v=version)
        assert {group: (each.configs[0].value, each.configs[0].config_source) for group, each in found.items()} == {
            "a": ("50000", 8),
            "c": ("45000", 5),
        }
        assert await listed(client) == ["a", "b"]


@asynchronous
async def test_what_is_set_for_no_group_yet_is_in_force_when_there_is_one() -> None:
    async with gateway_and_client() as (running, client):
        await alter(client, "g")
        assert running.backend.by_id["g"].configs == {SESSION: "50000"}
        assert (await client.call("ListGroups", 5)).groups == ()
        assert (await beat(client, "m", 0)).member_epoch > 0
        assert running.backend.by_id["g"].consumer.members["m"].session_length_ms == 50_000  # type: ignore[union-attr]


@asynchronous
async def test_other_resources_and_one_named_twice_are_refused_beside_groups() -> None:
    async with gateway_and_client() as (_, client):
        twice = "Each resource must appear at most once."
        assert await alter(client, "a", "b", "a") == [
            ("b", "none", None),
            ("a", "invalid_request", twice),
            ("a", "invalid_request", twice),
        ]
        not_here = "Only groups have configs here; ask only for them"
        assert await alter(client, "t1", kind=2) == [("t1", "invalid_request", not_here)]
        found = await client.call("DescribeConfigs", 4, resources=[{"resource_type": 4, "resource_name": "0"}])
        assert [(each.error_code.name, each.error_message) for each in found.results] == [("invalid_request", not_here)]
        assert await alter(client, "") == [("", "invalid_request", "Default group resources are not allowed.")]
