"""The ways out: unsubscribe, close, what each gives up first, and who announces that it leaves."""

from __future__ import annotations

from typing import Any

import pytest

from rollcall.answers.clients.events import (
    Closed,
    CommitFailed,
    CommitFailure,
    CommitKind,
    LeftGroup,
    OffsetsCommitted,
    PartitionsLost,
    PartitionsRevoked,
)
from rollcall.answers.clients.membership import MemberState
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    OffsetCommitRequest,
)
from tests.clients.member_bench import Bench, left, partitions

CLOSE = "the consumer is being closed"
UNSUBSCRIBE = "the consumer unsubscribed from all topics"
MANUAL: dict[str, Any] = {"enable_auto_commit": False}


def answered(bench: Bench, error: Error = Error.NONE) -> list[Any]:
    return bench.answer(bench.last(LeaveGroupRequest), LeaveGroupResponse(error_code=error))


# ---------------------------------------------------------------- unsubscribe


def test_a_member_that_unsubscribes_gives_its_partitions_up_and_leaves() -> None:
    bench = Bench(**MANUAL).stable("t0 t1")
    assert bench.subscribe("") == [
        PartitionsRevoked(partitions("t0 t1")),
        LeftGroup("app-1", UNSUBSCRIBE, is_announced=True),
    ]
    assert left(bench.sent) == ("app-1", UNSUBSCRIBE)
    assert (bench.member.state, bench.member.member_id) == (MemberState.UNJOINED, "")


def test_a_member_that_unsubscribed_does_not_join_until_it_subscribes() -> None:
    bench = Bench(**MANUAL).stable("t0")
    bench.subscribe("")
    answered(bench)
    bench.take()
    assert (bench.poll(), bench.take(), bench.member.next_poll_ms()) == ([], [], None)
    bench.subscribe("t")
    bench.poll()
    assert isinstance(bench.sent, JoinGroupRequest)
    assert bench.sent.reason == "consumer pro-actively leaving the group"


def test_a_static_member_that_unsubscribes_says_nothing() -> None:
    bench = Bench(**MANUAL, group_instance_id="pod-1").stable("t0")
    bench.take()
    assert bench.subscribe("")[1:] == [LeftGroup("app-1", UNSUBSCRIBE, is_announced=False)]
    assert bench.take() == []


@pytest.mark.parametrize("is_completing", [True, False])
def test_partitions_given_up_in_the_middle_of_a_rebalance_are_lost(is_completing: bool) -> None:
    bench = Bench(**MANUAL, partition_assignment_strategy=("cooperative-sticky",)).rejoining("t0")
    if is_completing:
        bench.joined(2)
    assert bench.subscribe("")[0] == PartitionsLost(partitions("t0"))


def test_a_member_without_partitions_has_none_to_give_up() -> None:
    bench = Bench(**MANUAL).completing()
    assert bench.subscribe("") == [LeftGroup("app-1", UNSUBSCRIBE, is_announced=True)]


def test_a_client_without_a_member_id_cannot_announce_that_it_leaves() -> None:
    bench = Bench(**MANUAL).connected()
    bench.poll()
    bench.take()
    assert bench.subscribe("") == [LeftGroup("", UNSUBSCRIBE, is_announced=False)]
    assert bench.take() == []


def test_a_client_that_never_joined_has_nothing_to_leave() -> None:
    bench = Bench(**MANUAL).connected()
    bench.take()
    assert (bench.subscribe(""), bench.take()) == ([], [])


def test_a_member_without_a_coordinator_cannot_announce_that_it_leaves() -> None:
    bench = Bench(**MANUAL).stable("t0")
    bench.disconnect()
    assert bench.subscribe("")[1:] == [LeftGroup("app-1", UNSUBSCRIBE, is_announced=False)]


# ---------------------------------------------------------------- close


def test_a_close_commits_then_gives_up_then_leaves_then_waits_for_the_answer() -> None:
    bench = Bench().stable("t0")
    bench.member.advance(dict.fromkeys(partitions("t0"), 8))
    assert bench.close() == []
    assert isinstance(bench.sent, OffsetCommitRequest)
    assert bench.committed() == [
        OffsetsCommitted(1, CommitKind.AT_CLOSE, dict.fromkeys(partitions("t0"), 8)),
        PartitionsRevoked(partitions("t0")),
        LeftGroup("app-1", CLOSE, is_announced=True),
    ]
    assert left(bench.sent) == ("app-1", CLOSE)
    assert not bench.member.membership.is_closed
    assert answered(bench) == [Closed()]
    assert bench.member.membership.is_closed


def test_an_error_to_a_leave_group_closes_all_the_same() -> None:
    bench = Bench(**MANUAL).stable("t0")
    bench.close()
    assert answered(bench, Error.UNKNOWN_MEMBER_ID) == [Closed()]


def test_a_static_member_closes_without_leaving() -> None:
    bench = Bench(**MANUAL, group_instance_id="pod-1").stable("t0")
    bench.take()
    assert bench.close() == [
        PartitionsRevoked(partitions("t0")),
        LeftGroup("app-1", CLOSE, is_announced=False),
        Closed(),
    ]
    assert bench.take() == []


def test_a_member_set_to_stay_closes_without_leaving_and_keeps_what_it_owns() -> None:
    bench = Bench(**MANUAL, leave_group_on_close=False).stable("t0")
    bench.take()
    assert (bench.close(), bench.take()) == ([Closed()], [])


def test_a_member_set_to_stay_beats_no_more_while_it_waits_for_answers() -> None:
    bench = Bench(**MANUAL, leave_group_on_close=False).stable("t0")
    bench.at(3000).expire()
    assert bench.close() == []
    heartbeat = bench.heartbeat
    bench.at(20_000).expire()
    assert bench.sent is heartbeat
    assert bench.beaten() == [Closed()]


def test_a_close_without_a_coordinator_is_over_at_once() -> None:
    bench = Bench(**MANUAL).stable("t0")
    bench.disconnect()
    assert bench.close()[-1] == Closed()


def test_a_close_waits_for_a_join_group_in_flight_and_leaves_behind_it() -> None:
    bench = Bench(**MANUAL).preparing()
    join = bench.join
    assert bench.close() == [LeftGroup("app-1", CLOSE, is_announced=True)]
    assert answered(bench) == []
    refused = JoinGroupResponse(error_code=Error.UNKNOWN_MEMBER_ID)
    assert bench.answer(join, refused) == [Closed()]


def test_a_close_retries_its_commit_until_its_time_is_over_and_leaves_then() -> None:
    bench = Bench().stable("t0")
    bench.member.advance(dict.fromkeys(partitions("t0"), 8))
    bench.close(timeout_ms=1000)
    bench.committed(Error.UNKNOWN_TOPIC_OR_PARTITION)
    bench.at(100).expire()
    assert isinstance(bench.sent, OffsetCommitRequest)
    events = bench.at(1000).expire()
    assert isinstance(events[0], CommitFailed)
    assert events[0].failure is CommitFailure.TIMED_OUT
    assert events[1:] == [
        PartitionsRevoked(partitions("t0")),
        LeftGroup("app-1", CLOSE, is_announced=True),
        Closed(),
    ]
    assert isinstance(bench.sent, LeaveGroupRequest)


def test_a_close_whose_leave_group_is_not_answered_is_over_when_its_time_is() -> None:
    bench = Bench(**MANUAL).stable("t0")
    bench.close(timeout_ms=5000)
    assert bench.at(4999).expire() == []
    assert bench.at(5000).expire() == [Closed()]
    assert bench.member.next_deadline_ms() is None


def test_a_close_whose_connection_breaks_is_over() -> None:
    bench = Bench(**MANUAL).stable("t0")
    bench.close()
    assert bench.disconnect()[-1] == Closed()


def test_a_close_waits_for_commits_that_the_application_made() -> None:
    bench = Bench(**MANUAL).stable("t0")
    bench.commit("t0")
    assert bench.close() == []
    assert [type(each) for each in bench.committed()] == [OffsetsCommitted, PartitionsRevoked, LeftGroup]


def test_heartbeats_go_on_while_a_close_commits() -> None:
    bench = Bench().stable("t0")
    bench.member.advance(dict.fromkeys(partitions("t0"), 8))
    bench.close()
    bench.at(3000).expire()
    assert bench.sent is bench.heartbeat
