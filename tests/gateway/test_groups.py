"""The group APIs over the wire: what one group cannot answer, what names several, and who may do what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rollcall.schemas.messages import APIS
from rollcall.serve.gateway.backend import BackendError
from tests.gateway.asked import ASKED, error_in
from tests.gateway.running import asynchronous, gateway, gateway_and_client
from tests.gateway.wire_client import alone_in, heartbeat, join
from tests.requests import join as a_join
from tests.waiting import until_true


@asynchronous
async def test_a_request_for_several_groups_is_answered_in_the_order_in_which_each_is_first_asked() -> None:
    async with gateway_and_client() as (_, client):
        await alone_in(client, "stable")
        described = await client.call("DescribeGroups", 5, groups=["b", "stable", "a", "b"])
        assert [(g.group_id, g.group_state) for g in described.groups] == [
            ("b", "Dead"),
            ("stable", "Stable"),
            ("a", "Dead"),
        ]
        deleted = await client.call("DeleteGroups", 2, groups_names=["a", "stable"])
        assert [(r.group_id, r.error_code.name) for r in deleted.results] == [
            ("a", "group_id_not_found"),
            ("stable", "non_empty_group"),
        ]
        assert (await client.call("DescribeGroups", 5, groups=[])).groups == ()


@asynchronous
async def test_every_group_is_listed_with_its_state() -> None:
    async with gateway_and_client() as (_, client):
        await alone_in(client, "stable")
        await client.call("JoinGroup", 9, **join("pending"))
        for version in range(6):
            listed = await client.call("ListGroups", version)
            assert {group.group_id for group in listed.groups} == {"stable", "pending"}
        only = await client.call("ListGroups", 5, states_filter=["stable"])
        assert [(g.group_id, g.group_state, g.group_type) for g in only.groups] == [("stable", "Stable", "classic")]


@pytest.mark.parametrize("version", range(7))
@asynchronous
async def test_the_coordinator_of_every_group_is_the_gateway_that_is_asked(version: int) -> None:
    async with gateway_and_client() as (running, client):
        asked = {"coordinator_keys": ["g", "h"]} if version >= 4 else {"key": "g"}
        answer = await client.call("FindCoordinator", version, **asked)
        found = answer.coordinators if version >= 4 else [answer]
        assert {(node.node_id, node.host, node.port) for node in found} == {(0, *running.address)}


@asynchronous
async def test_history_knows_where_a_client_came_from_and_what_it_calls_itself() -> None:
    async with gateway_and_client() as (running, client):
        await client.call("JoinGroup", 9, client_id="worker-7", **join())
        (member,) = running.backend.by_id["g"].pending.values()
        assert (member.client_id, member.client_host) == ("worker-7", "/127.0.0.1")


@asynchronous
async def test_heartbeats_of_one_connection_are_each_answered_for_what_they_say() -> None:
    async with gateway_and_client() as (running, client):
        member, generation = await alone_in(client)
        ours = heartbeat(member=member, generation=generation)
        nobodys, earlier = {**ours, "member_id": "nobody"}, {**ours, "generation_id": generation - 1}
        asked = [
            (4, "client", ours, "none"),
            (4, "client", ours, "none"),
            (4, "another", ours, "none"),
            (4, "client", earlier, "illegal_generation"),
            (4, "client", nobodys, "unknown_member_id"),
            # These versions differ in their answers alone.
            (1, "client", nobodys, "unknown_member_id"),
            (0, "client", nobodys, "unknown_member_id"),
            (1, "client", nobodys, "unknown_member_id"),
            (4, "client", ours, "none"),
        ]
        before = len(running.backend.asked)
        for version, client_id, values, error in asked:
            answer = await client.call("Heartbeat", version, client_id, **values)
            assert answer.error_code.name == error
        taken = running.backend.asked[before:]
        assert [(one.api_version, one.client_id) for one in taken] == [(v, client_id) for v, client_id, *_ in asked]
        assert len({one.request_id for one in taken}) == len(asked)


@asynchronous
async def test_requests_of_one_gateway_have_ids_and_places_of_their_own() -> None:
    async with gateway_and_client() as (running, client):
        running.backend.is_silent = True
        for _ in range(3):
            client.send("Heartbeat", 4, **heartbeat())
        client.send("DescribeGroups", 5, groups=["a", "b"])
        asked = running.backend.asked
        await until_true(lambda: len(asked) == 5)
        assert len({request.request_id for request in asked}) == len(asked)
        assert [request.request_seq for request in asked] == sorted({request.request_seq for request in asked})
        assert {request.request_id.partition("-")[0] for request in asked} == {running.backend.gateway_id}


# ---------------------------------------------------------------- a backend that fails


@asynchronous
async def test_a_backend_that_fails_is_a_coordinator_to_be_asked_again() -> None:
    async with gateway_and_client() as (running, client):
        running.backend.fails = BackendError("the disk is full")
        for api in ("JoinGroup", "DescribeGroups"):
            answer = await client.call(api, APIS[api].versions.last, **ASKED[api])
            assert error_in(answer) == "coordinator_not_available"
        running.backend.fails = None
        assert (await client.call("JoinGroup", 9, **join())).error_code.name == "member_id_required"


# ---------------------------------------------------------------- who may do what


Asked = tuple[str, int, dict[str, Any]]
OLDER: dict[str, Asked] = {
    "OffsetFetch v5": ("OffsetFetch", 5, {"group_id": "g", "topics": None}),
    "OffsetFetch v1": ("OffsetFetch", 1, {"group_id": "g", "topics": [{"name": "t1", "partition_indexes": [0]}]}),
    "FindCoordinator v3": ("FindCoordinator", 3, {"key": "g"}),
    "FindCoordinator": ("FindCoordinator", 4, {"coordinator_keys": ["g"]}),
}
ALL: dict[str, Asked] = {api: (api, APIS[api].versions.last, fields) for api, fields in ASKED.items()} | OLDER
READS = {"JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit", "ConsumerGroupHeartbeat"}
DESCRIBES = {"OffsetFetch", "DescribeGroups", "ConsumerGroupDescribe", *OLDER}
DELETES = {"OffsetDelete", "DeleteGroups"}
CONFIGS = {"DescribeConfigs", "AlterConfigs", "IncrementalAlterConfigs"}


@pytest.mark.parametrize(
    ("rule", "allowed"),
    [
        ("allow User:ANONYMOUS literal g READ", READS | DESCRIBES),
        ("allow User:* prefix g DESCRIBE", DESCRIBES),
        ("allow User:ANONYMOUS literal * DELETE", DELETES | DESCRIBES),
        ("allow User:* literal * ALL\ndeny User:ANONYMOUS literal g READ", DESCRIBES | DELETES | CONFIGS),
        ("allow User:ANONYMOUS literal g ALTER_CONFIGS", CONFIGS),
        ("allow User:ANONYMOUS literal g DESCRIBE_CONFIGS", {"DescribeConfigs"}),
        ("allow User:somebody literal g ALL", set()),
        ("allow User:ANONYMOUS literal other ALL", set()),
        ("", set()),
    ],
)
@asynchronous
async def test_each_api_needs_its_operation_and_what_is_not_allowed_is_denied(
    rule: str, allowed: set[str], tmp_path: Path
) -> None:
    rules = tmp_path / "rules"
    rules.write_text(rule + "\n")
    async with gateway({"gateway.rules": str(rules)}) as running:
        client = await running.client()
        found = {name: error_in(await client.call(api, v, **fields)) for name, (api, v, fields) in ALL.items()}
    denied = {name for name, error in found.items() if error == "group_authorization_failed"}
    assert denied == found.keys() - allowed


@asynchronous
async def test_only_groups_that_may_be_described_are_listed_and_one_denied_spoils_no_other(tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.write_text("# ours alone\nallow User:* prefix ours- ALL\n")
    async with gateway_and_client({"gateway.rules": str(rules)}) as (running, client):
        for group in ("ours-1", "theirs"):
            running.backend.submit(a_join("a", group=group, api_version=9))
        listed = await client.call("ListGroups", 5)
        assert [group.group_id for group in listed.groups] == ["ours-1"]
        described = await client.call("DescribeGroups", 5, groups=["theirs", "ours-1"])
        assert [(g.group_id, g.group_state, g.error_code.name) for g in described.groups] == [
            ("theirs", "", "group_authorization_failed"),
            ("ours-1", "Empty", "none"),
        ]


@asynchronous
async def test_a_transaction_coordinator_is_not_a_group_and_needs_no_rule(tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.write_text("")
    async with gateway_and_client({"gateway.rules": str(rules)}) as (_, client):
        answer = await client.call("FindCoordinator", 4, key_type=1, coordinator_keys=["tx"])
        assert answer.coordinators[0].error_code.name == "none"


@asynchronous
async def test_the_operations_a_described_group_names_are_those_the_rules_allow(tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.write_text("allow User:* literal * READ\n")
    for settings, operations in (({}, (3, 6, 8, 10, 11)), ({"gateway.rules": str(rules)}, (3, 8))):
        async with gateway_and_client(settings) as (_, client):
            await client.call("JoinGroup", 9, **join())
            asked = {"groups": ["g"], "include_authorized_operations": True}
            (group,) = (await client.call("DescribeGroups", 5, **asked)).groups
            assert group.authorized_operations == sum(1 << operation for operation in operations)
