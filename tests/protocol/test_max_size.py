"""group.max.size (KIP-389): who counts in which state, and what a refusal removes."""

from __future__ import annotations

import pytest

from coordinator_udfs.protocol.states import GroupState
from schemas.causes import EndCause
from schemas.effects import MemberRemoved, PendingMemberRemoved
from schemas.errors import Error
from tests.protocol.bench import Bench
from tests.protocol.rules import rule


@rule(
    "Group size: a newcomer above the limit is GROUP_MAX_SIZE_REACHED, at either version",
    origin="testJoinGroupShouldReceiveErrorIfGroupOverMaxSize testConcurrentJoinGroupEnforceGroupMaxSize",
)
@pytest.mark.parametrize("state", ["completing", "stable"])
@pytest.mark.parametrize("v", [3, 9])
def test_a_full_group_takes_nobody(state: str, v: int) -> None:
    bench = getattr(Bench(group_max_size=2), state)("m1", "m2")
    refused = bench.join("m3", v=v)
    assert (refused.error, refused.response.member_id) == (Error.GROUP_MAX_SIZE_REACHED, "")
    assert (bench.members, bench.group.pending) == (["m1", "m2"], {})


@rule(
    "Group size: while members are awaited those that wait count, and ids are free",
    origin="testDynamicMembersJoinGroupWithMaxSizeAndRequiredKnownMember",
)
def test_ids_are_given_out_beyond_the_limit_and_the_second_step_is_refused() -> None:
    bench = Bench(group_max_size=2, group_initial_rebalance_delay_ms=3_000)
    for client in ("m1", "m2", "m3"):
        assert bench.join(client).error is Error.MEMBER_ID_REQUIRED
    assert [bench.join(client).is_parked for client in ("m1", "m2")] == [True, True]
    refused = bench.join("m3")
    assert (refused.error, refused.response.member_id) == (Error.GROUP_MAX_SIZE_REACHED, "")
    assert bench.last(PendingMemberRemoved).end_cause is EndCause.GROUP_MAX_SIZE_REACHED
    assert bench.join("m4").error is Error.GROUP_MAX_SIZE_REACHED


@rule(
    "Group size: the same with one step",
    origin="testDynamicMembersJoinGroupWithMaxSizeAndNotRequiredKnownMember",
)
def test_old_clients_fill_the_group_up_to_the_limit() -> None:
    bench = Bench(group_max_size=2, group_initial_rebalance_delay_ms=3_000)
    assert [bench.join(client, v=3).is_parked for client in ("m1", "m2", "m3")] == [True, True, False]


@rule("Group size: static newcomers too", origin="testStaticMembersJoinGroupWithMaxSize")
def test_static_newcomers_fill_the_group_up_to_the_limit() -> None:
    bench = Bench(group_max_size=2, group_initial_rebalance_delay_ms=3_000)
    sent = [bench.join(f"m{number}", instance_id=f"i{number}") for number in (1, 2, 3)]
    assert [call.is_parked for call in sent] == [True, True, False]
    assert sent[2].error is Error.GROUP_MAX_SIZE_REACHED


@rule("Group size: a static member that returns without its id is a newcomer to the limit")
@pytest.mark.parametrize(("max_size", "error"), [(2, Error.GROUP_MAX_SIZE_REACHED), (3, Error.NONE)])
def test_a_full_group_refuses_its_own_restarted_static_member(max_size: int, error: Error) -> None:
    bench = Bench(group_max_size=max_size)
    bench.client("m2", instance_id="i2")
    bench.stable("m1", "m2")
    assert bench.join("m2b", instance_id="i2").error is error


@rule(
    "Group size: a member that waits already may send its JoinGroup again",
    origin="testDynamicMembersCanRejoinGroupWithMaxSizeWhileRebalancing",
)
def test_who_waits_already_is_taken_again_at_the_limit() -> None:
    bench = Bench(group_max_size=2, group_initial_rebalance_delay_ms=3_000)
    for client in ("m1", "m2"):
        bench.enter(client)
    assert [bench.join(client).is_parked for client in ("m1", "m2")] == [True, True]


@rule("Group size: a known member of a full group may rejoin when the group does not rebalance")
def test_a_member_of_a_full_group_starts_the_rebalance() -> None:
    bench = Bench(group_max_size=2).stable("m1", "m2")
    assert bench.join("m2", protocols=["range", "sticky"]).is_parked


@rule(
    "Group size: in a rebalance the last to rejoin beyond the limit is refused and removed",
    origin="testLastJoiningMembersAreKickedOutWhenRejoiningGroupWithMaxSize",
)
def test_who_rejoins_last_loses_its_place() -> None:
    bench = Bench(group_max_size=10)
    bench.stable("m1", "m2", "m3")
    bench.set(group_max_size=2)
    first, second, last = bench.join("m1"), bench.join("m2"), bench.join("m3")
    assert (last.error, last.response.member_id) == (Error.GROUP_MAX_SIZE_REACHED, "")
    assert bench.last(MemberRemoved).end_cause is EndCause.GROUP_MAX_SIZE_REACHED
    assert (first.is_parked, second.is_parked, bench.members) == (True, True, ["m1", "m2"])


@rule("Group size: the refusal does not end the join phase, though nobody is left to wait for")
def test_the_join_phase_runs_to_its_timer_after_a_refusal() -> None:
    bench = Bench(group_max_size=2)
    for client in ("m1", "m2"):
        bench.client(client, rebalance_ms=5_000)
    bench.stable("m1", "m2")
    bench.join("m1")
    newcomer = bench.enter("m3", v=3)
    assert bench.join("m2").error is Error.GROUP_MAX_SIZE_REACHED
    assert (newcomer.is_parked, bench.state) == (True, GroupState.PREPARING_REBALANCE)
    bench.tick(5_000)
    assert (newcomer.answered_at_ms, bench.members) == (5_000, ["m1", "m3"])


@rule("Group size: checked after the session timeout and before type and protocols")
def test_the_size_is_checked_before_the_protocols() -> None:
    bench = Bench(group_max_size=1, group_min_session_timeout_ms=6_000).stable("m1")
    assert bench.join("m2", protocol_type="connect").error is Error.GROUP_MAX_SIZE_REACHED
    assert bench.join("m2", session_ms=1).error is Error.INVALID_SESSION_TIMEOUT
    assert bench.join("m2", "some-id").error is Error.GROUP_MAX_SIZE_REACHED


@rule("Group size: an Empty group takes anybody")
def test_an_emptied_group_takes_a_member_again() -> None:
    bench = Bench(group_max_size=1).empty()
    assert bench.enter("m2").error is Error.NONE
