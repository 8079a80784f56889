"""LeaveGroup: what it drops, the rebalance it sets off, and who is answered first."""

from __future__ import annotations

import pytest

from rollcall.coordinator_udfs.protocol.states import GroupState
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


@rule("LeaveGroup: the one who leaves is answered before anybody else")
def test_the_leaver_is_answered_first() -> None:
    bench = Bench().completing("m1", "m2", "m3")
    bench.sync("m2")
    bench.leave("m3")
    assert [(client, error) for _, client, error in bench.replies()[-2:]] == [
        ("m3", Error.NONE),
        ("m2", Error.REBALANCE_IN_PROGRESS),
    ]
