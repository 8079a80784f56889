"""The sweep: which offsets are too old, measured from what, and which groups go with them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.coordinator_udfs.state_codec import encode
from rollcall.schemas.effects import GroupRemoved, OffsetsRemoved
from rollcall.schemas.errors import Error
from tests.protocol.bench import Bench
from tests.protocol.rules import rule

T1, T2 = ("t1", 0), ("t2", 0)
MINUTE_MS = 60_000


def bench_with_retention(minutes: int = 10) -> Bench:
    """Offsets live this long; the sweep comes once a minute; members never expire."""
    bench = Bench(offsets_retention_minutes=minutes, offsets_retention_check_interval_ms=MINUTE_MS)
    for client in ("m1", "m2"):
        bench.client(client, session_ms=1_000_000, rebalance_ms=1_000_000)
    return bench


@rule(
    "Offset expiry: the sweep comes at every interval, from the group's beginning", origin="testCleanupExpiredOffsets"
)
def test_the_sweep_comes_again_and_again() -> None:
    bench = bench_with_retention()
    bench.commit()
    assert bench.deadlines() == {"sweep": MINUTE_MS}
    bench.tick(3 * MINUTE_MS)
    assert bench.deadlines() == {"sweep": 4 * MINUTE_MS}


@rule("Offset expiry: a simple group's offsets are measured from their commit", origin="testOffsetExpirationCondition")
def test_simple_offsets_expire_one_by_one() -> None:
    bench = bench_with_retention()
    bench.commit(offsets={T1: 1})
    bench.at(MINUTE_MS)
    bench.commit(offsets={T2: 2})
    bench.tick(10 * MINUTE_MS)
    assert list(bench.group.offsets) == [T2]
    assert bench.last(OffsetsRemoved).why == "expired"
    bench.tick(11 * MINUTE_MS)
    assert (bench.group.is_known, bench.last(GroupRemoved).why) == (False, "expired")


@rule("Offset expiry: a group that had members is measured from when it became Empty")
def test_an_emptied_group_keeps_its_offsets_for_a_whole_retention() -> None:
    bench = bench_with_retention().stable("m1")
    bench.commit("m1")
    bench.at(5 * MINUTE_MS)
    bench.leave("m1")
    bench.tick(14 * MINUTE_MS)
    assert list(bench.group.offsets) == [T1]
    bench.tick(15 * MINUTE_MS)
    assert not bench.group.is_known


@rule("Offset expiry: in a Stable consumer group only topics nobody subscribes to expire, from their commit")
def test_a_stable_group_keeps_what_it_subscribes_to() -> None:
    bench = bench_with_retention().stable("m1")
    bench.commit("m1", offsets={T1: 1, T2: 2})
    bench.tick(20 * MINUTE_MS // 2)
    assert (list(bench.group.offsets), bench.state) == ([T1], GroupState.STABLE)


@rule("Offset expiry: a group keeps everything that rebalances, is of another type, or whose subscription is unknown")
@pytest.mark.parametrize(
    ("state", "habits"),
    [
        ("preparing", {}),
        ("completing", {}),
        ("stable", {"protocol_type": "connect"}),
        ("stable", {"protocols": {"range": b""}}),
    ],
)
def test_what_a_living_group_keeps(state: str, habits: dict[str, Any]) -> None:
    bench = bench_with_retention()
    bench.commit(offsets={T2: 2})
    for client in ("m1", "m2"):
        bench.client(client, **habits)
    getattr(bench, state)("m1", "m2")
    bench.tick(12 * MINUTE_MS)
    assert list(bench.group.offsets) == [T2]


@rule("Offset expiry: a retention named by the commit itself counts instead")
def test_a_commits_own_retention_counts() -> None:
    bench = bench_with_retention()
    bench.commit(v=4, offsets={T1: 1}, retention_ms=90_000)
    bench.commit(v=4, offsets={T2: 1}, retention_ms=100 * MINUTE_MS)
    bench.tick(MINUTE_MS)
    assert set(bench.group.offsets) == {T1, T2}
    bench.tick(20 * MINUTE_MS)
    assert list(bench.group.offsets) == [T2]


@rule(
    "Offset expiry: an Empty group without offsets goes at the next sweep, ids given out and all",
    origin="testCleanupExpiredOffsetsEmptyOffsets",
)
def test_an_empty_group_without_offsets_is_forgotten() -> None:
    bench = bench_with_retention()
    bench.join("m1")
    bench.tick(MINUTE_MS)
    assert not bench.group.is_known
    assert bench.join("m1").error is Error.UNKNOWN_MEMBER_ID


@rule("Offset expiry: a group that is gone is swept no more", origin="testCleanupExpiredOffsetsGroupDoesNotExist")
def test_a_group_that_is_gone_is_not_swept() -> None:
    bench = bench_with_retention()
    bench.commit()
    bench.delete_group()
    so_far = len(bench.effects)
    bench.tick(20 * MINUTE_MS)
    assert (len(bench.effects), bench.deadlines()) == (so_far, {})


@rule("Offset expiry: a group with members never goes")
def test_a_group_with_members_stays() -> None:
    bench = bench_with_retention().stable("m1")
    bench.tick(10 * MINUTE_MS)
    assert bench.members == ["m1"]


@rule("Offset expiry: minutes are counted in more than 32 bits", origin="testOffsetsRetentionMsIntegerOverflow")
def test_a_long_retention_does_not_overflow() -> None:
    assert GroupConfig(offsets_retention_minutes=2_147_483_647).offsets_retention_ms == 128_849_018_820_000


@rule("Offset expiry: time that passes costs by what is due in it; sweeps that find nothing to remove are passed")
@settings(max_examples=60, deadline=None)
@given(
    retention_minutes=st.integers(1, 30),
    commits=st.lists(st.tuples(st.integers(0, 20), st.sampled_from(["m1", "admin"]), st.sampled_from([T1, T2]))),
    leave_minute=st.none() | st.integers(0, 20),
    until_minute=st.integers(0, 90),
)
def test_passing_the_sweeps_that_remove_nothing_is_as_if_each_had_fired(
    retention_minutes: int,
    commits: list[tuple[int, str, tuple[str, int]]],
    leave_minute: int | None,
    until_minute: int,
) -> None:
    at_once, one_by_one = (bench_with_retention(retention_minutes).stable("m1") for _ in range(2))
    for minute in range(max(until_minute, 20) + 1):
        one_by_one.at(minute * MINUTE_MS)
        acts = [(client, topic) for at_minute, client, topic in commits if at_minute == minute]
        for bench in (at_once, one_by_one) if acts or minute == leave_minute else ():
            bench.at(minute * MINUTE_MS)
            for client, topic in acts:
                bench.commit(client, offsets={topic: 1})
            if minute == leave_minute:
                bench.leave("m1")
    for bench in (at_once, one_by_one):
        bench.tick(max(until_minute, 20) * MINUTE_MS)
    assert encode(at_once.group) == encode(one_by_one.group)
    assert at_once.effects == one_by_one.effects
