"""The parts of a run one by one: chance, time, who owns what, and that the checks of a run can fail."""

from __future__ import annotations

import pytest

from rollcall.answers.clients.config import ConsumerConfig
from rollcall.answers.clients.events import PartitionsAssigned, PartitionsLost
from rollcall.answers.clients.member import GroupMember
from rollcall.answers.simulation.network import between, fraction
from rollcall.answers.simulation.plan import ConsumerPlan, Schedule, WorldPlan
from rollcall.answers.simulation.record import ConsumerEvent, GroupEffect
from rollcall.answers.simulation.virtual_time import DEADLINE, VirtualTime
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.schemas.consumer_protocol import TopicPartition
from rollcall.schemas.effects import Reply, RequestParked, StateChanged
from tests.simulation.checks import GROUP, assert_always, assert_settled
from tests.simulation.ownership import DoubleOwnership, Ownership
from tests.simulation.watched import WatchedWorld

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


# ---------------------------------------------------------------- chance


def test_chance_depends_on_the_seed_and_on_what_it_decides_and_on_nothing_else() -> None:
    assert fraction(1, "lost", "a-1") == fraction(1, "lost", "a-1")
    others = {fraction(2, "lost", "a-1"), fraction(1, "lost", "a-2"), fraction(1, "lost", "a", "1")}
    assert len(others - {fraction(1, "lost", "a-1")}) == 3


def test_chance_is_spread_evenly() -> None:
    drawn = [between(1, 4, 7, number) for number in range(4000)]
    assert {number: 900 < drawn.count(number) < 1100 for number in range(0, 6)} == {
        0: False,
        1: True,
        2: True,
        3: True,
        4: True,
        5: False,
    }
    assert between(5, 5, 7) == 5


# ---------------------------------------------------------------- time


def test_time_does_what_is_due_in_order_and_deadlines_last() -> None:
    time = VirtualTime()
    done: list[str] = []
    time.at(20, done.append, "later")
    time.at(10, done.append, "deadline", rank=DEADLINE)
    time.at(10, done.append, "first")
    time.at(10, done.append, "second")
    time.run_until(15)
    assert (done, time.now_ms) == (["first", "second", "deadline"], 15)
    time.at(3, done.append, "late")
    time.run_until(20)
    assert (done[3:], time.now_ms) == (["late", "later"], 20)


# ---------------------------------------------------------------- who owns what


class Owners:
    """Two consumers whose sessions are valid unless said otherwise."""

    def __init__(self) -> None:
        self.invalid: set[str] = set()
        self.ownership = Ownership(VirtualTime(), lambda name: name not in self.invalid)

    @property
    def doubles(self) -> list[DoubleOwnership]:
        return self.ownership.doubles


def test_a_partition_owned_by_two_valid_consumers_is_recorded() -> None:
    owners = Owners()
    owners.ownership.take("a", GROUP, [T0, T1])
    owners.ownership.take("b", GROUP, [T1])
    assert owners.doubles == [DoubleOwnership(0, GROUP, T1, ("a", "b"))]


def test_a_partition_of_the_same_name_in_another_group_is_another() -> None:
    owners = Owners()
    owners.ownership.take("a", GROUP, [T0])
    owners.ownership.take("b", "other", [T0])
    assert owners.doubles == []


@pytest.mark.parametrize("is_dead", [True, False])
def test_a_partition_given_up_or_left_behind_by_a_dead_process_may_be_taken(is_dead: bool) -> None:
    owners = Owners()
    owners.ownership.take("a", GROUP, [T0, T1])
    owners.ownership.drop_all("a") if is_dead else owners.ownership.drop("a", GROUP, [T1])
    owners.ownership.take("b", GROUP, [T1])
    assert owners.doubles == []


def test_a_zombie_does_not_count_until_its_session_is_valid_again() -> None:
    owners = Owners()
    owners.ownership.take("a", GROUP, [T0])
    owners.invalid.add("a")
    owners.ownership.take("b", GROUP, [T0])
    assert owners.doubles == []
    owners.invalid.clear()
    owners.ownership.check()
    assert owners.doubles == [DoubleOwnership(0, GROUP, T0, ("a", "b"))]
    owners.ownership.drop("b", GROUP, [T0])
    owners.ownership.check()
    assert len(owners.doubles) == 1


# ---------------------------------------------------------------- the checks can fail


@pytest.fixture
def settled() -> WatchedWorld:
    config = ConsumerConfig(group_id=GROUP, client_id="app", enable_auto_commit=False)
    names = ("a", "b")
    world = WatchedWorld(WorldPlan(tuple(ConsumerPlan(name, config, ("t",), Schedule()) for name in names), {"t": 2}))
    world.run_until(20_000)
    assert_always(world)
    assert_settled(world)
    return world


def test_the_checks_see_a_double_ownership(settled: WatchedWorld) -> None:
    settled.double_ownerships.append(DoubleOwnership(0, GROUP, T0, ("a", "b")))
    with pytest.raises(AssertionError):
        assert_always(settled)


def test_the_checks_see_a_generation_that_falls(settled: WatchedWorld) -> None:
    fallen = StateChanged(
        at_ms=0,
        from_state=GroupState.STABLE,
        to_state=GroupState.PREPARING_REBALANCE,
        generation_id=0,
        protocol_type=None,
        protocol_name=None,
        leader_id=None,
    )
    settled.record.effects.append(GroupEffect(GROUP, fallen))
    with pytest.raises(AssertionError):
        assert_always(settled)


@pytest.mark.parametrize("event", [PartitionsAssigned((T0, T1), 1), PartitionsLost((TopicPartition("t", 9),))])
def test_the_checks_see_callbacks_that_do_not_add_up(
    settled: WatchedWorld, event: PartitionsAssigned | PartitionsLost
) -> None:
    settled.record.events.append(ConsumerEvent(20_000, "a", event))
    with pytest.raises(AssertionError):
        assert_always(settled)


def test_the_checks_see_a_request_that_is_answered_twice(settled: WatchedWorld) -> None:
    settled.record.effects.append(next(each for each in settled.record.effects if isinstance(each.effect, Reply)))
    with pytest.raises(AssertionError):
        assert_always(settled)


def test_the_checks_see_a_request_that_is_never_answered(settled: WatchedWorld) -> None:
    parked = {each.effect.request_id for each in settled.record.effects if isinstance(each.effect, RequestParked)}
    settled.record.effects = [
        each
        for each in settled.record.effects
        if not (isinstance(each.effect, Reply) and each.effect.request_id in parked)
    ]
    with pytest.raises(AssertionError):
        assert_always(settled)


def test_the_checks_see_a_partition_that_nobody_owns(settled: WatchedWorld) -> None:
    member = settled.consumers["a"].member
    assert isinstance(member, GroupMember)
    member.subscribe((), settled.now_ms)
    with pytest.raises(AssertionError):
        assert_settled(settled)
