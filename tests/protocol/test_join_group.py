"""JoinGroup: the ids it gives out, what a recording knows better, and what it drops."""

from __future__ import annotations

import pytest

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.coordinator_udfs.protocol.step import expire_due, step
from rollcall.schemas.effects import MemberIdGiven
from rollcall.schemas.errors import Error
from tests import requests
from tests.protocol.bench import Bench
from tests.protocol.rules import rule


@rule("JoinGroup: an empty protocol name is null from v7")
@pytest.mark.parametrize(("v", "name"), [(6, ""), (7, None)])
def test_a_protocol_without_a_name_may_be_chosen(v: int, name: str | None) -> None:
    assert Bench().enter("m1", v=v, protocols=[""]).response.protocol_name == name


@rule("JoinGroup: a recording's own id is handed out instead")
def test_a_replay_hands_out_the_recorded_id() -> None:
    bench = Bench()
    assert bench.join("m1", recorded_member_id="m1-recorded").response.member_id == "m1-recorded"


@rule("JoinGroup: the first step is answered MEMBER_ID_REQUIRED from v4, without leaving the state")
@pytest.mark.parametrize("v", [4, 5, 9])
def test_a_dynamic_client_is_given_its_id_first(v: int) -> None:
    bench = Bench()
    answer = bench.join("m1", v=v, session_ms=7_000)
    assert (answer.error, answer.response.member_id) == (Error.MEMBER_ID_REQUIRED, bench.id_of("m1"))
    assert (bench.state, bench.members, bench.deadlines()["m1"]) == (GroupState.EMPTY, [], 7_000)
    assert bench.last(MemberIdGiven).client_id == "m1"


@rule("JoinGroup: a protocol named twice counts once, with its first bytes (Kafka's group hangs; not copied)")
def test_a_protocol_named_twice_counts_once() -> None:
    protocols = [("default", b"first"), ("default", b"second")]
    request = requests.join("m1", group="g", protocol_type="connect", protocols=protocols)
    group, config = Group("g"), GroupConfig(group_initial_rebalance_delay_ms=0)
    step(group, request, 0, config)
    expire_due(group, 0, config)
    assert [member.protocols for member in group.members.values()] == [{"default": b"first"}]
    assert (group.state, group.protocol_name) == (GroupState.COMPLETING_REBALANCE, "default")
