"""group.max.size (KIP-389): what a refusal removes."""

from __future__ import annotations

from rollcall.schemas.causes import EndCause
from rollcall.schemas.effects import MemberRemoved, PendingMemberRemoved
from rollcall.schemas.errors import Error
from tests.protocol.bench import Bench
from tests.protocol.rules import rule


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
