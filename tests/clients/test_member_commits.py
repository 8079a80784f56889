"""Commits: what auto-commit commits and when, how often a commit is tried, and what fails without a request."""

from __future__ import annotations

from typing import Any

import pytest

from rollcall.answers.clients.events import (
    CommitFailed,
    CommitFailure,
    CommitKind,
    Event,
    OffsetsCommitted,
    PartitionsLost,
    PartitionsRevoked,
)
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import FindCoordinatorRequest, JoinGroupRequest, OffsetCommitRequest
from tests.clients.member_bench import Bench, partitions

RANGE: dict[str, Any] = {"partition_assignment_strategy": ("range",)}
MANUAL: dict[str, Any] = {**RANGE, "enable_auto_commit": False}


def committing(text: str = "t0 t1", offset: int = 42, **settings: Any) -> Bench:
    """A stable member whose application has consumed up to an offset everywhere."""
    bench = Bench(**{**RANGE, **settings}).stable(text)
    bench.member.advance(dict.fromkeys(partitions(text), offset))
    return bench


def offsets(request: OffsetCommitRequest) -> dict[str, int]:
    return {
        f"{topic.name}{each.partition_index}": each.committed_offset
        for topic in request.topics
        for each in topic.partitions
    }


def done(commit_id: int, kind: CommitKind, text: str, offset: int = 42) -> OffsetsCommitted:
    return OffsetsCommitted(commit_id, kind, dict.fromkeys(partitions(text), offset))


# ---------------------------------------------------------------- the application's


def test_a_commit_carries_the_offsets_and_the_generation() -> None:
    bench = Bench(**MANUAL).stable("t0 u1")
    bench.commit("u1 t0")
    request = bench.last(OffsetCommitRequest)
    assert (request.generation_id_or_member_epoch, request.member_id) == (1, "app-1")
    assert offsets(request) == {"t0": 7, "u1": 7}
    assert bench.committed() == [done(1, CommitKind.BEFORE_JOIN, "t0 u1", 7)]


def test_a_commit_that_the_application_waits_for_is_tried_again() -> None:
    bench = Bench(**MANUAL).stable("t0")
    bench.commit("t0", is_at_close=True)
    sent_at = []
    for _ in range(3):
        assert bench.committed(Error.UNKNOWN_TOPIC_OR_PARTITION) == []
        due_ms = bench.member.next_deadline_ms()
        assert due_ms is not None
        bench.at(due_ms).expire()
        sent_at.append(bench.now_ms)
    assert sent_at == [100, 300, 700]
    assert bench.committed() == [done(1, CommitKind.AT_CLOSE, "t0", 7)]


def test_a_commit_that_the_application_waits_for_is_given_up_in_the_end() -> None:
    bench = Bench(**MANUAL).stable("t0")
    bench.commit("t0", is_at_close=True, timeout_ms=2000)
    bench.committed(Error.UNKNOWN_TOPIC_OR_PARTITION)
    assert bench.at(100).expire() == []
    (event,) = bench.at(2000).expire()
    assert isinstance(event, CommitFailed)
    assert (event.failure, event.error) == (CommitFailure.TIMED_OUT, None)


@pytest.mark.parametrize("error", [Error.NONE, Error.UNKNOWN_TOPIC_OR_PARTITION])
def test_the_answer_to_a_commit_that_was_given_up_comes_too_late(error: Error) -> None:
    bench = Bench(**MANUAL).stable("t0")
    bench.commit("t0", is_at_close=True, timeout_ms=2000)
    assert len(bench.at(2000).expire()) == 1
    assert bench.committed(error) == []


def test_a_commit_outside_a_generation_fails_without_a_request() -> None:
    bench = Bench(**MANUAL).stable("t0")
    bench.at(3000).expire()
    bench.beaten(Error.ILLEGAL_GENERATION)
    bench.take()
    (event,) = bench.commit("t0")
    assert isinstance(event, CommitFailed)
    assert (event.failure, event.error, bench.take()) == (CommitFailure.COMMIT_FAILED, None, [])


@pytest.mark.parametrize("is_completing", [True, False])
def test_a_commit_in_the_middle_of_a_rebalance_fails_without_a_request(is_completing: bool) -> None:
    bench = Bench(**MANUAL)
    bench.completing() if is_completing else bench.preparing()
    bench.take()
    (event,) = bench.commit("t0")
    assert isinstance(event, CommitFailed)
    assert (event.failure, bench.take()) == (CommitFailure.REBALANCE_IN_PROGRESS, [])


@pytest.mark.parametrize("is_at_close", [True, False])
def test_a_commit_waits_until_the_coordinator_is_found(is_at_close: bool) -> None:
    bench = Bench(**MANUAL).stable("t0")
    bench.disconnect()
    assert bench.commit("t0", is_at_close=is_at_close) == []
    assert isinstance(bench.sent, FindCoordinatorRequest)
    bench.found()
    assert isinstance(bench.sent, OffsetCommitRequest)


def test_without_a_coordinator_a_commit_that_is_waited_for_goes_on_waiting_and_any_other_fails() -> None:
    bench = Bench(**MANUAL).stable("t0")
    bench.disconnect()
    bench.commit("t0")
    bench.commit("t0", is_at_close=True)
    (event,) = bench.not_found(Error.COORDINATOR_NOT_AVAILABLE)
    assert isinstance(event, CommitFailed)
    assert (event.commit_id, event.failure) == (1, CommitFailure.RETRIABLE)
    bench.at(100).expire()
    bench.found()
    assert isinstance(bench.sent, OffsetCommitRequest)
    assert bench.committed() == [done(2, CommitKind.AT_CLOSE, "t0", 7)]


def test_a_commit_whose_connection_breaks_fails_unless_it_is_waited_for() -> None:
    bench = Bench(**MANUAL).stable("t0")
    bench.commit("t0")
    bench.commit("t0", is_at_close=True)
    events = bench.disconnect()[1:]
    assert [type(each) for each in events] == [CommitFailed]
    bench.at(100).expire()
    assert bench.found()
    assert isinstance(bench.sent, OffsetCommitRequest)


# ---------------------------------------------------------------- every interval


def test_auto_commit_commits_the_positions_once_an_interval_and_only_in_a_poll() -> None:
    bench = committing(auto_commit_interval_ms=5000)
    assert bench.member.next_poll_ms() == 5000
    bench.take()
    bench.at(4999).poll()
    bench.at(7000).expire()
    assert [type(each) for each in bench.take() if isinstance(each, OffsetCommitRequest)] == []
    bench.poll()
    request = bench.last(OffsetCommitRequest)
    assert offsets(request) == {"t0": 42, "t1": 42}
    assert bench.committed() == [done(1, CommitKind.INTERVAL, "t0 t1")]
    assert bench.member.next_poll_ms() == 12_000


def test_an_auto_commit_that_failed_for_a_while_is_tried_again_after_a_backoff() -> None:
    bench = committing()
    bench.at(5000).poll()
    (event,) = bench.committed(Error.UNKNOWN_TOPIC_OR_PARTITION)
    assert isinstance(event, CommitFailed)
    assert bench.member.next_poll_ms() == 5100
    bench.at(5100).poll()
    assert isinstance(bench.sent, OffsetCommitRequest)


def test_an_auto_commit_that_failed_for_good_waits_for_the_next_interval() -> None:
    bench = committing()
    bench.at(5000).poll()
    bench.committed(Error.OFFSET_METADATA_TOO_LARGE)
    assert bench.member.next_poll_ms() == 10_000


def test_auto_commit_starts_its_interval_anew_after_a_rebalance() -> None:
    bench = committing()
    bench.at(4000).member.membership.request_rejoin("rebalance wanted")
    bench.poll()
    bench.committed()
    bench.poll()
    bench.joined(2)
    bench.synced("t0")
    bench.at(4500).poll()
    assert bench.member.next_poll_ms() == 9500


def test_nothing_is_committed_where_auto_commit_is_off() -> None:
    bench = committing(enable_auto_commit=False)
    bench.take()
    bench.at(60_000).poll()
    assert bench.take() == []
    assert bench.member.next_poll_ms() is None


def test_partitions_without_a_position_are_not_committed() -> None:
    bench = Bench(**RANGE).stable("t0 t1")
    bench.member.advance(dict.fromkeys(partitions("t1 u0"), 3))
    bench.at(5000).poll()
    assert offsets(bench.last(OffsetCommitRequest)) == {"t1": 3}


def test_a_position_is_forgotten_with_its_partition() -> None:
    bench = committing("t0 t1", partition_assignment_strategy=("cooperative-sticky",))
    bench.member.membership.request_rejoin("rebalance wanted")
    bench.poll()
    bench.committed()
    bench.poll()
    bench.joined(2)
    bench.synced("t0")
    bench.poll()
    assert offsets(bench.last(OffsetCommitRequest)) == {"t0": 42}
    bench.joined(3)
    bench.committed()
    bench.synced("t0 t1")
    bench.poll()
    bench.at(6000).poll()
    assert offsets(bench.last(OffsetCommitRequest)) == {"t0": 42}


# ---------------------------------------------------------------- before a join


def rebalancing(**settings: Any) -> Bench:
    bench = committing("t0", **settings)
    bench.member.membership.request_rejoin("rebalance wanted")
    return bench


def test_before_it_joins_a_member_commits_and_waits_for_the_answer() -> None:
    bench = rebalancing()
    assert bench.poll() == []
    commit = bench.last(OffsetCommitRequest)
    assert offsets(commit) == {"t0": 42}
    assert bench.poll() == []
    assert bench.sent is commit
    assert bench.committed() == [done(1, CommitKind.BEFORE_JOIN, "t0")]
    assert bench.poll() == [PartitionsRevoked(partitions("t0"))]
    assert isinstance(bench.sent, JoinGroupRequest)


def test_a_commit_before_a_join_is_tried_again_for_as_long_as_the_group_waits() -> None:
    bench = rebalancing(max_poll_interval_ms=10_000)
    tried_at: list[int] = []
    events: list[Event] = []
    while not isinstance(bench.sent, JoinGroupRequest) or bench.sent.reason != "rebalance wanted":
        events = bench.poll()
        if isinstance(bench.sent, OffsetCommitRequest) and bench.sent.request_id in bench.member.membership.in_flight:
            tried_at.append(bench.now_ms)
            bench.committed(Error.UNKNOWN_TOPIC_OR_PARTITION)
        bench.at(bench.now_ms + 50)
    assert tried_at[:3] == [0, 150, 300]
    assert 9800 <= tried_at[-1] <= 10_000
    assert events == [PartitionsRevoked(partitions("t0"))]


@pytest.mark.parametrize("error", [Error.OFFSET_METADATA_TOO_LARGE, Error.REBALANCE_IN_PROGRESS])
def test_a_commit_before_a_join_that_fails_for_good_does_not_hold_the_join_up(error: Error) -> None:
    bench = rebalancing()
    bench.poll()
    bench.committed(error)
    assert bench.poll() == [PartitionsRevoked(partitions("t0"))]
    assert isinstance(bench.sent, JoinGroupRequest)


def test_a_member_that_is_out_of_its_generation_cannot_commit_and_joins_at_once() -> None:
    bench = committing("t0")
    bench.at(3000).expire()
    bench.beaten(Error.UNKNOWN_MEMBER_ID)
    failed, lost = bench.poll()
    assert isinstance(failed, CommitFailed)
    assert failed.failure is CommitFailure.COMMIT_FAILED
    assert lost == PartitionsLost(partitions("t0"))
    assert isinstance(bench.sent, JoinGroupRequest)
