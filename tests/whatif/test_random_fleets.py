"""Logs of random fleets, with stalls, deaths, losses and outages: schedules are always inferred and played."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from rollcall.answers.simulation.plan import WorldPlan
from rollcall.answers.simulation.world import World
from rollcall.answers.whatif.changes import trial_of
from rollcall.answers.whatif.outcome import Outcome
from rollcall.answers.whatif.play import play
from rollcall.schemas.messages import JoinGroupRequest
from tests.examples import examples
from tests.simulation.fleets import COOPERATIVE_FLEETS, EAGER_FLEETS, worlds
from tests.whatif.played import rows_of, schedules_in

UNTIL_MS = 90_000
TRIED = "session.timeout.ms=12000 assignor=cooperative-sticky static={} group.initial.rebalance.delay.ms=500"


def assert_adds_up(outcome: Outcome) -> None:
    assert sum(outcome.causes.values()) == outcome.rebalances == len(outcome.begun)
    assert 0 <= outcome.detected <= outcome.deaths
    assert 0 <= outcome.wrongly_expired <= outcome.expiries
    times_ms = (outcome.rebalancing_ms, outcome.stopped_member_ms, outcome.unserved_partition_ms, outcome.detection_ms)
    assert min(times_ms) >= 0
    assert outcome.longest_detection_ms <= outcome.detection_ms


@examples(12, 60)
@given(plan=worlds(EAGER_FLEETS + COOPERATIVE_FLEETS), is_static=st.booleans(), from_ms=st.sampled_from([0, 40_000]))
def test_any_log_is_inferred_and_played_and_its_figures_add_up(plan: WorldPlan, is_static: bool, from_ms: int) -> None:
    world = World(plan)
    world.run_until(UNTIL_MS)
    assume(any(isinstance(row.request, JoinGroupRequest) for row in rows_of(world, from_ms)))
    found = schedules_in(world, from_ms, UNTIL_MS)
    (changed,) = trial_of([TRIED.format(str(is_static).lower())]).settings
    for setting in (trial_of(["group.max.size=1000"]).settings[0], changed):
        assert_adds_up(play(found, setting))
    for schedule in found.processes:
        assert schedule.end_ms is None or schedule.start_ms <= schedule.end_ms + schedule.heartbeat_interval_ms
        assert all(each.length_ms >= 0 for each in schedule.pauses + schedule.slow)
