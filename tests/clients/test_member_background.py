"""What goes on without the application: heartbeats, timeouts, lost connections, and the watch over its polls."""

from __future__ import annotations

import pytest

from rollcall.answers.clients.events import CoordinatorLost, LeftGroup, PartitionsLost
from rollcall.answers.clients.membership import MemberState
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    OffsetCommitRequest,
    SyncGroupRequest,
)
from tests.clients.member_bench import COOPERATIVE, NODE, Bench, left, partitions

POLL_TIMEOUT = "consumer poll timeout has expired."
LEAVING = "consumer pro-actively leaving the group"


def beat_until(bench: Bench, until_ms: int) -> list[int]:
    """Answers every heartbeat up to until_ms; when each was sent."""
    sent_at: list[int] = []
    while (due_ms := bench.member.next_deadline_ms()) is not None and due_ms <= until_ms:
        bench.take()
        bench.at(due_ms).expire()
        if not any(isinstance(each, HeartbeatRequest) for each in bench.requests):
            break
        sent_at.append(due_ms)
        bench.beaten()
    return sent_at


# ---------------------------------------------------------------- heartbeats


def test_heartbeats_begin_an_interval_after_the_join_group_is_answered_and_go_on_at_that_pace() -> None:
    bench = Bench(**COOPERATIVE, heartbeat_interval_ms=2000).completing()
    assert beat_until(bench, 9000) == [2000, 4000, 6000, 8000]
    assert (bench.heartbeat.member_id, bench.heartbeat.generation_id) == ("app-1", 1)


def test_a_heartbeat_that_is_late_moves_all_later_ones() -> None:
    bench = Bench(**COOPERATIVE).stable()
    bench.at(4500).expire()
    bench.beaten()
    assert bench.member.next_deadline_ms() == 7500


def test_a_second_heartbeat_is_sent_while_the_first_is_not_answered() -> None:
    bench = Bench(**COOPERATIVE).stable()
    bench.at(3000).expire()
    bench.at(6000).expire()
    assert [type(each) for each in bench.take()[-2:]] == [HeartbeatRequest, HeartbeatRequest]


@pytest.mark.parametrize("is_rejoining", [False, True])
def test_no_heartbeat_is_sent_while_a_join_group_is_in_flight(is_rejoining: bool) -> None:
    bench = Bench(**COOPERATIVE)
    bench.rejoining() if is_rejoining else bench.preparing()
    bench.take()
    bench.at(100_000).expire()
    assert bench.take() == []
    assert not bench.member.has_joined


def test_heartbeats_go_on_while_a_member_that_was_asked_to_rebalance_does_not_poll() -> None:
    bench = Bench(**COOPERATIVE).stable()
    bench.at(3000).expire()
    bench.beaten(Error.REBALANCE_IN_PROGRESS)
    assert beat_until(bench, 12_000) == [6000, 9000, 12_000]


# ---------------------------------------------------------------- the session timer


def test_a_member_without_a_good_answer_for_a_session_looks_for_its_coordinator_and_stays() -> None:
    bench = Bench(**COOPERATIVE, request_timeout_ms=100_000).stable("t0")
    for at_ms in range(3000, 45_000, 3000):
        assert bench.at(at_ms).expire() == []
    cause = "session timed out without receiving a heartbeat response"
    assert bench.at(45_000).expire() == [CoordinatorLost(cause)]
    assert isinstance(bench.sent, FindCoordinatorRequest)
    assert bench.member.state is MemberState.STABLE
    assert bench.member.owned_partitions == set(partitions("t0"))


def test_a_coordinator_found_again_gives_the_member_a_whole_session() -> None:
    bench = Bench(**COOPERATIVE).stable("t0")
    bench.at(40_000).disconnect()
    bench.expire()
    assert bench.found() == [NODE]
    assert bench.member.membership.pulse.session_deadline_ms == 85_000


def test_while_the_coordinator_is_unknown_no_heartbeat_is_sent_and_lookups_back_off() -> None:
    bench = Bench(**COOPERATIVE).stable("t0")
    bench.at(5000).disconnect()
    sent_at: list[int] = []
    for _ in range(4):
        due_ms = bench.member.next_deadline_ms()
        assert due_ms is not None
        bench.take()
        bench.at(due_ms).expire()
        assert [type(each) for each in bench.requests] == [FindCoordinatorRequest]
        sent_at.append(bench.now_ms)
        bench.not_found(Error.COORDINATOR_NOT_AVAILABLE)
    assert sent_at == [5000, 5100, 5300, 5700]


# ---------------------------------------------------------------- the watch over polls


def test_a_dynamic_member_whose_application_does_not_poll_leaves() -> None:
    bench = Bench(**COOPERATIVE, max_poll_interval_ms=10_000).stable("t0")
    bench.at(2000).poll()
    assert beat_until(bench, 11_999) == [3000, 6000, 9000]
    assert bench.at(12_000).expire() == [LeftGroup("app-1", POLL_TIMEOUT, is_announced=True)]
    assert left(bench.sent) == ("app-1", POLL_TIMEOUT)
    assert (bench.member.state, bench.member.member_id) == (MemberState.UNJOINED, "")


def test_the_partitions_of_a_member_that_left_in_the_background_are_lost_at_the_next_poll() -> None:
    bench = Bench(**COOPERATIVE, max_poll_interval_ms=10_000).stable("t0")
    bench.at(10_000).expire()
    assert bench.member.owned_partitions == set(partitions("t0"))
    assert bench.at(12_000).poll() == [PartitionsLost(partitions("t0"))]
    assert (bench.join.member_id, bench.join.reason) == ("", LEAVING)


def test_a_static_member_whose_application_does_not_poll_says_nothing_and_comes_back_anew() -> None:
    bench = Bench(**COOPERATIVE, max_poll_interval_ms=10_000, group_instance_id="pod-1").stable("t0")
    bench.take()
    assert bench.at(10_000).expire() == [LeftGroup("app-1", POLL_TIMEOUT, is_announced=False)]
    assert bench.take() == []
    assert bench.at(12_000).poll() == [PartitionsLost(partitions("t0"))]
    assert (bench.join.member_id, bench.join.group_instance_id) == ("", "pod-1")


def test_a_poll_gives_the_application_another_interval_also_without_a_coordinator() -> None:
    bench = Bench(**COOPERATIVE, max_poll_interval_ms=10_000).stable("t0")
    bench.at(1000).disconnect()
    bench.at(9000).poll()
    bench.found()
    bench.at(18_999).expire()
    assert bench.member.state is MemberState.STABLE
    (event,) = bench.at(19_000).expire()
    assert isinstance(event, LeftGroup)


def test_the_poll_interval_of_a_rebalance_begins_when_the_join_group_is_answered() -> None:
    bench = Bench(**COOPERATIVE, max_poll_interval_ms=10_000).preparing()
    bench.at(8000).joined(1)
    bench.at(17_999).expire()
    assert bench.member.state is MemberState.COMPLETING_REBALANCE
    (event,) = bench.at(18_000).expire()
    assert event == LeftGroup("app-1", POLL_TIMEOUT, is_announced=True)


def test_the_answer_to_a_leave_group_changes_nothing() -> None:
    bench = Bench(**COOPERATIVE, max_poll_interval_ms=10_000).stable("t0")
    bench.at(10_000).expire()
    assert bench.answer(bench.last(LeaveGroupRequest), LeaveGroupResponse(error_code=Error.UNKNOWN_MEMBER_ID)) == []


# ---------------------------------------------------------------- answers that do not come


def test_an_unanswered_request_closes_the_connection_and_fails_all_that_went_by_it() -> None:
    bench = Bench(**COOPERATIVE, request_timeout_ms=5000).completing()
    sync = bench.last(SyncGroupRequest)
    bench.at(3000).expire()
    assert bench.member.membership.in_flight.keys() == {sync.request_id, bench.heartbeat.request_id}
    assert bench.at(5000).expire() == [CoordinatorLost("a request was not answered in time")]
    assert isinstance(bench.sent, FindCoordinatorRequest)
    assert bench.member.membership.in_flight.keys() == {bench.sent.request_id}
    bench.found()
    bench.at(5100).poll()
    assert (bench.join.member_id, bench.join.reason) == ("app-1", "rebalance failed due to DisconnectException")


def test_a_join_group_that_is_lost_is_sent_again_with_the_same_member_id() -> None:
    bench = Bench(**COOPERATIVE).rejoining("t0")
    lost = bench.join
    assert bench.disconnect() == [CoordinatorLost("the connection was closed")]
    bench.poll()
    bench.found()
    assert bench.member.next_poll_ms() == bench.now_ms + 100
    assert bench.at(bench.now_ms + 100).poll() == []
    assert isinstance(bench.sent, JoinGroupRequest)
    assert (bench.sent.member_id, bench.sent.protocols) == ("app-1", lost.protocols)
    assert bench.sent.request_id != lost.request_id
    assert bench.answer(lost, JoinGroupResponse(generation_id=2, member_id="app-1")) == []
    assert bench.member.state is MemberState.PREPARING_REBALANCE


def test_a_heartbeat_that_is_lost_is_sent_again_after_a_backoff() -> None:
    bench = Bench(**COOPERATIVE).stable("t0")
    bench.at(3000).expire()
    bench.disconnect()
    bench.expire()
    bench.found()
    assert bench.member.next_deadline_ms() == 3100
    bench.at(3100).expire()
    assert isinstance(bench.sent, HeartbeatRequest)


def test_the_network_may_report_a_request_as_failed() -> None:
    bench = Bench(**COOPERATIVE).preparing()
    assert bench.fail(bench.join) == [CoordinatorLost("a request was not answered in time")]
    assert bench.fail(bench.join) == []


@pytest.mark.parametrize("is_reported", [True, False])
def test_a_lookup_that_is_not_answered_is_made_again_after_a_backoff(is_reported: bool) -> None:
    bench = Bench(**COOPERATIVE, request_timeout_ms=2000)
    bench.poll()
    if is_reported:
        bench.at(2000).fail(bench.sent)
    else:
        bench.at(2000).expire()
    bench.take()
    bench.poll()
    assert bench.take() == []
    bench.at(2100).poll()
    assert isinstance(bench.sent, FindCoordinatorRequest)


def test_losing_an_unknown_coordinator_means_nothing() -> None:
    bench = Bench(**COOPERATIVE)
    assert bench.disconnect() == []
    assert bench.member.next_deadline_ms() is None


def test_a_join_that_waits_for_its_commit_goes_on_without_it_after_the_rebalance_timeout() -> None:
    bench = Bench(
        partition_assignment_strategy=("range",), max_poll_interval_ms=20_000, request_timeout_ms=60_000
    ).stable("t0")
    bench.member.advance(dict.fromkeys(partitions("t0"), 5))
    bench.at(1000).member.membership.request_rejoin("rebalance wanted")
    assert bench.poll() == []
    assert isinstance(bench.sent, OffsetCommitRequest)
    assert bench.member.next_poll_ms() == 21_000
    bench.at(15_000).poll()
    assert isinstance(bench.sent, OffsetCommitRequest)
    assert bench.at(21_000).poll() != []
    assert isinstance(bench.sent, JoinGroupRequest)


def test_a_member_that_slept_through_everything_does_it_all_at_once_and_stops() -> None:
    bench = Bench(**COOPERATIVE).stable("t0")
    bench.at(3000).expire()
    events = bench.at(10_000_000).expire()
    assert events[0] == CoordinatorLost("a request was not answered in time")
    assert isinstance(bench.sent, FindCoordinatorRequest)
    assert bench.member.next_deadline_ms() == 10_030_000
