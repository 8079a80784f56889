"""Every error of every API but OffsetCommit: what the member does, row by row, and why it says it joins again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from rollcall.answers.clients.events import Event, FatalError, PartitionsLost
from rollcall.answers.clients.membership import MemberState
from rollcall.answers.clients.reactions import HEARTBEAT, JOIN_GROUP, OFFSET_COMMIT, SYNC_GROUP
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    FindCoordinatorRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
)
from tests.clients.member_bench import COOPERATIVE, STATIC, Bench, partitions

# ---------------------------------------------------------------- JoinGroup


@dataclass(frozen=True)
class Row:
    """What the next attempt, which is made at once, looks like: as whom, and with which reason."""

    error: Error
    member_id: str
    reason: str


JOIN_ROWS = [
    Row(Error.UNKNOWN_MEMBER_ID, "", "rebalance failed due to UnknownMemberIdException"),
    Row(Error.REBALANCE_IN_PROGRESS, "app-1", "rebalance failed due to RebalanceInProgressException"),
    Row(Error.MEMBER_ID_REQUIRED, "app-9", "need to re-join with the given member-id: app-9"),
]


@pytest.mark.parametrize("row", JOIN_ROWS, ids=lambda row: row.error)
def test_after_a_join_group_error_the_member_joins_again_and_loses_partitions_only_with_its_membership(
    row: Row,
) -> None:
    bench = Bench(**COOPERATIVE).rejoining("t0 t1")
    assert bench.at(bench.now_ms + 1000).join_refused(row.error, "app-9") == []
    bench.take()
    assert_next_join(bench, row, [] if row.member_id else [PartitionsLost(partitions("t0 t1"))])


def assert_next_join(bench: Bench, row: Row, events: Sequence[Event] = ()) -> None:
    """Nothing but the events happens before the JoinGroup of the row is sent."""
    assert bench.poll() == [*events]
    assert isinstance(bench.sent, JoinGroupRequest)
    assert (bench.sent.member_id, bench.sent.reason) == (row.member_id, row.reason)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (Error.FENCED_INSTANCE_ID, "group.instance.id=pod-1 is fenced: another consumer joined with it"),
        (Error.INCONSISTENT_GROUP_PROTOCOL, "JoinGroup of group orders failed: INCONSISTENT_GROUP_PROTOCOL"),
        (Error.INVALID_GROUP_ID, "JoinGroup of group orders failed: INVALID_GROUP_ID"),
        (Error.INVALID_SESSION_TIMEOUT, "session.timeout.ms=45000 is outside what the broker allows"),
        (Error.GROUP_AUTHORIZATION_FAILED, "JoinGroup of group orders failed: GROUP_AUTHORIZATION_FAILED"),
        (
            Error.GROUP_MAX_SIZE_REACHED,
            "consumer group orders already has the configured maximum number of members",
        ),
        # Not JoinGroup's own: an error that this API should not give is fatal too.
        (Error.ILLEGAL_GENERATION, "JoinGroup of group orders failed: ILLEGAL_GENERATION"),
        (Error.UNKNOWN_SERVER_ERROR, "JoinGroup of group orders failed: UNKNOWN_SERVER_ERROR"),
    ],
)
def test_a_fatal_join_group_error_ends_the_applications_poll(error: Error, message: str) -> None:
    bench = Bench(**STATIC).preparing()
    assert bench.join_refused(error) == []
    bench.take()
    assert bench.poll() == [FatalError("JoinGroup", error, message)]
    assert bench.take() == []


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Error.GROUP_MAX_SIZE_REACHED, "rebalance failed due to GroupMaxSizeReachedException"),
        (Error.FENCED_INSTANCE_ID, "rebalance failed due to FencedInstanceIdException"),
        (Error.UNKNOWN_SERVER_ERROR, "rebalance failed due to KafkaException"),
    ],
)
def test_an_application_that_polls_on_after_a_fatal_error_joins_again(error: Error, reason: str) -> None:
    bench = Bench(**COOPERATIVE).preparing()
    bench.join_refused(error)
    bench.poll()
    bench.take()
    assert bench.poll() == []
    assert isinstance(bench.sent, JoinGroupRequest)
    assert bench.sent.reason == reason


def test_failed_joins_back_off_longer_and_longer_until_the_group_is_joined() -> None:
    bench = Bench(**COOPERATIVE).preparing()
    waits = []
    for _ in range(6):
        bench.disconnect()
        bench.poll()
        bench.found()
        due_ms = bench.member.next_poll_ms()
        assert due_ms is not None
        waits.append(due_ms - bench.now_ms)
        bench.at(due_ms).poll()
    assert waits == [100, 200, 400, 800, 1000, 1000]
    bench.joined(1)
    bench.synced("t0")
    bench.poll()
    bench.member.membership.request_rejoin("rebalance wanted")
    bench.poll()
    bench.disconnect()
    bench.poll()
    bench.found()
    assert bench.member.next_poll_ms() == bench.now_ms + 100


# ---------------------------------------------------------------- SyncGroup


SYNC_ROWS = [
    Row(Error.ILLEGAL_GENERATION, "app-1", "rebalance failed due to IllegalGenerationException"),
    Row(Error.UNKNOWN_MEMBER_ID, "", "rebalance failed due to UnknownMemberIdException"),
    Row(Error.REBALANCE_IN_PROGRESS, "app-1", "rebalance failed due to RebalanceInProgressException"),
]
GENERATION_IS_OVER = (Error.ILLEGAL_GENERATION, Error.UNKNOWN_MEMBER_ID)


@pytest.mark.parametrize("row", SYNC_ROWS, ids=lambda row: row.error)
def test_after_a_sync_group_error_the_member_joins_again(row: Row) -> None:
    bench = Bench(**COOPERATIVE).completing()
    assert bench.at(1000).sync_refused(row.error) == []
    assert bench.member.membership.generation.generation_id == (-1 if row.error in GENERATION_IS_OVER else 1)
    bench.take()
    assert_next_join(bench, row)


@pytest.mark.parametrize(
    "error",
    [
        Error.FENCED_INSTANCE_ID,
        Error.GROUP_AUTHORIZATION_FAILED,
        Error.INCONSISTENT_GROUP_PROTOCOL,
        Error.COORDINATOR_LOAD_IN_PROGRESS,
        Error.UNKNOWN_SERVER_ERROR,
    ],
)
def test_a_fatal_or_unexpected_sync_group_error_ends_the_applications_poll(error: Error) -> None:
    bench = Bench(**STATIC).completing()
    bench.sync_refused(error)
    assert bench.poll() == [FatalError("SyncGroup", error, f"SyncGroup of group orders failed: {error}")]


def test_a_sync_group_answered_after_the_background_gave_the_generation_up_is_of_no_use() -> None:
    bench = Bench(**COOPERATIVE).completing()
    bench.at(3000).expire()
    bench.beaten(Error.UNKNOWN_MEMBER_ID)
    bench.synced("t0")
    assert bench.member.state is MemberState.UNJOINED
    assert bench.poll() == []
    assert bench.join.reason == "rebalance failed due to IllegalGenerationException"
    assert bench.join.member_id == ""


@pytest.mark.parametrize("error", [Error.ILLEGAL_GENERATION, Error.UNKNOWN_MEMBER_ID])
def test_a_sync_group_error_about_a_generation_left_behind_resets_nothing(error: Error) -> None:
    bench = Bench(**COOPERATIVE).completing()
    bench.at(3000).expire()
    bench.beaten(Error.ILLEGAL_GENERATION)
    bench.sync_refused(error)
    assert bench.member.member_id == "app-1"


# ---------------------------------------------------------------- Heartbeat


@pytest.mark.parametrize(
    ("error", "member_id", "reason"),
    [
        (Error.ILLEGAL_GENERATION, "app-1", "encountered ILLEGAL_GENERATION from HEARTBEAT response"),
        (Error.UNKNOWN_MEMBER_ID, "", "encountered UNKNOWN_MEMBER_ID from HEARTBEAT response"),
    ],
)
@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_a_heartbeat_error_about_the_membership_resets_it(
    error: Error, member_id: str, reason: str, strategy: str
) -> None:
    bench = Bench(partition_assignment_strategy=(strategy,), enable_auto_commit=False).stable("t0")
    bench.at(3000).expire()
    assert bench.beaten(error) == []
    assert (bench.member.state, bench.member.membership.generation.generation_id) == (MemberState.UNJOINED, -1)
    assert bench.member.owned_partitions == set(partitions("t0"))
    assert bench.poll() == [PartitionsLost(partitions("t0"))]
    assert (bench.join.member_id, bench.join.reason) == (member_id, reason)


@pytest.mark.parametrize("error", [Error.ILLEGAL_GENERATION, Error.UNKNOWN_MEMBER_ID, Error.FENCED_INSTANCE_ID])
def test_a_heartbeat_error_about_a_generation_left_behind_proves_the_session_alive(error: Error) -> None:
    bench = Bench(**STATIC).stable("t0")
    bench.at(3000).expire()
    late = bench.heartbeat
    bench.member.membership.request_rejoin("rebalance wanted")
    bench.poll()
    bench.joined(2)
    bench.at(5000)
    bench.answer(late, HeartbeatResponse(error_code=error))
    assert (bench.member.state, bench.member.membership.generation.generation_id) == (
        MemberState.COMPLETING_REBALANCE,
        2,
    )
    assert bench.member.membership.pulse.session_deadline_ms == 50_000


def test_a_heartbeat_answered_with_a_rebalance_makes_a_stable_member_join_again_and_keeps_its_session() -> None:
    bench = Bench(**COOPERATIVE).stable("t0")
    bench.at(3000).expire()
    assert bench.beaten(Error.REBALANCE_IN_PROGRESS) == []
    assert bench.member.membership.pulse.session_deadline_ms == 48_000
    bench.poll()
    assert (bench.join.member_id, bench.join.reason) == ("app-1", "group is already rebalancing")


def test_a_heartbeat_answered_with_a_rebalance_means_nothing_while_the_member_is_in_one() -> None:
    bench = Bench(**COOPERATIVE).completing()
    bench.at(3000).expire()
    bench.beaten(Error.REBALANCE_IN_PROGRESS)
    bench.synced("t0")
    bench.poll()
    assert not bench.member.is_rebalancing
    assert bench.member.membership.pulse.session_deadline_ms == 48_000


@pytest.mark.parametrize("error", [Error.COORDINATOR_LOAD_IN_PROGRESS, Error.UNKNOWN_SERVER_ERROR])
def test_any_other_heartbeat_error_is_tried_again_after_a_backoff(error: Error) -> None:
    bench = Bench(**COOPERATIVE).stable("t0")
    bench.at(3000).expire()
    for wait_ms in (100, 200, 400, 800, 1000, 1000):
        bench.beaten(error)
        bench.take()
        bench.at(bench.now_ms + wait_ms - 1).expire()
        assert bench.take() == []
        bench.at(bench.now_ms + 1).expire()
        assert isinstance(bench.sent, HeartbeatRequest)
    bench.beaten()
    assert bench.member.membership.pulse.session_deadline_ms == bench.now_ms + 45_000


def test_a_fenced_heartbeat_is_fatal_at_the_next_poll() -> None:
    bench = Bench(**STATIC).stable("t0")
    bench.at(3000).expire()
    assert bench.beaten(Error.FENCED_INSTANCE_ID) == []
    message = "group.instance.id=pod-1 is fenced: another consumer joined with it"
    assert bench.poll() == [FatalError("Heartbeat", Error.FENCED_INSTANCE_ID, message)]
    assert bench.poll() == [PartitionsLost(partitions("t0"))]
    assert bench.join.reason == "encountered FENCED_INSTANCE_ID from HEARTBEAT response"


# ---------------------------------------------------------------- FindCoordinator


def test_a_coordinator_that_is_not_found_is_looked_for_again_after_longer_and_longer() -> None:
    bench = Bench()
    bench.poll()
    for wait_ms in (100, 200, 400, 800, 1000, 1000):
        assert bench.not_found(Error.COORDINATOR_NOT_AVAILABLE) == []
        bench.take()
        bench.at(bench.now_ms + wait_ms - 1).poll()
        assert bench.take() == []
        assert bench.member.next_poll_ms() == bench.now_ms + 1
        bench.at(bench.now_ms + 1).poll()
        assert isinstance(bench.sent, FindCoordinatorRequest)
    bench.found()
    bench.disconnect()
    bench.poll()
    bench.not_found(Error.COORDINATOR_NOT_AVAILABLE)
    assert bench.member.next_poll_ms() == bench.now_ms + 100


# ---------------------------------------------------------------- the tables are complete

TESTED = {
    "JoinGroup": (JOIN_GROUP, {25, 27, 79, 82, 23, 26, 81}),
    "SyncGroup": (SYNC_GROUP, {22, 25, 27, 82}),
    "Heartbeat": (HEARTBEAT, {22, 25, 27, 82}),
    "OffsetCommit": (OFFSET_COMMIT, {3, 22, 25, 27, 82}),
}


@pytest.mark.parametrize("api", TESTED)
def test_every_row_of_a_table_is_tested_above(api: str) -> None:
    table, codes = TESTED[api]
    assert {error.code for error in table} == codes
