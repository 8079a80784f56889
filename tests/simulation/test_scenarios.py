"""Known stories, played to the millisecond: rolling restarts, a leader that dies at the wrong moment, lost answers."""

from __future__ import annotations

from typing import Any

import pytest

from rollcall.answers.clients.config import ApiVersions, ConsumerConfig
from rollcall.answers.clients.events import FatalError, LeftGroup, PartitionsAssigned, PartitionsLost, PartitionsRevoked
from rollcall.answers.clients.member import GroupMember
from rollcall.answers.simulation.consumer import Mode
from rollcall.answers.simulation.plan import (
    ConsumerPlan,
    NetworkPlan,
    Schedule,
    Span,
    TopicChange,
    WorldPlan,
)
from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.schemas.causes import CauseKind
from rollcall.schemas.consumer_protocol import TopicPartition
from rollcall.schemas.effects import MemberRemoved, RebalanceEnded, Reply, StateChanged
from rollcall.schemas.errors import Error
from tests.simulation.checks import GROUP, assert_always, assert_settled, assigned_partitions
from tests.simulation.lossy import Loss, LossyPlan
from tests.simulation.watched import WatchedWorld

STEADY = NetworkPlan(latency_ms=(1, 1))
NO_DELAY = GroupConfig(group_initial_rebalance_delay_ms=0)


def consumer(name: str, schedule: Schedule | None = None, **settings: Any) -> ConsumerPlan:
    config = ConsumerConfig(
        **{
            "group_id": GROUP,
            "client_id": name,
            "session_timeout_ms": 10_000,
            "max_poll_interval_ms": 30_000,
            "enable_auto_commit": False,
            "partition_assignment_strategy": ("cooperative-sticky",),
            **settings,
        }
    )
    return ConsumerPlan(name, config, ("t",), schedule or Schedule())


def play(*consumers: ConsumerPlan, until_ms: int, partitions: int = 6, **fields: Any) -> WatchedWorld:
    """Runs to a moment of quiet; what must always hold, holds."""
    plan = WorldPlan(consumers, {"t": partitions}, **{"group_config": NO_DELAY, "network": STEADY, **fields})
    world = WatchedWorld(plan)
    world.run_until(until_ms)
    assert_always(world)
    return world


def rebalances(world: WatchedWorld, since_ms: int = 0) -> list[tuple[CauseKind, str, str]]:
    """(cause, culprit, outcome) of every rebalance that began since then."""
    ended = [each.effect for each in world.record.effects if isinstance(each.effect, RebalanceEnded)]
    return [
        (each.cause.kind, each.cause.client_id, each.outcome) for each in ended if (each.started_at_ms or 0) >= since_ms
    ]


def reported(world: WatchedWorld, name: str, since_ms: int = 0) -> list[tuple[int, object]]:
    """(when, what) a consumer's application has learnt since then, except its connection's news."""
    return [
        (each.at_ms, each.event)
        for each in world.record.events
        if each.consumer == name
        and each.at_ms >= since_ms
        and isinstance(each.event, PartitionsAssigned | PartitionsRevoked | PartitionsLost | FatalError | LeftGroup)
    ]


def owned(world: WatchedWorld, name: str) -> set[int]:
    return {each.partition for each in world.consumers[name].owned_partitions}


def parts(*numbers: int) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition("t", number) for number in numbers)


# ---------------------------------------------------------------- a first start


def test_the_first_members_of_a_group_wait_for_the_initial_delay_and_start_together() -> None:
    config = GroupConfig(group_initial_rebalance_delay_ms=3000)
    by_range: dict[str, Any] = {"partition_assignment_strategy": ("range",)}
    plans = (consumer("a", **by_range), consumer("b", Schedule(start_ms=500), **by_range))
    world = play(*plans, until_ms=10_000, group_config=config)
    assert_settled(world)
    assert rebalances(world) == [(CauseKind.MEMBER_JOINED, "a", "completed")]
    # a's second JoinGroup arrives at 5 ms; b came meanwhile, so the delay runs once more; then answers and a sync.
    assert reported(world, "a") == [(6008, PartitionsAssigned(parts(0, 1, 2), 1))]
    assert reported(world, "b") == [(6008, PartitionsAssigned(parts(3, 4, 5), 1))]


# ---------------------------------------------------------------- rolling restarts


def rolling(instance_ids: bool, **settings: Any) -> list[ConsumerPlan]:
    """Three pods; each is stopped in its turn and is back when the others have settled."""
    plans = []
    for number in range(3):
        instance_id = f"pod-{number}" if instance_ids else None
        stop_ms = 20_000 + 10_000 * number
        each = {"client_id": f"pod-{number}", "group_instance_id": instance_id, **settings}
        plans.append(consumer(f"{number}-before", Schedule(start_ms=100 * number, close_ms=stop_ms), **each))
        plans.append(consumer(f"{number}-after", Schedule(start_ms=stop_ms + 5000), **each))
    return plans


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_a_rolling_restart_of_dynamic_members_rebalances_twice_a_pod(strategy: str) -> None:
    world = play(*rolling(instance_ids=False, partition_assignment_strategy=(strategy,)), until_ms=60_000)
    assert_settled(world)
    causes = [(cause, culprit) for cause, culprit, _ in rebalances(world, 15_000)]
    own = [each for each in causes if each[0] is not CauseKind.COOPERATIVE_FOLLOWUP]
    assert own == [
        (kind, f"pod-{number}") for number in range(3) for kind in (CauseKind.MEMBER_LEFT, CauseKind.MEMBER_JOINED)
    ]
    assert (CauseKind.COOPERATIVE_FOLLOWUP in dict(causes)) is (strategy == "cooperative-sticky")


@pytest.mark.parametrize("version", [5, 9])
@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_a_rolling_restart_of_static_members_rebalances_not_once(strategy: str, version: int) -> None:
    settings: dict[str, Any] = {
        "partition_assignment_strategy": (strategy,),
        "api_versions": ApiVersions(join_group=version, sync_group=3 if version == 5 else 5),
    }
    before = play(*rolling(instance_ids=True, **settings), until_ms=19_000)
    world = play(*rolling(instance_ids=True, **settings), until_ms=60_000)
    assert_settled(world)
    assert rebalances(world, 15_000) == []
    assert world.group(GROUP).generation_id == before.group(GROUP).generation_id
    for number in range(3):
        assert owned(world, f"{number}-after") == owned(before, f"{number}-before")
        assert owned(world, f"{number}-before") == set()


def test_a_static_member_that_stays_away_is_expired_and_its_partitions_go_to_the_others() -> None:
    world = play(
        consumer("a", Schedule(kill_ms=20_000), group_instance_id="pod-0"),
        consumer("b", group_instance_id="pod-1"),
        until_ms=60_000,
    )
    assert_settled(world)
    assert rebalances(world, 15_000) == [(CauseKind.SESSION_EXPIRED, "a", "completed")]
    assert owned(world, "b") == {0, 1, 2, 3, 4, 5}


# ---------------------------------------------------------------- deaths at the wrong moment


def leader_of(world: WatchedWorld) -> str:
    """Who led the group's last completed rebalance."""
    members = {name: each.member for name, each in world.consumers.items()}
    (name,) = [
        name for name, member in members.items() if isinstance(member, GroupMember) and member.membership.is_leader
    ]
    return name


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_a_leader_killed_between_its_join_and_its_sync_is_expired_and_another_leads(strategy: str) -> None:
    settings: dict[str, Any] = {"partition_assignment_strategy": (strategy,)}
    first = play(*(consumer(name, **settings) for name in "abc"), until_ms=15_000)
    leader = leader_of(first)
    late = consumer("d", Schedule(start_ms=20_000), **settings)
    # The newcomer makes them all rejoin; the leader has just been answered when it dies.
    completing_ms = next(
        each.effect.at_ms
        for each in play(*(consumer(name, **settings) for name in "abc"), late, until_ms=40_000).record.effects
        if isinstance(each.effect, StateChanged)
        and each.effect.at_ms > 20_000
        and each.effect.to_state is GroupState.COMPLETING_REBALANCE
    )
    schedules = {name: Schedule(kill_ms=completing_ms) if name == leader else Schedule() for name in "abc"}
    world = play(*(consumer(name, schedules[name], **settings) for name in "abc"), late, until_ms=90_000)
    assert_settled(world)
    assert rebalances(world, 20_000)[:2] == [
        (CauseKind.MEMBER_JOINED, "d", "superseded"),
        (CauseKind.SESSION_EXPIRED, leader, "completed"),
    ]
    assert leader_of(world) != leader


def test_the_whole_fleet_killed_leaves_an_empty_group_behind() -> None:
    plans = (consumer("a", Schedule(kill_ms=10_000)), consumer("b", Schedule(kill_ms=10_000)))
    dead = play(*plans, until_ms=10_000)
    assert (len(dead.group(GROUP).members), dead.has_valid_session("a")) == (2, False)
    world = play(*plans, until_ms=40_000)
    assert_settled(world)
    assert world.group(GROUP).state is GroupState.EMPTY
    removed = [each.effect for each in world.record.effects if isinstance(each.effect, MemberRemoved)]
    assert [each.end_cause for each in removed] == ["session_expired", "session_expired"]


# ---------------------------------------------------------------- lost messages


@pytest.mark.parametrize("is_noticed", [True, False])
@pytest.mark.parametrize("is_answer", [True, False])
@pytest.mark.parametrize("api", ["FindCoordinator", "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup"])
@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_any_one_lost_message_is_made_up_for(strategy: str, api: str, is_answer: bool, is_noticed: bool) -> None:
    lost = Loss("b", api, nth=2 if api == "JoinGroup" else 1, is_answer=is_answer, is_noticed=is_noticed)
    world = play(
        consumer("a", partition_assignment_strategy=(strategy,)),
        consumer("b", Schedule(start_ms=5000, close_ms=100_000), partition_assignment_strategy=(strategy,)),
        consumer("c", Schedule(start_ms=7000), partition_assignment_strategy=(strategy,)),
        until_ms=200_000,
        network=LossyPlan(latency_ms=(1, 1), losses=(lost,)),
    )
    assert [(each.consumer, each.is_answer) for each in world.lost] == [("b", is_answer)]
    assert_settled(world)
    assert world.consumers["b"].mode is Mode.ABSENT


def test_the_answers_of_a_rebalance_all_lost_are_made_up_for_once_the_requests_time_out() -> None:
    names = "abcd"
    lost = tuple(Loss(name, "SyncGroup", nth=1, is_answer=True) for name in names)
    world = play(
        *(consumer(name, request_timeout_ms=8000) for name in names),
        until_ms=60_000,
        network=LossyPlan(latency_ms=(1, 1), losses=lost),
        group_config=GroupConfig(group_initial_rebalance_delay_ms=1000),
    )
    assert len(world.lost) == 4
    assert_settled(world)
    assert {cause for cause, _, _ in rebalances(world, 5000)} == {CauseKind.MEMBER_REJOINED}


def test_a_coordinator_out_of_reach_for_longer_than_a_session_costs_everybody_the_membership() -> None:
    world = play(
        consumer("a"),
        consumer("b"),
        until_ms=120_000,
        network=LossyPlan(latency_ms=(1, 1), outages=(Span(20_000, 15_000),)),
    )
    assert_settled(world)
    for name in "ab":
        kinds = [type(event) for _, event in reported(world, name, 20_000)]
        assert kinds[0] is PartitionsLost


# ---------------------------------------------------------------- stalls and slow applications


def test_a_member_that_stood_still_past_its_session_is_a_zombie_until_it_learns_better() -> None:
    plans = (consumer("a", Schedule(pauses=(Span(20_000, 15_000),))), consumer("b"))
    during = play(*plans, until_ms=34_000)
    assert during.consumers["a"].owned_partitions & during.consumers["b"].owned_partitions
    assert not during.has_valid_session("a")
    assert during.has_valid_session("b")
    world = play(*plans, until_ms=60_000)
    assert_settled(world)
    back_ms, first = reported(world, "a", 20_000)[0]
    assert isinstance(first, PartitionsLost)
    assert 35_000 <= back_ms <= 35_010


def test_a_member_that_stood_still_for_less_than_its_session_is_not_missed() -> None:
    world = play(consumer("a", Schedule(pauses=(Span(20_000, 6000),))), consumer("b"), until_ms=60_000)
    assert_settled(world)
    assert rebalances(world, 15_000) == []


def test_an_application_that_works_too_long_leaves_and_is_back_with_its_next_poll() -> None:
    world = play(consumer("a", Schedule(slow=(Span(20_000, 35_000),))), consumer("b"), until_ms=90_000)
    assert_settled(world)
    assert [each[:2] for each in rebalances(world, 15_000)] == [
        (CauseKind.POLL_TIMEOUT, "a"),
        (CauseKind.MEMBER_JOINED, "a"),
        (CauseKind.COOPERATIVE_FOLLOWUP, "b"),
    ]
    (left_at_ms, left), (lost_at_ms, lost) = reported(world, "a", 15_000)[:2]
    assert isinstance(left, LeftGroup)
    # Its last poll was when the heartbeat before the work began was answered, or at the start of the work.
    assert 48_000 <= left_at_ms <= 50_000
    assert (lost_at_ms, type(lost)) == (55_000, PartitionsLost)


def test_a_slow_application_holds_a_rebalance_up_until_it_polls() -> None:
    plans = (consumer("a", Schedule(slow=(Span(20_000, 12_000),))), consumer("b", Schedule(start_ms=21_000)))
    during = play(*plans, until_ms=31_999)
    assert during.group(GROUP).state is GroupState.PREPARING_REBALANCE
    assert sorted(len(each) for each in assigned_partitions(during).values()) == [0, 6]
    world = play(*plans, until_ms=60_000)
    assert_settled(world)
    joined = next(at_ms for at_ms, event in reported(world, "b") if isinstance(event, PartitionsAssigned))
    assert 32_000 <= joined <= 32_050


# ---------------------------------------------------------------- who may not be in


def test_a_member_without_a_common_protocol_is_refused_and_the_group_goes_on() -> None:
    world = play(
        consumer("a"),
        consumer("b"),
        consumer("c", Schedule(start_ms=10_000), partition_assignment_strategy=("range",)),
        until_ms=40_000,
    )
    assert_settled(world)
    (_, fatal), *_ = reported(world, "c")
    assert isinstance(fatal, FatalError)
    assert fatal.error is Error.INCONSISTENT_GROUP_PROTOCOL
    assert world.consumers["c"].mode is Mode.ABSENT
    assert rebalances(world, 10_000) == []


def test_a_full_group_refuses_the_next_member() -> None:
    config = GroupConfig(group_max_size=2, group_initial_rebalance_delay_ms=0)
    plans = [consumer(name, Schedule(start_ms=at_ms)) for name, at_ms in (("a", 0), ("b", 5000), ("c", 10_000))]
    world = play(*plans, until_ms=40_000, group_config=config)
    assert_settled(world)
    (_, fatal), *_ = reported(world, "c")
    assert isinstance(fatal, FatalError)
    assert fatal.error is Error.GROUP_MAX_SIZE_REACHED


def test_two_processes_with_one_instance_id_fence_each_other_in_turn() -> None:
    again = 5000
    world = play(
        consumer("a", Schedule(restart_after_ms=again), client_id="one", group_instance_id="clash"),
        consumer("b", Schedule(start_ms=10_000, restart_after_ms=again), client_id="two", group_instance_id="clash"),
        until_ms=60_000,
    )
    fenced = [(each.consumer, each.event.error) for each in world.record.events if isinstance(each.event, FatalError)]
    assert len(fenced) >= 4
    assert [name for name, _ in fenced] == (["a", "b"] * len(fenced))[: len(fenced)]
    assert {error for _, error in fenced} == {Error.FENCED_INSTANCE_ID}
    assert rebalances(world, 10_000) == []


# ---------------------------------------------------------------- topics


def test_new_partitions_are_shared_out_by_the_leader_that_sees_them() -> None:
    world = play(consumer("a"), consumer("b"), until_ms=60_000, topic_changes=(TopicChange(20_000, "t", 8),))
    assert_settled(world)
    assert owned(world, "a") | owned(world, "b") == set(range(8))
    assert rebalances(world, 15_000)[0][0] is CauseKind.METADATA_CHANGED


def test_a_static_leader_that_comes_back_by_an_old_version_does_not_know_that_it_leads() -> None:
    """Known of Kafka before KIP-814: nobody watches the topics then, until some rebalance elects a leader that does."""
    old = {"api_versions": ApiVersions(join_group=5, sync_group=3), "group_instance_id": "pod-0"}
    plans = (
        consumer("a", Schedule(close_ms=15_000), **old),
        consumer("a again", Schedule(start_ms=16_000), client_id="a", **old),
        consumer("b", Schedule(start_ms=500)),
    )
    world = play(*plans, until_ms=60_000, topic_changes=(TopicChange(20_000, "t", 8),))
    assert rebalances(world, 15_000) == []
    assert owned(world, "a again") | owned(world, "b") == set(range(6))


# ---------------------------------------------------------------- connections


def test_a_leave_group_waits_behind_a_parked_join_group_of_its_connection() -> None:
    """A broker reads a connection's next request only when it has answered the one before."""
    world = play(
        consumer("a", Schedule(slow=(Span(20_000, 12_000),))),
        consumer("b", Schedule(start_ms=21_000, close_ms=25_000)),
        until_ms=60_000,
    )
    assert_settled(world)
    left = next(
        each.effect
        for each in world.record.effects
        if isinstance(each.effect, Reply) and each.effect.api == "LeaveGroup"
    )
    assert 32_000 <= left.at_ms <= 32_050


def test_what_waits_on_the_connection_of_a_dead_process_is_never_read() -> None:
    by_range: dict[str, Any] = {"partition_assignment_strategy": ("range",)}
    world = play(
        consumer("a", Schedule(slow=(Span(20_000, 12_000),)), **by_range),
        consumer("b", Schedule(start_ms=21_000, close_ms=25_000, kill_ms=26_000), **by_range),
        until_ms=80_000,
    )
    assert_settled(world)
    assert not any(isinstance(each.effect, Reply) and each.effect.api == "LeaveGroup" for each in world.record.effects)
    assert [cause for cause, _, _ in rebalances(world, 32_000)] == [CauseKind.SESSION_EXPIRED]


# ---------------------------------------------------------------- plans


def test_an_application_that_comes_late_to_a_rebalance_makes_the_others_wait_for_just_that_long() -> None:
    prompt = play(consumer("a"), consumer("b", Schedule(start_ms=5000)), until_ms=60_000)
    late = play(consumer("a", Schedule(rejoin_delay_ms=700)), consumer("b", Schedule(start_ms=5000)), until_ms=60_000)
    assert second_rebalance_ms(late) - second_rebalance_ms(prompt) == 700


def second_rebalance_ms(world: WatchedWorld) -> int:
    ended = [each.effect for each in world.record.effects if isinstance(each.effect, RebalanceEnded)]
    assert ended[1].started_at_ms is not None
    return ended[1].at_ms - ended[1].started_at_ms


def test_what_reached_a_group_is_on_record_in_order() -> None:
    world = play(consumer("a", Schedule(close_ms=20_000)), until_ms=40_000)
    arrived = [(type(each).__name__, each.received_at_ms) for each in world.record.arrived]
    assert [name for name, _ in arrived][:3] == ["JoinGroupRequest", "JoinGroupRequest", "SyncGroupRequest"]
    assert arrived[-1] == ("LeaveGroupRequest", 20_001)
    assert arrived == sorted(arrived, key=lambda each: each[1])
