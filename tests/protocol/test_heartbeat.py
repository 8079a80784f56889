"""Heartbeat: its checks in order, its answer in each state, and the session it keeps alive."""

from __future__ import annotations

import pytest

from coordinator_udfs.protocol.states import GroupState
from schemas.errors import Error
from tests.protocol.bench import Bench
from tests.protocol.rules import rule


@rule("Heartbeat: an empty group id is INVALID_GROUP_ID", origin="testInvalidGroupId")
def test_an_empty_group_id_is_refused() -> None:
    assert Bench("").heartbeat("m1", 1).error is Error.INVALID_GROUP_ID


@rule("Heartbeat: an unknown group is UNKNOWN_MEMBER_ID", origin="testHeartbeatUnknownGroup")
def test_an_unknown_group_knows_no_member_and_is_not_created() -> None:
    bench = Bench()
    assert bench.heartbeat("m1", 0).error is Error.UNKNOWN_MEMBER_ID
    assert not bench.group.is_known


@rule("Heartbeat: Empty is UNKNOWN_MEMBER_ID, whatever the generation", origin="testHeartbeatEmptyGroup")
@pytest.mark.parametrize("generation", [0, 2, 99])
def test_an_empty_group_has_no_members_to_beat(generation: int) -> None:
    bench = Bench().empty()
    assert bench.heartbeat("gone", generation).error is Error.UNKNOWN_MEMBER_ID


@rule("Heartbeat: Dead is COORDINATOR_NOT_AVAILABLE", origin="testHeartbeatDeadGroup")
def test_a_dead_group_sends_its_members_to_look_for_the_coordinator() -> None:
    bench = Bench().stable("m1").unload()
    assert bench.heartbeat("m1").error is Error.COORDINATOR_NOT_AVAILABLE


@rule("Heartbeat: an unknown member is UNKNOWN_MEMBER_ID", origin="testHeartbeatUnknownMemberExistingGroup")
@rule("Heartbeat: a fenced instance id", origin="testStaticMemberHeartbeatLeaderWithInvalidMemberId")
@rule("Heartbeat: the instance id is checked before the member id, both before the generation")
@pytest.mark.parametrize(
    ("member_id", "instance_id", "generation", "error"),
    [
        ("m2", "nobody", 99, Error.UNKNOWN_MEMBER_ID),
        ("m1", "i2", 99, Error.FENCED_INSTANCE_ID),
        ("stranger", "i2", 99, Error.FENCED_INSTANCE_ID),
        ("stranger", None, 99, Error.UNKNOWN_MEMBER_ID),
        ("m2", "i2", 99, Error.ILLEGAL_GENERATION),
        ("m2", None, 2, Error.NONE),
        ("m2", "i2", 2, Error.NONE),
    ],
)
def test_the_checks_come_in_kafkas_order(
    member_id: str, instance_id: str | None, generation: int, error: Error
) -> None:
    bench = Bench().static("m2").stable("m1", "m2")
    sent = bench.heartbeat("anyone", generation, member_id=bench.id_of(member_id), instance_id=instance_id)
    assert sent.error is error


@rule("Heartbeat: another generation is ILLEGAL_GENERATION", origin="testHeartbeatIllegalGeneration")
@pytest.mark.parametrize("generation", [-1, 0, 1, 3])
def test_another_generation_is_refused_and_keeps_nobody_alive(generation: int) -> None:
    bench = Bench().stable("m1", "m2")
    bench.at(4_000)
    assert bench.heartbeat("m1", generation).error is Error.ILLEGAL_GENERATION
    assert bench.deadlines()["m1"] == 10_000


@rule(
    "Heartbeat: REBALANCE_IN_PROGRESS in PreparingRebalance, and the session is renewed",
    origin="testHeartbeatDuringPreparingRebalance testHeartbeatDuringRebalanceCausesRebalanceInProgress",
)
def test_a_member_is_asked_to_rejoin_and_kept_alive_all_the_same() -> None:
    bench = Bench().preparing("m1", "m2")
    bench.at(4_000)
    assert bench.heartbeat("m2").error is Error.REBALANCE_IN_PROGRESS
    assert bench.deadlines()["m2"] == 14_000


@rule(
    "Heartbeat: NONE in CompletingRebalance, and the session is renewed",
    origin="testHeartbeatDuringCompletingRebalance",
)
def test_while_the_leader_is_awaited_a_heartbeat_is_fine() -> None:
    bench = Bench().completing("m1", "m2")
    bench.at(4_000)
    assert bench.heartbeat("m2").error is Error.NONE
    assert bench.deadlines()["m2"] == 14_000
    assert bench.state is GroupState.COMPLETING_REBALANCE


@rule("Heartbeat: NONE in Stable, and the session is renewed", origin="testValidHeartbeat")
def test_a_stable_member_beats() -> None:
    bench = Bench().stable("m1")
    bench.at(4_000)
    assert bench.heartbeat("m1").error is Error.NONE
    assert bench.deadlines()["m1"] == 14_000


@rule("Heartbeat: beats keep a session for ever", origin="testClassicGroupMemberHeartbeatMaintainsSession")
def test_a_member_that_beats_in_time_stays() -> None:
    bench = Bench().stable("m1")
    for now_ms in range(9_000, 100_000, 9_000):
        bench.at(now_ms)
        assert bench.heartbeat("m1").error is Error.NONE
    assert bench.members == ["m1"]


@rule("Heartbeat: an id given out but not joined is UNKNOWN_MEMBER_ID")
def test_an_id_given_out_is_no_member_yet() -> None:
    bench = Bench().stable("m1")
    bench.join("m2", "")
    assert bench.heartbeat("m2").error is Error.UNKNOWN_MEMBER_ID
    assert bench.deadlines()["m2"] == 10_000


@rule("Heartbeat: one of a newcomer whose first JoinGroup waits puts its session timeout in place of the five minutes")
def test_a_heartbeat_of_a_waiting_newcomer_shortens_its_life() -> None:
    bench = Bench().stable("m1")
    waiting = bench.enter("m2")
    assert bench.deadlines()["m2"] == 300_000
    bench.at(1_000)
    assert bench.heartbeat("m2", 1).error is Error.REBALANCE_IN_PROGRESS
    assert bench.deadlines()["m2"] == 11_000
    bench.at(1_500)
    bench.heartbeat("m1")
    bench.tick(11_000)
    assert waiting.error is Error.UNKNOWN_MEMBER_ID
    assert bench.members == ["m1"]
