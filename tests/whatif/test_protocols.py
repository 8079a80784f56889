"""The same schedules under either group protocol: what is inferred of the newer one's members, and what a change
does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rollcall.answers.clients.config import ApiVersions
from rollcall.answers.simulation.plan import ConsumerPlan, GroupProtocol, Schedule, Span, Subscribed, TopicChange
from rollcall.answers.whatif.answer import WhatIfAnswer, total
from rollcall.answers.whatif.changes import BASELINE, trial_of
from rollcall.answers.whatif.fidelity import fidelity_of
from rollcall.answers.whatif.inferred_schedules import schedules_of, why_left_out
from rollcall.answers.whatif.observed_processes import GroupObserver
from rollcall.answers.whatif.outcome import Outcome
from rollcall.answers.whatif.play import play
from tests.source_tree import ROOT
from tests.whatif.played import GROUP, consumer, rows_of, schedules_in, world
from tests.whatif.recordings import recording
from tests.whatif.stories import KILLED, ROLLING, STALLED, UNPOLLED, fidelity, recorded, setting

STORIES = {"rolling": ROLLING, "killed": KILLED, "stalled": STALLED, "unpolled": UNPOLLED}
NEWER, CLASSIC = "group.protocol=consumer", "group.protocol=classic session.timeout.ms=10000 assignor=range"
STATIC = [
    consumer("a"),
    consumer("b", Schedule(150, close_ms=40_000), group_instance_id="b"),
    consumer("b2", Schedule(44_000), host="/b", client_id="b", group_instance_id="b"),
]


def under(protocol: GroupProtocol, story: list[ConsumerPlan]) -> list[ConsumerPlan]:
    """The same processes, by one protocol."""
    return [replace(each, protocol=protocol) for each in story]


def causes_of(outcome: Outcome) -> list[tuple[str, str]]:
    return [(each.cause, each.client_id) for each in outcome.begun]


# ---------------------------------------------------------------- schedules of the newer protocol


@pytest.mark.parametrize("story", [*STORIES.values(), STATIC], ids=[*STORIES, "static"])
def test_what_was_played_by_the_newer_protocol_comes_again(story: list[ConsumerPlan]) -> None:
    found = fidelity(*under(GroupProtocol.CONSUMER, story))
    assert found.recorded >= 2
    assert found.has_same_rebalances
    assert found.same_culprit == found.recorded
    assert found.share == 1.0


def test_a_topic_that_grows_raises_the_epoch_again() -> None:
    story = under(GroupProtocol.CONSUMER, [consumer("a"), consumer("b", Schedule(150))])
    played = world(*story, changes=(TopicChange(60_000, "t", 8),))
    causes = [cause for cause, _ in causes_of(recorded(played, schedules_in(played)))]
    assert causes[-1] == "metadata_changed"


def test_a_subscription_that_changes_is_part_of_a_life() -> None:
    story = [consumer("a", Schedule(0, subscribed=(Subscribed(50_000, ("t", "u")),))), consumer("b", Schedule(150))]
    played = world(*under(GroupProtocol.CONSUMER, story))
    found = schedules_in(played)
    (changed,) = [schedule.subscribed for schedule in found.processes if schedule.subscribed]
    assert [each.topics for each in changed] == [("t", "u")]
    assert (
        causes_of(play(found, setting(NEWER)))[-1]
        == causes_of(recorded(played, found))[-1]
        == ("subscription_changed", "a")
    )
    assert causes_of(play(found, setting(CLASSIC)))[-1] == ("metadata_changed", "a")


def test_a_pattern_is_part_of_a_life_and_finds_the_topics_that_come() -> None:
    """Under the older protocol each client finds them by itself."""
    found = recording("q-consumer-slow").schedules["log-index"]
    assert {schedule.pattern for schedule in found.processes} == {"(^log[.].*)", "log[.].*"}
    assert [cause for cause, _ in causes_of(play(found, setting(NEWER)))] == ["pattern_resolved"] * 3
    moved = play(found, setting("group.protocol=classic"))
    assert moved.causes == {"member_joined": 2, "metadata_changed": 1}


def test_the_brokers_settings_change_when_a_death_is_found() -> None:
    found = schedules_in(world(*under(GroupProtocol.CONSUMER, KILLED)))
    short, long = (play(found, setting(f"group.consumer.session.timeout.ms={ms}")) for ms in (8_000, 30_000))
    assert short.detected == long.detected == 1
    assert long.longest_detection_ms - short.longest_detection_ms == pytest.approx(22_000, abs=10)
    assert long.unserved_partition_ms > short.unserved_partition_ms


# ---------------------------------------------------------------- moving to the other protocol


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
@pytest.mark.parametrize(
    ("lived", "other", "words"),
    [(GroupProtocol.CLASSIC, GroupProtocol.CONSUMER, NEWER), (GroupProtocol.CONSUMER, GroupProtocol.CLASSIC, CLASSIC)],
)
def test_moving_leads_to_what_the_same_processes_do_by_the_other_protocol(
    story: list[ConsumerPlan], lived: GroupProtocol, other: GroupProtocol, words: str
) -> None:
    """Played by one protocol, inferred, played by the other: as if they had spoken that from the beginning."""
    moved = play(schedules_in(world(*under(lived, story))), setting(words))
    there = world(*under(other, story))
    truly = recorded(there, schedules_in(there))
    assert causes_of(moved) == causes_of(truly)
    assert moved.generations == truly.generations
    assert moved.unserved_partition_ms == pytest.approx(truly.unserved_partition_ms, rel=0.1, abs=3_500)


def test_a_member_of_the_newer_protocol_is_never_stopped_as_a_whole() -> None:
    found = schedules_in(world(*ROLLING))
    was, moved = play(found, setting("group.protocol=classic")), play(found, setting(NEWER))
    assert was.stopped_member_ms > 0
    assert moved.stopped_member_ms == 0


def test_a_member_stalled_while_it_has_partitions_to_give_up_is_fenced_by_its_rebalance_timeout() -> None:
    slow = consumer("a", Schedule(0, pauses=(Span(33_100, 40_000),)), max_poll_interval_ms=5_000)
    newcomer = consumer("b", Schedule(31_000))
    played = world(*under(GroupProtocol.CONSUMER, [slow, newcomer]))
    truly = recorded(played, schedules_in(played))
    assert causes_of(truly)[-2][0] in ("rebalance_timeout", "session_expired")
    assert fidelity_of(truly, play(schedules_in(played), setting(NEWER))).has_same_rebalances


# ---------------------------------------------------------------- real groups


@pytest.mark.parametrize("name", ["o-consumer-protocol", "q-consumer-slow", "raw-sample"])
def test_every_real_group_of_the_newer_protocol_is_played(name: str) -> None:
    assert recording(name).left_out == {}


def test_a_group_whose_members_speak_both_protocols_is_left_out_with_the_reason() -> None:
    observer = GroupObserver(GROUP)
    both = [consumer("a"), replace(consumer("b"), protocol=GroupProtocol.CONSUMER)]
    for story in both:
        for row in rows_of(world(story)):
            observer.take(row)
    assert why_left_out(observer) == "its members speak both group protocols"
    assert schedules_of(observer, 0, 1000, {}) is None


def test_a_group_that_was_seen_to_subscribe_anew_alone_is_left_out_with_the_reason() -> None:
    observer = GroupObserver(GROUP)
    story = [consumer("a", Schedule(0, subscribed=(Subscribed(50_000, ("t", "u")),)))]
    for row in rows_of(world(*under(GroupProtocol.CONSUMER, story)), from_ms=30_000):
        observer.take(row)
    assert any(process.subscriptions for process in observer.processes)
    assert why_left_out(observer) == "nobody was seen to join it"
    assert schedules_of(observer, 30_000, 90_000, {}) is None


def test_moving_to_the_older_protocol_speaks_its_newest_versions() -> None:
    found = schedules_in(world(*under(GroupProtocol.CONSUMER, ROLLING)))
    assert found.processes
    assert {schedule.api_versions for schedule in found.processes} == {ApiVersions()}


def test_scaling_up_and_down_has_the_epochs_that_a_real_group_had_that_was_scaled_alike() -> None:
    """Two real groups of the same days, each scaled from one member to three and down again; one by each protocol."""
    classic, newer = (
        recording("n-classic-mixed").schedules["basket-svc"],
        recording("o-consumer-protocol").schedules["seats-svc"],
    )
    moved, back = play(classic, setting(NEWER)), play(newer, setting("group.protocol=classic assignor=range"))
    truly_newer, truly_classic = (
        recording("o-consumer-protocol").outcomes["seats-svc"],
        recording("n-classic-mixed").outcomes["basket-svc"],
    )
    assert moved.causes["member_joined"] == truly_newer.causes["member_joined"] == 3
    assert moved.stopped_member_ms == truly_newer.stopped_member_ms == 0
    assert moved.unserved_partition_ms == pytest.approx(truly_newer.unserved_partition_ms, rel=0.5)
    assert back.stopped_member_ms == pytest.approx(truly_classic.stopped_member_ms, rel=0.5)


def test_the_readme_shows_what_comes_of_it() -> None:
    found = recording("d-kill")
    baseline, moved = (
        total(play(schedules, each) for schedules in found.schedules.values()) for each in (BASELINE, setting(NEWER))
    )
    answer = WhatIfAnswer(found, trial_of([NEWER]), {}, ())
    runs = [answer.figures(each) for each in (total(found.outcomes.values()), baseline, moved)]
    named = {
        "rebalances": "rebalances",
        "member-seconds stopped": "stopped_member_s",
        "partition-seconds unserved": "unserved_partition_s",
        "  seconds to detect, mean": "mean_detection_s",
    }
    page = (ROOT / "docs" / "what-if.md").read_text()
    for name, key in named.items():
        cells = [f"{run[key]:.1f}" if key.endswith("_s") else str(run[key]) for run in runs]
        assert f"│ {name:28} │ {cells[0]:>8} │ {cells[1]:>8} │ {cells[2]:>7} │" in page
