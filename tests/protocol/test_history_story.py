"""What a group reports of its members and assignments, and the story of a rebalance from its start to its end."""

from __future__ import annotations

import pytest

from rollcall.schemas.causes import EndCause
from rollcall.schemas.consumer_protocol import TopicPartition
from rollcall.schemas.effects import (
    Assigned,
    JoinPhaseEnded,
    JoinReceived,
    MemberJoined,
    MemberRemoved,
    MemberUpdated,
    RebalanceEnded,
    RebalanceStarted,
    Reply,
    RequestParked,
    StateChanged,
    SyncReceived,
    TopicPartitions,
)
from tests.protocol.bench import Bench
from tests.protocol.rules import rule
from tests.requests import assignment, subscription

T1_0, T1_1 = TopicPartition("t1", 0), TopicPartition("t1", 1)


@rule("History: the story of a rebalance in order, replies among it")
def test_the_story_of_a_rebalance() -> None:
    bench = Bench().patient("m1", "m2")
    so_far = len(bench.effects)
    bench.join("m1")
    bench.join("m2")
    bench.sync("m2")
    bench.sync("m1", plan=["m1", "m2"])
    reported = [type(effect) for effect in bench.effects[so_far:]]
    expected = [
        *(RequestParked, RebalanceStarted, StateChanged, JoinReceived),
        *(RequestParked, JoinReceived, StateChanged, JoinPhaseEnded, Reply, Reply),
        *(SyncReceived, RequestParked),
        *(SyncReceived, RequestParked, Reply, Reply, StateChanged, Assigned, Assigned, RebalanceEnded),
    ]
    assert [kind for kind in reported if kind in expected] == expected


@rule("History: a member's beginning, change and end are reported")
def test_the_life_of_a_member() -> None:
    bench = Bench().patient("m1")
    bench.at(1_000)
    bench.enter("m2", session_ms=8_000, rebalance_ms=9_000)
    joined = bench.last(MemberJoined)
    assert (joined.at_ms, joined.client_id, joined.session_timeout_ms, joined.topics) == (1_000, "m2", 8_000, ["t1"])
    bench.join("m2", session_ms=7_000, protocols={"range": subscription("t2", "t1")})
    updated = bench.last(MemberUpdated)
    assert (updated.session_timeout_ms, updated.topics) == (7_000, ["t1", "t2"])
    bench.at(2_000)
    bench.leave("m2")
    removed = bench.last(MemberRemoved)
    assert (removed.at_ms, removed.end_cause, removed.generation_id) == (2_000, EndCause.MEMBER_LEFT, 1)


@rule("History: an assignment is reported by its partitions if its bytes can be read")
@pytest.mark.parametrize(
    ("assignment", "partitions"),
    [
        (assignment([T1_1, T1_0]), [TopicPartitions(topic="t1", partitions=[0, 1])]),
        (assignment([]), []),
        (b"", []),
        (b"\x00", None),
    ],
)
def test_what_a_member_owns_is_reported(assignment: bytes, partitions: list[TopicPartitions] | None) -> None:
    bench = Bench().completing("m1")
    bench.sync("m1", plan={"m1": assignment})
    reported = bench.last(Assigned)
    assert (reported.partitions, reported.assignment, reported.generation_id) == (partitions, assignment, 1)


@rule("History: a request refused for the size, or dropped at the timeout, ends a membership with that cause")
def test_the_ends_that_start_no_rebalance() -> None:
    bench = Bench().patient("m1", "m2", rebalance_ms=3_000)
    bench.join("m1")
    bench.tick(3_000)
    assert bench.last(MemberRemoved).end_cause is EndCause.REBALANCE_TIMEOUT
    bench.set(group_max_size=1)
    bench.enter("m3")
    assert [removed.end_cause for removed in bench.of(MemberRemoved)] == [EndCause.REBALANCE_TIMEOUT]


@rule("History: a rebalance completed is counted once", origin="testClassicGroupCompletedRebalanceSensor")
def test_one_completed_rebalance_a_generation() -> None:
    bench = Bench().patient("m1", "m2")
    completed = [ended for ended in bench.of(RebalanceEnded) if ended.outcome == "completed"]
    assert len(completed) == 1
    bench.sync("m1", plan=["m1"])
    assert len([ended for ended in bench.of(RebalanceEnded) if ended.outcome == "completed"]) == 1
