"""Every error of OffsetCommit: how the commit fails, and what becomes of the membership."""

from __future__ import annotations

import pytest

from rollcall.answers.clients.events import CommitFailed, CommitFailure, CommitKind, FatalError, PartitionsLost
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from tests.clients.member_bench import COOPERATIVE, STATIC, Bench, partitions


def failed(failure: CommitFailure, error: Error) -> CommitFailed:
    return CommitFailed(1, CommitKind.BEFORE_JOIN, failure, error, dict.fromkeys(partitions("t0"), 7))


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (Error.UNKNOWN_TOPIC_OR_PARTITION, CommitFailure.RETRIABLE),
        (Error.REBALANCE_IN_PROGRESS, CommitFailure.REBALANCE_IN_PROGRESS),
        (Error.ILLEGAL_GENERATION, CommitFailure.COMMIT_FAILED),
        (Error.UNKNOWN_MEMBER_ID, CommitFailure.COMMIT_FAILED),
        (Error.GROUP_AUTHORIZATION_FAILED, CommitFailure.FATAL),
        (Error.TOPIC_AUTHORIZATION_FAILED, CommitFailure.FATAL),
        (Error.OFFSET_METADATA_TOO_LARGE, CommitFailure.FATAL),
        (Error.INVALID_COMMIT_OFFSET_SIZE, CommitFailure.FATAL),
        (Error.UNKNOWN_SERVER_ERROR, CommitFailure.FATAL),
    ],
)
def test_a_commit_that_nobody_waits_for_fails_at_the_first_error(error: Error, failure: CommitFailure) -> None:
    bench = Bench(**COOPERATIVE).stable("t0")
    assert bench.commit("t0") == []
    assert bench.committed(error) == [failed(failure, error)]
    bench.take()
    bench.at(2999).expire()
    assert bench.take() == []


@pytest.mark.parametrize(
    ("error", "member_id", "reason"),
    [
        (Error.ILLEGAL_GENERATION, "app-1", "encountered ILLEGAL_GENERATION from OFFSET_COMMIT response"),
        (Error.UNKNOWN_MEMBER_ID, "", "encountered UNKNOWN_MEMBER_ID from OFFSET_COMMIT response"),
    ],
)
def test_a_commit_error_about_the_membership_resets_it(error: Error, member_id: str, reason: str) -> None:
    bench = Bench(**COOPERATIVE).stable("t0")
    bench.commit("t0")
    bench.committed(error)
    assert bench.poll() == [PartitionsLost(partitions("t0"))]
    assert (bench.join.member_id, bench.join.reason) == (member_id, reason)


def test_a_commit_answered_with_a_rebalance_makes_the_member_join_again_in_its_generation() -> None:
    bench = Bench(**COOPERATIVE).stable("t0")
    bench.commit("t0")
    bench.committed(Error.REBALANCE_IN_PROGRESS)
    assert bench.member.membership.generation.generation_id == 1
    assert bench.poll() == []
    assert (bench.join.member_id, bench.join.reason) == (
        "app-1",
        "offset commit failed since group is already rebalancing",
    )


def test_a_fenced_commit_is_fatal_for_the_commit_and_for_the_next_poll() -> None:
    bench = Bench(**STATIC).stable("t0")
    bench.commit("t0")
    error = Error.FENCED_INSTANCE_ID
    assert bench.committed(error) == [failed(CommitFailure.FATAL, error)]
    message = "group.instance.id=pod-1 is fenced: another consumer joined with it"
    assert bench.poll() == [FatalError("OffsetCommit", error, message)]


@pytest.mark.parametrize("error", [Error.ILLEGAL_GENERATION, Error.UNKNOWN_MEMBER_ID, Error.FENCED_INSTANCE_ID])
@pytest.mark.parametrize("is_preparing", [True, False])
def test_a_commit_error_about_a_generation_left_behind_resets_nothing(error: Error, is_preparing: bool) -> None:
    bench = Bench(**STATIC).stable("t0")
    bench.commit("t0")
    bench.at(3000).expire()
    bench.beaten(Error.ILLEGAL_GENERATION)
    if is_preparing:
        bench.poll()
    failure = CommitFailure.REBALANCE_IN_PROGRESS if is_preparing else CommitFailure.COMMIT_FAILED
    assert bench.committed(error) == [failed(failure, error)]
    assert bench.member.member_id == "app-1"
    assert bench.poll() == ([] if is_preparing else [PartitionsLost(partitions("t0"))])


def test_the_first_error_of_a_partition_is_the_commits() -> None:
    bench = Bench(**COOPERATIVE).stable("t0 t1")
    bench.commit("t0 t1")
    request = bench.last(OffsetCommitRequest)
    response = _commit_response([(0, Error.NONE), (1, Error.OFFSET_METADATA_TOO_LARGE)])
    (event,) = bench.answer(request, response)
    assert isinstance(event, CommitFailed)
    assert event.error is Error.OFFSET_METADATA_TOO_LARGE


def _commit_response(errors: list[tuple[int, Error]]) -> OffsetCommitResponse:
    answered = [OffsetCommitResponsePartition(partition_index=number, error_code=error) for number, error in errors]
    return OffsetCommitResponse(topics=[OffsetCommitResponseTopic(name="t", partitions=answered)])
