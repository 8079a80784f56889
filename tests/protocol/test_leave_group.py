"""LeaveGroup: what it drops, the rebalance it sets off, and who is answered first."""

from __future__ import annotations

import pytest

from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.schemas.effects import RebalanceStarted
from rollcall.schemas.errors import Error
from tests.protocol.bench import Bench
from tests.protocol.rules import rule


@rule("LeaveGroup: the last member's leaves the group Empty, one generation on", origin="testValidLeaveGroup")
@pytest.mark.parametrize("v", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("state", ["completing", "stable"])
def test_the_last_member_leaves_an_empty_group(v: int, state: str) -> None:
    bench = getattr(Bench(), state)("m1")
    assert bench.leave("m1", v=v).error is Error.NONE
    assert (bench.state, bench.generation, bench.members, bench.leader) == (GroupState.EMPTY, 2, [], None)
    assert bench.group.protocol_type == "consumer"
    assert bench.group.protocol_name is None


@rule("LeaveGroup: a batch of instance ids", origin="testStaticMembersValidBatchLeaveGroup")
def test_an_administrator_removes_several_with_one_rebalance() -> None:
    bench = Bench()
    for number in (2, 3):
        bench.client(f"m{number}", instance_id=f"i{number}")
    bench.stable("m1", "m2", "m3")
    rebalances = len(bench.of(RebalanceStarted))
    assert bench.leave(("", "i2"), ("", "i3")).member_errors == [Error.NONE, Error.NONE]
    assert (bench.members, len(bench.of(RebalanceStarted))) == (["m1"], rebalances + 1)


@rule("LeaveGroup: in PreparingRebalance it starts no second rebalance")
def test_a_leave_in_preparing_goes_on_waiting_for_the_others() -> None:
    bench = Bench().preparing("m1", "m2", "m3")
    started = bench.of(RebalanceStarted)
    bench.leave("m2")
    assert (bench.of(RebalanceStarted), bench.state) == (started, GroupState.PREPARING_REBALANCE)


@rule("LeaveGroup: the one who leaves is answered before anybody else")
def test_the_leaver_is_answered_first() -> None:
    bench = Bench().completing("m1", "m2", "m3")
    bench.sync("m2")
    bench.leave("m3")
    assert [(client, error) for _, client, error in bench.replies()[-2:]] == [
        ("m3", Error.NONE),
        ("m2", Error.REBALANCE_IN_PROGRESS),
    ]
