"""Random fleets in random trouble: whatever happens nothing is owned twice, and left in quiet every group settles."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from rollcall.answers.clients.config import ConsumerConfig
from rollcall.answers.simulation.plan import ConsumerPlan, NetworkPlan, Schedule, Span, WorldPlan
from tests.examples import examples
from tests.simulation.checks import GROUP, assert_always, assert_settled
from tests.simulation.fleets import COOPERATIVE_FLEETS, EAGER_FLEETS, QUIET_MS, worlds
from tests.simulation.watched import WatchedWorld


def run(plan: WorldPlan) -> WatchedWorld:
    world = WatchedWorld(plan)
    world.run_until(QUIET_MS)
    return world


@examples(15, 80)
@given(worlds(COOPERATIVE_FLEETS))
def test_a_cooperative_fleet_never_owns_a_partition_twice_and_settles(plan: WorldPlan) -> None:
    world = run(plan)
    assert_always(world)
    assert_settled(world)


@examples(15, 80)
@given(worlds(EAGER_FLEETS))
def test_an_eager_fleet_never_owns_a_partition_twice_and_settles(plan: WorldPlan) -> None:
    world = run(plan)
    assert_always(world)
    assert_settled(world)


@settings(max_examples=4)
@given(worlds(COOPERATIVE_FLEETS + EAGER_FLEETS))
def test_the_same_plan_gives_the_same_run(plan: WorldPlan) -> None:
    assert run(plan).record == run(plan).record


@pytest.mark.nightly
@pytest.mark.parametrize("strategy", ["cooperative-sticky", "range"])
def test_two_hundred_members_start_stall_die_and_close_and_settle(strategy: str) -> None:
    world = WatchedWorld(
        WorldPlan(tuple(big_fleet(strategy)), {"t": 300, "u": 101}, network=NetworkPlan((1, 20)), seed=7)
    )
    world.run_until(90_000)
    assert len(world.group(GROUP).members) == 200 - 2 * 8
    assert_always(world)
    assert_settled(world)


def big_fleet(strategy: str) -> list[ConsumerPlan]:
    """200 members that come within 5 s; of every 25 one closes, one is killed, one stands still for too long."""
    config = ConsumerConfig(
        group_id=GROUP,
        client_id="app",
        session_timeout_ms=10_000,
        max_poll_interval_ms=30_000,
        partition_assignment_strategy=(strategy,),
        enable_auto_commit=False,
    )
    ends = {
        1: lambda start_ms: Schedule(start_ms=start_ms, close_ms=15_000 + start_ms),
        2: lambda start_ms: Schedule(start_ms=start_ms, kill_ms=16_000 + start_ms),
        3: lambda start_ms: Schedule(start_ms=start_ms, pauses=(Span(17_000 + start_ms, 12_000),)),
    }
    return [
        ConsumerPlan(
            f"c{number}", config, ("t", "u"), ends.get(number % 25, lambda at: Schedule(start_ms=at))(number * 25)
        )
        for number in range(200)
    ]
