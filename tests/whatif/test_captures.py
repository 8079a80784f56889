"""The baseline of every recorded incident against its recording: what a what-if of it is worth."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from rollcall.answers.whatif.answer import refuse_unfit, share_of
from rollcall.answers.whatif.changes import BASELINE, SettingError, trial_of
from rollcall.answers.whatif.fidelity import Fidelity, fidelity_of
from rollcall.answers.whatif.play import play
from tests.request_log.truth import OF_LAG
from tests.source_tree import ROOT
from tests.whatif.recordings import FOLDER, recording, recording_of

NAMES = sorted({path.parent.name for path in FOLDER.glob("*/requests.log.gz")} - {OF_LAG})
NOT_THE_SAME = {
    # Two members of a librdkafka group rejoin half a second apart after a revocation, so two rounds follow.
    "g-coop-vs-range": {"stock-rdk-coop"},
    # kafkajs beats at the pace of its fetches, so whether a close falls before or after it heard of a rebalance is
    # chance; aiokafka rejoins in the background while its application does not poll (grp-36).
    "j-busy-1": {"grp-14", "grp-23", "grp-34", "grp-36"},
}
NEWER_TRUTH = {"app-new-protocol": {"causes": {"member_joined": 1}, "epochs": 1}}
"""Of groups of the newer protocol whose truth was written down of classic groups alone: one consumer came."""
LEAST_SHARE = {"g-coop-vs-range": 0.96, "j-busy-1": 0.97}


@cache
def fidelities(name: str) -> dict[str, Fidelity]:
    found = recording(name)
    return {
        group: fidelity_of(found.outcomes[group], play(of_group, BASELINE))
        for group, of_group in found.schedules.items()
    }


@cache
def truth(name: str) -> dict[str, Any]:
    return json.loads((FOLDER / name / "truth.json").read_text())


@pytest.mark.parametrize("name", NAMES)
def test_what_is_counted_of_the_recording_is_the_truth(name: str) -> None:
    for group, outcome in recording(name).outcomes.items():
        reported = truth(name)["groups"][group]
        newer = NEWER_TRUTH.get(group) or reported.get("consumer", {}).get("summary")
        if newer:
            assert outcome.causes == newer["causes"], group
            assert outcome.rebalances == newer["epochs"], group
            continue
        assert outcome.causes == reported["summary"]["causes"], group
        assert outcome.generations == reported["summary"]["completed_generations_with_members"], group


@pytest.mark.parametrize("name", NAMES)
def test_the_baseline_has_the_recorded_rebalances_with_their_causes(name: str) -> None:
    found = fidelities(name)
    parted = {group for group, each in found.items() if not each.has_same_rebalances}
    assert parted == NOT_THE_SAME.get(name, set()), {group: found[group] for group in parted}
    assert share_of(found.values()) >= LEAST_SHARE.get(name, 1.0)


@pytest.mark.parametrize("name", NAMES)
def test_the_baseline_stops_members_for_about_as_long(name: str) -> None:
    recorded, played = (sum(each.stopped_member_ms[i] for each in fidelities(name).values()) for i in (0, 1))
    assert played == pytest.approx(recorded, rel=0.08)


def test_kills_and_closes_are_inferred_where_they_happened() -> None:
    """Each within a heartbeat of what the driver of the incident did."""
    missed = []
    for event in truth("j-busy-1")["timeline"] + truth("d-kill")["timeline"]:
        is_in_the_log = any(event["group"] in recording(name).schedules for name in ("j-busy-1", "d-kill"))
        if event["action"] not in ("kill", "stop") or not is_in_the_log:
            continue
        schedules = [
            schedule
            for name in ("j-busy-1", "d-kill")
            for group, of_group in recording(name).schedules.items()
            for schedule in of_group.processes
            if group == event["group"] and schedule.client_host == f"/{event['host']}" and schedule.end_ms is not None
        ]
        if not any(
            abs((schedule.end_ms or 0) - event["t_ms"]) <= schedule.heartbeat_interval_ms + 200
            for schedule in schedules
        ):
            missed.append((event["group"], event["member"], event["action"]))
    assert missed == []


def test_a_process_is_one_life_however_often_it_was_given_an_id() -> None:
    starts = [event for event in truth("j-busy-1")["timeline"] if event["action"] == "start"]
    groups = recording("j-busy-1").schedules
    assert sum(len(schedules.processes) for schedules in groups.values()) == sum(
        event["group"] in groups for event in starts
    )


@pytest.mark.parametrize(
    ("played", "assignor", "real"),
    [
        ("stock-java-range", "cooperative-sticky", "stock-java-coop"),
        ("stock-java-coop", "range", "stock-java-range"),
        ("stock-rdk-coop", "range", "stock-rdk-range"),
    ],
)
def test_a_what_if_predicts_what_a_real_group_did_with_that_setting(played: str, assignor: str, real: str) -> None:
    """Both groups went through the same churn at the same time, one with each assignor."""
    found = recording("g-coop-vs-range")
    (setting,) = trial_of([f"assignor={assignor}"]).settings
    outcome, truly = play(found.schedules[played], setting), found.outcomes[real]
    assert [each.cause for each in outcome.begun] == [each.cause for each in truly.begun]
    assert (outcome.generations, outcome.partitions_moved) == (truly.generations, truly.partitions_moved)
    assert outcome.stopped_member_ms == pytest.approx(truly.stopped_member_ms, rel=0.08)
    assert outcome.unserved_partition_ms == pytest.approx(truly.unserved_partition_ms, rel=0.3)


INCIDENTS = ROOT / "tests" / "request_log" / "incidents"


def test_what_is_set_for_a_group_alone_is_in_force_and_may_be_changed() -> None:
    found = recording_of(INCIDENTS / "sessions.log.gz")
    assert {
        group: schedules.configs.get("consumer.session.timeout.ms") for group, schedules in found.schedules.items()
    } == {
        "orders": "8000",
        "mails": "6000",
        "fix": "10000",
        "plain": None,
    }
    (longer,) = trial_of(["groups.orders.consumer.session.timeout.ms=20000"]).settings
    for group, schedules in found.schedules.items():
        as_it_was, changed = play(schedules, BASELINE), play(schedules, longer)
        assert fidelity_of(found.outcomes[group], as_it_was).share == 1.0
        later_ms = (changed.mean_detection_ms or 0) - (as_it_was.mean_detection_ms or 0)
        assert later_ms == (12_000 if group == "orders" else 0), group
    with pytest.raises(SettingError, match=r"the log has no group other"):
        refuse_unfit(found, trial_of(["groups.other.consumer.session.timeout.ms=20000"]))
    with pytest.raises(
        SettingError, match=r"of group orders consumer.session.timeout.ms must be greater than consumer.h"
    ):
        refuse_unfit(found, trial_of(["groups.orders.consumer.session.timeout.ms=1000"]))


@pytest.mark.parametrize(
    ("name", "parted"),
    [
        ("java", set()),
        ("full-group", set()),
        # Races of a few ms, and what a stopped process had under way.
        ("clients", {"big-start", "static-kp", "zombie-rdk"}),
        # A coordinator that fails is not played.
        ("failover", {"fo-c", "fo-st"}),
    ],
)
def test_further_incidents_are_played_as_they_were_but_for_these(name: str, parted: set[str]) -> None:
    found = recording_of(INCIDENTS / f"{name}.log.gz")
    fidelity = {
        group: fidelity_of(found.outcomes[group], play(of_group, BASELINE))
        for group, of_group in found.schedules.items()
    }
    assert {group for group, each in fidelity.items() if not each.has_same_rebalances} == parted
    assert bool(found.moved) == (name == "failover")
