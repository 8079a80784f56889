"""The two steps of a dynamic join (KIP-394): an id given out, awaited, and what becomes of it."""

from __future__ import annotations

import pytest

from rollcall.schemas.causes import EndCause
from rollcall.schemas.effects import GroupCreated, PendingMemberRemoved
from rollcall.schemas.errors import Error
from tests.protocol.bench import Bench
from tests.protocol.rules import rule


@rule(
    "Two-step join: the first step creates the group, Empty and of no type",
    origin="testGenerateRecordsOnNewClassicGroup",
)
def test_a_first_step_leaves_an_empty_group() -> None:
    bench = Bench()
    bench.join("m1")
    assert len(bench.of(GroupCreated)) == 1
    described = bench.describe()
    assert (described.group_state, described.protocol_type, described.members) == ("Empty", "", [])


@rule("Two-step join: the very same request once more, at the same time, gets another member's id only if unused")
def test_a_word_for_word_repetition_never_gets_the_id_of_a_member() -> None:
    bench = Bench()
    bench.join("m1", v=3, recorded_member_id="m1-recorded")
    other = bench.join("m1", "", v=9, recorded_member_id="m1-recorded")
    assert other.response.member_id != "m1-recorded"


@rule(
    "Two-step join: the id is dropped when its session timeout has passed, in any state",
    origin="testHeartbeatExpirationShouldRemovePendingMember",
)
@pytest.mark.parametrize("state", ["unknown", "completing", "stable"])
def test_an_id_that_does_not_come_back_is_dropped(state: str) -> None:
    bench = Bench()
    if state != "unknown":
        getattr(bench, state)("m1")
    before = bench.state
    bench.join("m2", session_ms=5_000)
    bench.tick(4_999)
    assert bench.id_of("m2") in bench.group.pending
    bench.tick(5_000)
    assert (bench.group.pending, bench.state) == ({}, before)
    assert bench.last(PendingMemberRemoved).end_cause is EndCause.SESSION_EXPIRED
    assert bench.join("m2").error is Error.UNKNOWN_MEMBER_ID
