"""Schedules played again: with nothing changed it is what it was; with a setting changed, what that setting does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rollcall.answers.simulation.plan import ConsumerPlan, Schedule, TopicChange
from rollcall.answers.whatif.changes import BASELINE, SettingError
from rollcall.answers.whatif.play import plan_of, play
from tests.whatif.played import UNTIL_MS, consumer, schedules_in, world
from tests.whatif.stories import KILLED, ROLLING, STALLED, UNPOLLED, fidelity, recorded, setting


@pytest.mark.parametrize(
    "story", [ROLLING, KILLED, STALLED, UNPOLLED], ids=["rolling", "killed", "stalled", "unpolled"]
)
def test_with_nothing_changed_the_same_rebalances_come_again(story: list[ConsumerPlan]) -> None:
    found = fidelity(*story)
    assert found.recorded >= 2
    assert found.has_same_rebalances
    assert found.same_culprit == found.recorded
    assert found.is_stopped_alike
    assert found.share == 1.0


def test_a_topic_that_grew_grows_again() -> None:
    found = fidelity(consumer("a"), consumer("b"), changes=(TopicChange(50_000, "t", 9),))
    assert (found.recorded, found.matched, found.played) == (2, 2, 2)


def test_members_that_were_there_are_there_and_their_joining_is_not_counted() -> None:
    found = schedules_in(world(consumer("a"), consumer("b"), consumer("c", Schedule(80_000))), from_ms=30_000)
    outcome = play(found, BASELINE)
    assert [each.cause for each in outcome.begun] == ["member_joined"]
    assert outcome.begun[0].client_id == "c"


@pytest.mark.parametrize("from_ms", [30_000, 31_000, 32_500])
def test_members_that_were_there_beat_in_the_recorded_step(from_ms: int) -> None:
    played = world(consumer("a"), consumer("b", Schedule(20_000)), consumer("c", Schedule(80_000)))
    found = schedules_in(played, from_ms)
    assert play(found, BASELINE).stopped_member_ms == pytest.approx(recorded(played, found).stopped_member_ms, abs=30)


def test_a_death_that_the_log_begins_before_comes_again() -> None:
    found = schedules_in(world(*KILLED), from_ms=30_000)
    assert play(found, BASELINE).causes == {"session_expired": 1}


def test_a_longer_session_finds_a_death_later_and_a_shorter_one_sooner() -> None:
    found = schedules_in(world(*KILLED))
    late = {ms: play(found, setting(f"session.timeout.ms={ms}")) for ms in (6000, 10_000, 30_000)}
    detection_ms = [outcome.detection_ms for outcome in late.values()]
    assert [each.detected for each in late.values()] == [1, 1, 1]
    assert detection_ms[1] - detection_ms[0] == pytest.approx(4000, abs=50)
    assert detection_ms[2] - detection_ms[1] == pytest.approx(20_000, abs=50)
    assert late[30_000].unserved_partition_ms > late[10_000].unserved_partition_ms > late[6000].unserved_partition_ms


def test_a_longer_session_outlives_a_stall() -> None:
    found = schedules_in(world(*STALLED))
    before, after = play(found, BASELINE), play(found, setting("session.timeout.ms=30000"))
    assert (before.expiries, before.wrongly_expired) == (1, 1)
    assert (after.expiries, after.wrongly_expired) == (0, 0)
    assert after.rebalances == before.rebalances - 2


def test_a_longer_poll_interval_outlives_a_busy_application() -> None:
    found = schedules_in(world(*UNPOLLED))
    before, after = play(found, BASELINE), play(found, setting("max.poll.interval.ms=60000"))
    assert before.causes["poll_timeout"] == 1
    assert "poll_timeout" not in after.causes
    assert after.rebalances < before.rebalances


def test_static_members_restart_without_a_rebalance_if_they_are_back_in_time() -> None:
    found = schedules_in(world(*ROLLING))
    before, after = play(found, BASELINE), play(found, setting("static=true"))
    assert before.causes["member_left"] == 2
    assert (after.causes, after.partitions_moved, after.deaths) == ({"member_joined": 1}, 0, 0)
    assert after.unserved_partition_ms == pytest.approx(2 * 2 * 3000, abs=100)


def test_a_static_member_that_is_not_back_in_time_costs_a_rebalance_and_its_partitions_time() -> None:
    outcome = play(
        schedules_in(world(*ROLLING)), setting("static=true session.timeout.ms=6000 group.min.session.timeout.ms=1000")
    )
    short = play(
        schedules_in(world(*ROLLING)),
        setting("static=true session.timeout.ms=2500 heartbeat.interval.ms=500 group.min.session.timeout.ms=1000"),
    )
    assert outcome.causes == {"member_joined": 1}
    assert short.causes["session_expired"] == 2
    assert (short.deaths, short.detected) == (2, 2)


def test_static_false_takes_instance_ids_away() -> None:
    pods = [replace(each, config=replace(each.config, group_instance_id=f"pod-{each.host}")) for each in ROLLING]
    found = schedules_in(world(*pods))
    assert play(found, BASELINE).causes == {"member_joined": 1}
    assert play(found, setting("static=false")).causes["member_left"] == 2


def test_a_cooperative_assignor_keeps_members_going() -> None:
    found = schedules_in(world(consumer("a"), consumer("b", Schedule(100)), consumer("c", Schedule(40_000))))
    eager, cooperative = play(found, BASELINE), play(found, setting("assignor=cooperative-sticky"))
    assert cooperative.causes == {"member_joined": 2, "cooperative_followup": 1}
    assert cooperative.stopped_member_ms < eager.stopped_member_ms
    assert cooperative.partitions_moved <= eager.partitions_moved


def test_a_longer_initial_delay_is_waited_for_and_saves_a_rebalance() -> None:
    found = schedules_in(world(consumer("a"), consumer("b", Schedule(2000))))
    before, after = play(found, BASELINE), play(found, setting("group.initial.rebalance.delay.ms=3000"))
    assert (before.rebalances, after.rebalances) == (2, 1)
    assert after.stopped_member_ms > before.stopped_member_ms


def test_a_full_group_turns_members_away() -> None:
    outcome = play(
        schedules_in(world(consumer("a"), consumer("b", Schedule(5000)), consumer("c", Schedule(9000)))),
        setting("max.size=2"),
    )
    assert outcome.refused == 1


def test_an_assignor_of_a_librarys_own_is_played_under_its_name() -> None:
    found = schedules_in(world(consumer("a"), consumer("b")))
    strange = replace(
        found,
        processes=tuple(replace(each, terms=replace(each.terms, assignors=("Homemade",))) for each in found.processes),
    )
    assert play(strange, BASELINE).causes == {"member_joined": 1}


def test_sessions_no_longer_than_the_pace_of_heartbeats_are_refused_by_name() -> None:
    found = schedules_in(world(consumer("a"), consumer("b")))
    with pytest.raises(SettingError, match=r"session\.timeout\.ms=2000: a of group fleet would beat every 300\d ms"):
        plan_of(found, setting("session.timeout.ms=2000 group.min.session.timeout.ms=1000"))


def test_the_same_lives_and_setting_always_lead_to_the_same() -> None:
    found = schedules_in(world(*STALLED))
    assert play(found, BASELINE) == play(found, BASELINE)
    assert found.until_ms == UNTIL_MS
