"""Members of a consumer group that go: by their word, by a timer, away for now; and static members that come back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from rollcall.coordinator_udfs.protocol.lifecycle import resume_group
from rollcall.schemas.causes import EndCause
from rollcall.schemas.consumer_effects import MemberLeftForNow
from rollcall.schemas.effects import MemberJoined, MemberRemoved, RebalanceEnded
from rollcall.schemas.errors import Error
from tests.protocol.consumer_bench import ConsumerBench
from tests.protocol.rules import rule

STATIC: dict[str, Any] = {"instance_id": "i1"}


def static_member() -> ConsumerBench:
    """m1 is static and has t1."""
    bench = ConsumerBench(topics={"t1": 4})
    bench.join("m1", "t1", **STATIC)
    return bench


# ---------------------------------------------------------------- going


class Names(tuple[str, ...]):
    """The topics that a member names; counts how often all of them are read."""

    read = 0

    def __iter__(self) -> Iterator[str]:
        Names.read += 1
        return super().__iter__()

    def __hash__(self) -> int:
        Names.read += 1
        return super().__hash__()


@rule("Leaving: costs by what the member named, not by what all the others do")
def test_who_leaves_makes_nobody_elses_topics_be_read() -> None:
    bench = ConsumerBench(topics={f"t{number}": 1 for number in range(20)}, session_timeout_ms=10_000)
    for number in range(40):
        bench.join(f"m{number}", *(f"t{(number + place) % 20}" for place in range(10)))
    for member in bench.consumer.members.values():
        member.topics = Names(member.topics)
        bench.consumer.note_changed(member)
    Names.read = 0
    for number in range(10):
        bench.leave(f"m{number}")
    bench.tick(30_000)
    assert bench.consumer.members == {}
    assert 0 < Names.read < 4 * 40


@rule("Leaving: an Empty group keeps its epoch and goes on counting")
def test_an_empty_group_goes_on_counting() -> None:
    bench = ConsumerBench().with_members("m1")
    bench.leave("m1")
    assert (bench.state, bench.epoch) == ("Empty", 3)
    assert bench.of(RebalanceEnded)[-1].outcome == "empty"
    assert bench.join("m1", "t1").epoch == 4


@rule(
    "Sessions: each heartbeat that is not refused renews one; silence ends it",
    origin="testSessionTimeoutLifecycle testSessionTimeoutExpiration",
)
def test_sessions() -> None:
    bench = ConsumerBench(session_timeout_ms=10_000).with_members("m1")
    bench.at(6_000).beat("m1")
    assert bench.at(12_000).heartbeat("m1", 9).error is Error.FENCED_MEMBER_EPOCH
    bench.tick(15_999)
    assert "m1" in bench.consumer.members
    bench.tick(16_000)
    assert (bench.state, bench.of(MemberRemoved)[-1].end_cause) == ("Empty", EndCause.SESSION_EXPIRED)


@rule("Sessions: several that end one after the other raise the epoch each time")
def test_two_silent_members() -> None:
    bench = ConsumerBench(session_timeout_ms=10_000).with_members("m1")
    bench.at(10).join("m2", "t1")
    bench.tick(20_000)
    assert (bench.state, bench.epoch) == ("Empty", 5)


@rule("Sessions: commits renew none")
def test_commits_keep_nobody_alive() -> None:
    bench = ConsumerBench(session_timeout_ms=10_000).with_members("m1")
    bench.at(9_000).commit("m1", 2)
    bench.tick(10_000)
    assert bench.state == "Empty"


@rule(
    "Rebalance timeout: runs while a member has something to give up, anew from each such step",
    origin="testRebalanceTimeoutLifecycle testRebalanceTimeoutExpiration",
)
def test_who_does_not_give_up_in_time_is_removed() -> None:
    bench = ConsumerBench(topics={"t1": 4})
    bench.join("m1", "t1", rebalance_timeout_ms=5_000)
    bench.at(1_000).join("m2", "t1")
    bench.at(2_000).beat("m1")
    bench.at(6_000).beat("m1")
    bench.tick(7_000)
    assert (list(bench.consumer.members), bench.epoch) == (["m2"], 4)
    removed = bench.of(MemberRemoved)[-1]
    assert (removed.member_id, removed.end_cause) == ("m1", EndCause.REBALANCE_TIMEOUT)
    assert bench.of(RebalanceEnded)[-1].slowest_client_id == "m1"
    assert bench.beat("m1").error is Error.UNKNOWN_MEMBER_ID
    assert bench.beat("m2").assigned == {"t1": [0, 1, 2, 3]}


@rule(
    "Load: sessions run anew for all, rebalance timers for who has something to give up",
    origin="testOnLoaded testOnLoadedSessionTimeoutExpiration",
)
def test_a_loaded_group_gives_everybody_time() -> None:
    bench = ConsumerBench(topics={"t1": 4}, session_timeout_ms=20_000)
    bench.join("m1", "t1", rebalance_timeout_ms=5_000)
    bench.join("m2", "t1")
    bench.beat("m1")
    bench.at(4_000).load()
    assert {m.session_deadline_ms for m in bench.consumer.members.values()} == {24_000}
    assert [timer.deadline_ms for timer in bench.member("m1").timers.values()] == [9_000]
    bench.tick(9_000)
    assert list(bench.consumer.members) == ["m2"]


@rule("Load: a coordinator that slept gives every timer its time back")
def test_resumed_timers() -> None:
    bench = ConsumerBench(topics={"t1": 4}, session_timeout_ms=20_000)
    bench.join("m1", "t1", rebalance_timeout_ms=5_000)
    bench.join("m2", "t1")
    bench.beat("m1")
    resume_group(bench.group, 100_000, bench.config)
    assert bench.group.next_due_ms == 105_000
    assert {m.session_deadline_ms for m in bench.consumer.members.values()} == {120_000}


# ---------------------------------------------------------------- static members


@rule(
    "Static members: one that leaves for now stays a member, keeps what it has, and raises no epoch",
    origin="testNoGroupEpochBumpWhenStaticMemberTemporarilyLeaves",
)
def test_a_static_member_goes_for_now() -> None:
    bench = static_member()
    answer = bench.leave("m1", -2, **STATIC)
    assert (answer.error, answer.epoch, answer.response.heartbeat_interval_ms) == (Error.NONE, -2, 0)
    assert (bench.state, bench.epoch, bench.describe().members[0].member_epoch) == ("Reconciling", 2, -2)
    assert bench.consumer.owner_of("t1", 0) == "m1"
    assert len(bench.of(MemberLeftForNow)) == 1


@rule("Static members: what one that goes for now was giving up is free at once")
def test_pending_partitions_of_who_is_away_are_free() -> None:
    bench = static_member()
    bench.join("m2", "t1")
    bench.beat("m1")
    bench.leave("m1", -2, **STATIC)
    assert bench.beat("m2").assigned == {"t1": [2, 3]}


@rule(
    "Static members: back under another id it has its partitions and the group's epoch, and raises none",
    origin="testStaticMemberGetsBackAssignmentUponRejoin testReplaceStaticMember",
)
@pytest.mark.parametrize("member_id", ["m1", "m9"])
def test_a_static_member_comes_back(member_id: str) -> None:
    bench = static_member()
    bench.leave("m1", -2, **STATIC)
    answer = bench.join(member_id, "t1", **STATIC)
    assert (answer.epoch, answer.assigned, bench.epoch) == (2, {"t1": [0, 1, 2, 3]}, 2)
    assert list(bench.consumer.members) == [member_id]
    assert bench.member(member_id).assigned == {"t1": dict.fromkeys(range(4), 0)}
    assert bench.of(MemberJoined)[-1].replaces_member_id == "m1"
    assert bench.state == "Stable"


@rule(
    "Static members: back with other topics it raises the epoch",
    origin="testStaticMemberRejoinsWithNewSubscribedTopics",
)
def test_a_static_member_comes_back_for_something_else() -> None:
    bench = static_member()
    bench.set_topics(t2=1)
    bench.leave("m1", -2, **STATIC)
    answer = bench.join("m2", "t2", **STATIC)
    assert (answer.epoch, answer.assigned) == (3, {"t2": [0]})


@rule(
    "Static members: an unknown instance is UNKNOWN_MEMBER_ID, another's FENCED_INSTANCE_ID, in leaves too",
    origin="testShouldThrownUnknownMemberIdExceptionWhenUnknownStaticMemberJoins "
    "testShouldThrownUnknownMemberIdExceptionWhenUnknownStaticMemberLeaves "
    "testShouldThrowFencedInstanceIdExceptionWhenStaticMemberWithDifferentMemberIdJoins "
    "testShouldThrowFencedInstanceIdExceptionWhenStaticMemberWithDifferentMemberIdLeaves",
)
@pytest.mark.parametrize("epoch", [2, -1, -2])
def test_instance_ids_are_checked(epoch: int) -> None:
    bench = static_member()
    assert bench.heartbeat("m1", epoch, instance_id="i9").error is Error.UNKNOWN_MEMBER_ID
    assert bench.heartbeat("m2", epoch, **STATIC).error is Error.FENCED_INSTANCE_ID


@rule(
    "Static members: their epochs are fenced as everybody's; after leaving for now every positive one is",
    origin="testConsumerGroupMemberEpochValidationForStaticMember",
)
def test_epochs_of_static_members() -> None:
    bench = static_member()
    assert bench.heartbeat("m1", 3, **STATIC).error is Error.FENCED_MEMBER_EPOCH
    assert bench.heartbeat("m1", 1, **STATIC).error is Error.FENCED_MEMBER_EPOCH
    assert bench.heartbeat("m1", 2, **STATIC).error is Error.NONE
    bench.leave("m1", -2, **STATIC)
    assert bench.heartbeat("m1", 2, **STATIC).error is Error.FENCED_MEMBER_EPOCH


@rule("Static members: a member that is known gains an instance id without a new epoch")
def test_a_dynamic_member_becomes_static() -> None:
    bench = ConsumerBench().with_members("m1")
    assert bench.join("m1", "t1", **STATIC).epoch == 2
    assert bench.consumer.static_member_id("i1") == "m1"
