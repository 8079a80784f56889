"""How a member gets into a generation and from one to the next: steps, reasons, and the order of the callbacks."""

from __future__ import annotations

from typing import Any

import pytest

from rollcall.answers.clients.assignors import RebalanceProtocol
from rollcall.answers.clients.events import FatalError, PartitionsAssigned, PartitionsLost, PartitionsRevoked
from rollcall.answers.clients.membership import MemberState
from rollcall.schemas.consumer_protocol import Assignment, decode_subscription, encode_assignment
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    FindCoordinatorRequest,
    JoinGroupRequest,
    ListGroupsResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from tests.clients.member_bench import NODE, Bench, partitions, subscribed

COOPERATIVE: dict[str, Any] = {"partition_assignment_strategy": ("cooperative-sticky",)}
EAGER: dict[str, Any] = {"partition_assignment_strategy": ("range",)}


def assigned(text: str, generation_id: int = 1) -> PartitionsAssigned:
    return PartitionsAssigned(partitions(text), generation_id)


def revoked(text: str) -> PartitionsRevoked:
    return PartitionsRevoked(partitions(text))


def lost(text: str) -> PartitionsLost:
    return PartitionsLost(partitions(text))


# ---------------------------------------------------------------- the first join


def test_a_member_finds_the_coordinator_joins_in_two_steps_and_is_assigned_its_partitions() -> None:
    bench = Bench()
    assert (bench.poll(), type(bench.sent), bench.member.state) == ([], FindCoordinatorRequest, MemberState.UNJOINED)
    assert bench.found() == [NODE]
    assert (bench.poll(), bench.member.state) == ([], MemberState.PREPARING_REBALANCE)
    assert (bench.join.member_id, bench.join.reason) == ("", "")
    assert bench.join_refused(Error.MEMBER_ID_REQUIRED, "app-1") == []
    assert (bench.poll(), bench.join.member_id) == ([], "app-1")
    assert bench.join.reason == "need to re-join with the given member-id: app-1"
    assert (bench.joined(1), bench.member.state) == ([], MemberState.COMPLETING_REBALANCE)
    assert isinstance(bench.sent, SyncGroupRequest)
    assert (bench.sent.generation_id, bench.sent.member_id, bench.sent.assignments) == (1, "app-1", [])
    assert (bench.synced("t0 u1"), bench.member.state) == ([], MemberState.STABLE)
    assert bench.member.owned_partitions == frozenset()
    assert bench.poll() == [assigned("t0 u1")]
    assert bench.member.owned_partitions == set(partitions("t0 u1"))


def test_nothing_of_a_rebalance_goes_on_without_a_poll() -> None:
    bench = Bench().connected()
    assert bench.at(10_000).expire() == []
    assert [type(each) for each in bench.requests] == [FindCoordinatorRequest]


def test_a_join_group_says_what_the_member_is_and_waits_longer_than_the_rebalance_or_a_request() -> None:
    bench = Bench(session_timeout_ms=9000, max_poll_interval_ms=60_000).connected()
    bench.at(50).poll()
    join = bench.join
    assert (join.session_timeout_ms, join.rebalance_timeout_ms, join.protocol_type) == (9000, 60_000, "consumer")
    assert [each.name for each in join.protocols] == ["range", "cooperative-sticky"]
    subscription = decode_subscription(join.protocols[0].metadata)
    assert (subscription.topics, subscription.owned_partitions, subscription.generation_id) == (("t", "u"), (), -1)
    assert bench.member.next_deadline_ms() == 50 + 65_000
    bench = Bench(max_poll_interval_ms=10_000, request_timeout_ms=40_000).connected()
    bench.poll()
    assert bench.member.next_deadline_ms() == 40_000


def test_an_instance_id_is_carried_by_every_request_that_can_carry_it() -> None:
    bench = Bench(group_instance_id="pod-1").stable()
    bench.commit("t0")
    bench.at(3000).expire()
    carried = [getattr(each, "group_instance_id", None) for each in bench.requests[1:]]
    assert carried == ["pod-1"] * len(carried)


def test_a_member_says_when_a_poll_has_something_to_do() -> None:
    bench = Bench(enable_auto_commit=False)
    assert bench.member.next_poll_ms() == 0
    bench.poll()
    assert bench.member.next_poll_ms() is None
    bench.at(70).found()
    assert bench.member.next_poll_ms() == 0
    bench.poll()
    assert bench.member.next_poll_ms() is None
    bench.join_refused(Error.MEMBER_ID_REQUIRED, "app-1")
    bench.poll()
    bench.joined(1)
    assert bench.member.next_poll_ms() is None
    bench.synced("t0")
    assert bench.member.next_poll_ms() == 0
    bench.poll()
    assert bench.member.next_poll_ms() is None
    bench.at(3070).expire()
    bench.beaten(Error.FENCED_INSTANCE_ID)
    assert bench.member.next_poll_ms() == 0


# ---------------------------------------------------------------- which protocol


@pytest.mark.parametrize(
    ("strategy", "protocol"),
    [
        (("range", "cooperative-sticky"), RebalanceProtocol.EAGER),
        (("cooperative-sticky", "sticky"), RebalanceProtocol.EAGER),
        (("cooperative-sticky",), RebalanceProtocol.COOPERATIVE),
        (("roundrobin",), RebalanceProtocol.EAGER),
        (("sticky",), RebalanceProtocol.EAGER),
    ],
)
def test_a_member_is_cooperative_only_if_all_its_assignors_are(
    strategy: tuple[str, ...], protocol: RebalanceProtocol
) -> None:
    assert Bench(partition_assignment_strategy=strategy).member.membership.rebalance_protocol is protocol


# ---------------------------------------------------------------- the next generation


def test_an_eager_member_revokes_everything_before_it_joins_again() -> None:
    bench = Bench(**EAGER).stable("t0 t1")
    bench.at(3000).expire()
    bench.beaten(Error.REBALANCE_IN_PROGRESS)
    assert bench.poll() == [revoked("t0 t1")]
    assert bench.join.reason == "group is already rebalancing"
    assert decode_subscription(bench.join.protocols[0].metadata).owned_partitions == ()
    bench.joined(2)
    bench.synced("t1 t2")
    assert bench.poll() == [assigned("t1 t2", 2)]


def test_an_eager_member_without_partitions_is_notified_both_times() -> None:
    bench = Bench(**EAGER).rejoining("")
    bench.joined(2)
    bench.synced("")
    assert bench.poll() == [assigned("", 2)]
    bench.member.membership.request_rejoin("rebalance wanted")
    assert bench.poll() == [revoked("")]


def test_a_cooperative_member_keeps_what_it_keeps_and_rejoins_once_it_revoked_something() -> None:
    bench = Bench(**COOPERATIVE).rejoining("t0 t1")
    claim = decode_subscription(bench.join.protocols[0].metadata)
    assert (claim.owned_partitions, claim.generation_id) == (partitions("t0 t1"), 1)
    assert bench.member.owned_partitions == set(partitions("t0 t1"))
    bench.joined(2)
    bench.synced("t1 t2")
    assert bench.poll() == [revoked("t0"), assigned("t2", 2)]
    assert bench.join.reason == "need to revoke partitions and re-join"
    assert decode_subscription(bench.join.protocols[0].metadata).owned_partitions == partitions("t1 t2")
    bench.joined(3)
    bench.synced("t1 t2")
    assert bench.poll() == [assigned("", 3)]
    assert not bench.member.is_rebalancing


def test_a_cooperative_member_revokes_at_once_what_it_no_longer_subscribes_to() -> None:
    bench = Bench(**COOPERATIVE).stable("t0 u0")
    bench.subscribe("t")
    assert bench.poll() == [revoked("u0")]
    assert bench.join.reason == "subscription has changed"
    assert bench.member.owned_partitions == set(partitions("t0"))


def test_an_assignment_that_the_subscription_outgrew_is_not_taken_over() -> None:
    bench = Bench(**EAGER).completing()
    bench.synced("t0 u0")
    bench.subscribe("t")
    assert bench.poll() == [revoked("")]
    assert bench.join.reason == "received assignment does not match the current subscription"
    assert bench.member.owned_partitions == frozenset()


def test_a_generation_that_the_background_gave_up_is_not_taken_over() -> None:
    bench = Bench(**EAGER).completing()
    bench.synced("t0 t1")
    bench.at(3000).expire()
    bench.beaten(Error.UNKNOWN_MEMBER_ID)
    assert bench.poll() == []
    assert bench.join.reason == (
        "rebalance failed since the generation/state was modified by heartbeat thread to "
        "Generation{generationId=-1, memberId='', protocol='null'}/UNJOINED before the rebalance callback triggered"
    )


def test_a_member_that_is_asked_to_rebalance_before_it_polled_hands_its_assignment_over_first() -> None:
    bench = Bench(**EAGER).completing()
    bench.synced("t0")
    bench.at(3000).expire()
    bench.beaten(Error.REBALANCE_IN_PROGRESS)
    assert bench.poll() == [assigned("t0"), revoked("t0")]


def test_partitions_are_not_given_up_twice_for_one_rebalance() -> None:
    bench = Bench(**EAGER).rejoining("t0")
    bench.joined(2)
    bench.sync_refused(Error.REBALANCE_IN_PROGRESS)
    assert bench.poll() == []
    assert isinstance(bench.sent, JoinGroupRequest)


# ---------------------------------------------------------------- reasons of its own


def test_a_reason_is_cut_to_255_characters() -> None:
    bench = Bench(**COOPERATIVE).stable()
    bench.member.membership.request_rejoin("x" * 300)
    bench.poll()
    assert bench.join.reason == "x" * 255


def test_a_reason_is_given_once() -> None:
    bench = Bench(**COOPERATIVE).rejoining()
    bench.joined(2)
    bench.synced("t0 t1")
    bench.poll()
    bench.subscribe("t")
    bench.poll()
    assert bench.join.reason == "subscription has changed"


def test_a_leader_that_sees_new_partitions_joins_again() -> None:
    bench = Bench(**COOPERATIVE).stable("t0 t1 t2 t3 u0 u1", leads=True)
    bench.member.metadata_changed({"t": 5, "u": 2, "unrelated": 1})
    assert bench.poll() == []
    assert bench.join.reason == "cached metadata has changed"


def test_a_leader_watches_the_topics_of_others_too() -> None:
    bench = Bench(**COOPERATIVE, topics="t").completing(leads=True)
    bench.sync_refused(Error.REBALANCE_IN_PROGRESS)
    bench.poll()
    bench.joined(2, leads=True, members=[subscribed("app-1", "t"), subscribed("app-2", "t v")])
    bench.synced("t0")
    bench.poll()
    bench.member.metadata_changed({"t": 4, "u": 99, "v": 1})
    bench.poll()
    assert bench.join.reason == "cached metadata has changed"


def test_a_leader_does_not_care_about_topics_that_nobody_subscribes_to() -> None:
    bench = Bench(**COOPERATIVE).stable("t0", leads=True)
    bench.member.metadata_changed({"t": 4, "u": 2, "v": 1})
    bench.take()
    assert (bench.poll(), bench.take()) == ([], [])


def test_a_follower_does_not_watch_metadata_nor_one_that_led_before() -> None:
    bench = Bench(**COOPERATIVE).stable("t0", leads=True)
    bench.member.membership.request_rejoin("rebalance wanted")
    bench.poll()
    bench.joined(2, leads=False)
    bench.synced("t0")
    bench.poll()
    bench.member.metadata_changed({"t": 9})
    bench.take()
    assert (bench.poll(), bench.take()) == ([], [])


# ---------------------------------------------------------------- answers that do not fit


def test_a_join_group_answer_without_a_protocol_type_is_taken() -> None:
    bench = Bench().preparing()
    bench.joined(1, protocol_type=None)
    assert bench.member.state is MemberState.COMPLETING_REBALANCE


@pytest.mark.parametrize(
    ("bytes_received", "message"),
    [
        (b"", "the assignment received cannot be read: assignment: 0 bytes are no assignment: the leader made none"),
        (b"\x00\x01\x00", "the assignment received cannot be read: Assignment: partitions: bytes at byte"),
    ],
)
def test_an_assignment_that_cannot_be_read_fails_every_poll(bytes_received: bytes, message: str) -> None:
    bench = Bench().completing()
    bench.answer(bench.sent, SyncGroupResponse(assignment=bytes_received))
    for _ in range(2):
        (error,) = bench.poll()
        assert isinstance(error, FatalError)
        assert error.message.startswith(message)


def test_a_join_group_answered_after_the_member_left_is_of_no_use() -> None:
    bench = Bench().preparing()
    bench.subscribe("")
    bench.subscribe("t")
    bench.joined(1)
    assert bench.member.state is MemberState.UNJOINED
    bench.at(100).poll()
    assert bench.join.reason == "rebalance failed due to UnjoinedGroupException"
    assert bench.join.member_id == ""


def test_an_answer_of_another_api_is_a_mistake_of_the_caller() -> None:
    bench = Bench().connected()
    bench.poll()
    with pytest.raises(TypeError, match="ListGroupsResponse answers no request of a member"):
        bench.answer(bench.join, ListGroupsResponse())


def test_topics_and_partitions_may_stand_in_any_order_in_an_assignment() -> None:
    bench = Bench(**COOPERATIVE).completing()
    shuffled = encode_assignment(Assignment(partitions("u1 t3 t0 u0")))
    bench.answer(bench.sent, SyncGroupResponse(assignment=shuffled))
    assert bench.poll() == [assigned("t0 t3 u0 u1")]
