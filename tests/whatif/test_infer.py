"""Schedules inferred from a log: a simulated schedule is found again, as far as a log shows it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollcall.answers.clients.config import ApiVersions
from rollcall.answers.simulation.plan import Schedule, Span, TopicChange
from rollcall.answers.whatif.schedules import ProcessSchedule
from tests.whatif.played import UNTIL_MS, consumer, schedules_in, world

BEAT_MS = 3000
LIBRDKAFKA = ApiVersions(5, 3, 3, 1, 9)


def schedule_of(name: str, *schedules: ProcessSchedule) -> ProcessSchedule:
    return next(each for each in schedules if each.name == name)


def inferred(schedule: Schedule, **settings: Any) -> ProcessSchedule:
    """One process among two quiet ones."""
    played = world(consumer("a"), consumer("b", Schedule(start_ms=200)), consumer("c", schedule, **settings))
    return schedule_of("c", *schedules_in(played).processes)


def test_a_quiet_life_is_a_start_a_pace_and_no_end() -> None:
    schedule = inferred(Schedule(start_ms=20_000), session_timeout_ms=9000, heartbeat_interval_ms=1500)
    assert abs(schedule.start_ms - 20_000) <= 5
    assert (schedule.end_ms, schedule.pauses, schedule.slow, schedule.restart_after_ms) == (None, (), (), None)
    assert (schedule.terms.session_timeout_ms, schedule.terms.rebalance_timeout_ms) == (9000, 20_000)
    assert abs(schedule.heartbeat_interval_ms - 1500) <= 5
    assert (schedule.terms.topics, schedule.terms.assignors, schedule.was_there) == (("t",), ("range",), False)
    assert schedule.auto_commit_interval_ms is None


def test_a_close_is_found_to_the_moment() -> None:
    schedule = inferred(Schedule(start_ms=20_000, close_ms=50_000))
    assert schedule.close_ms is not None
    assert abs(schedule.close_ms - 50_000) <= 5


def test_a_kill_is_found_within_half_a_heartbeat() -> None:
    schedule = inferred(Schedule(start_ms=20_000, kill_ms=50_000))
    assert schedule.kill_ms is not None
    assert abs(schedule.kill_ms - 50_000) <= BEAT_MS // 2 + 5


def test_who_fell_silent_just_before_the_end_is_not_called_dead() -> None:
    assert inferred(Schedule(start_ms=20_000, kill_ms=UNTIL_MS - 4000)).end_ms is None


@pytest.mark.parametrize("length_ms", [8000, 25_000])
def test_a_stall_is_found_whether_or_not_the_session_outlives_it(length_ms: int) -> None:
    schedule = inferred(Schedule(start_ms=1000, pauses=(Span(40_000, length_ms),)), session_timeout_ms=12_000)
    (pause,) = schedule.pauses
    assert abs(pause.from_ms - 40_000) <= BEAT_MS
    assert abs(pause.to_ms - (40_000 + length_ms)) <= BEAT_MS
    assert schedule.end_ms is None


@pytest.mark.parametrize("versions", [ApiVersions(), LIBRDKAFKA])
def test_an_application_that_does_not_poll_for_too_long_is_found_busy_since_its_last_poll(
    versions: ApiVersions,
) -> None:
    schedule = inferred(Schedule(start_ms=1000, slow=(Span(40_000, 27_000),)), api_versions=versions)
    assert schedule.end_ms is None
    (slow,) = schedule.slow
    assert abs(slow.from_ms - 40_000) <= 5
    assert abs(slow.to_ms - 67_000) <= 5
    assert len(schedule.member_ids) == 2


def test_without_a_reason_and_a_connection_a_leave_and_a_return_are_two_processes() -> None:
    late = consumer("c", Schedule(slow=(Span(40_000, 27_000),)), api_versions=LIBRDKAFKA)
    schedules = schedules_in(world(consumer("a"), late), has_connections=False).processes
    assert [(each.name, each.close_ms is None) for each in schedules] == [("a", True), ("c", False), ("c#2", True)]


def test_an_application_that_keeps_a_rebalance_waiting_is_found_busy() -> None:
    played = world(
        consumer("a"), consumer("c", Schedule(slow=(Span(40_000, 12_000),))), consumer("d", Schedule(43_000))
    )
    (slow,) = schedule_of("c", *schedules_in(played).processes).slow
    assert slow.from_ms <= 43_000
    assert abs(slow.to_ms - 52_000) <= 5


def test_how_soon_it_rejoins_is_what_it_mostly_takes() -> None:
    slow_to_rejoin = consumer("c", Schedule(rejoin_delay_ms=400))
    played = world(consumer("a"), slow_to_rejoin, consumer("d", Schedule(30_000)), consumer("e", Schedule(60_000)))
    schedules = schedules_in(played).processes
    assert abs(schedule_of("c", *schedules).rejoin_delay_ms - 400) <= 5
    assert schedule_of("a", *schedules).rejoin_delay_ms <= 5


@pytest.mark.parametrize("has_connections", [True, False])
def test_a_fenced_process_that_its_supervisor_starts_anew_is_one_process(has_connections: bool) -> None:
    twins = [
        consumer(name, Schedule(start_ms=start_ms, restart_after_ms=4000), group_instance_id="pod")
        for name, start_ms in (("a", 0), ("b", 20_000))
    ]
    schedules = schedules_in(world(*twins), has_connections=has_connections).processes
    assert sorted(each.client_id for each in schedules) == ["a", "b"]
    assert [each.group_instance_id for each in schedules] == ["pod", "pod"]
    for schedule in schedules:
        assert schedule.restart_after_ms is not None
        assert abs(schedule.restart_after_ms - 4000) <= 50
        assert len(schedule.member_ids) > 2


def test_a_restart_of_its_own_accord_is_another_process() -> None:
    first = consumer("c", Schedule(close_ms=30_000))
    again = consumer("c2", Schedule(start_ms=33_000), host="/c", client_id="c")
    schedules = schedules_in(world(consumer("a"), first, again)).processes
    assert [each.name for each in schedules] == ["a", "c", "c#2"]
    assert schedule_of("c#2", *schedules).end_ms is None


def test_members_that_the_log_begins_with_were_there() -> None:
    played = world(consumer("a"), consumer("b"), consumer("d", Schedule(60_000)))
    found = schedules_in(played, from_ms=30_000)
    assert [(each.name, each.was_there) for each in found.processes] == [("a", True), ("b", True), ("d", False)]


def test_who_was_there_and_died_before_it_ever_joined_again_is_taken_to_be_set_up_as_the_others() -> None:
    played = world(consumer("a"), consumer("b"), consumer("c", Schedule(kill_ms=45_000)))
    found = schedules_in(played, from_ms=30_000)
    dead = schedule_of("c", *found.processes)
    assert dead.kill_ms is not None
    assert abs(dead.kill_ms - 45_000) <= BEAT_MS
    assert (dead.was_there, dead.terms.session_timeout_ms, dead.terms.topics) == (True, 10_000, ("t",))


def test_topics_are_as_large_as_assignments_show_and_grow_when_they_show_more() -> None:
    found = schedules_in(world(consumer("a"), consumer("b"), changes=(TopicChange(50_000, "t", 9),)))
    assert found.topics == {"t": 6}
    (growth,) = found.growths
    assert (growth.topic, growth.partitions) == ("t", 9)
    assert abs(growth.at_ms - 50_000) <= 5


def test_the_way_to_the_broker_is_measured() -> None:
    assert schedules_in(world(consumer("a"), consumer("b"))).latency_ms == (1, 1)


@given(
    start_ms=st.integers(0, 30_000),
    lived_ms=st.integers(15_000, 50_000),
    is_killed=st.booleans(),
    commits=st.booleans(),
    beat_ms=st.sampled_from([1000, 2000, 3000]),
)
def test_any_plain_life_is_found_again(
    start_ms: int, lived_ms: int, is_killed: bool, commits: bool, beat_ms: int
) -> None:
    end_ms = start_ms + lived_ms
    schedule = Schedule(start_ms, kill_ms=end_ms) if is_killed else Schedule(start_ms, close_ms=end_ms)
    found = inferred(schedule, heartbeat_interval_ms=beat_ms, enable_auto_commit=commits)
    assert abs(found.start_ms - start_ms) <= 5
    assert abs(found.heartbeat_interval_ms - beat_ms) <= 5
    assert (found.kill_ms is not None, found.close_ms is not None) == (is_killed, not is_killed)
    assert found.end_ms is not None
    assert abs(found.end_ms - end_ms) <= (beat_ms + 5 if is_killed else 5)
    assert (found.auto_commit_interval_ms is not None) == commits
    assert (found.pauses, found.slow) == ((), ())
