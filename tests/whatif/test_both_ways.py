"""The same churn lived through by groups of a real broker under either protocol: each is predicted from the other.

In each log four groups of four consumers, two of Kafka's own client and two of librdkafka, are started, one member
leaves, one comes and one is killed, all at the same times; one group of each client is under the newer protocol.
The sessions are 15 s. In `logs/started-at-once.log.gz` the first three members of a group start together, in
`logs/started-apart.log.gz` ten seconds apart.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from rollcall.answers.whatif.changes import BASELINE
from rollcall.answers.whatif.fidelity import fidelity_of
from rollcall.answers.whatif.outcome import Outcome
from rollcall.answers.whatif.play import play
from rollcall.answers.whatif.recording import Recording
from tests.whatif.recordings import recording_of
from tests.whatif.stories import setting

LOGS = Path(__file__).parent / "logs"
NAMES = sorted(path.name for path in LOGS.glob("*.log.gz"))
NEARNESS = {"started-at-once.log.gz": (0.2, 0.4), "started-apart.log.gz": (0.4, 0.5)}
"""How near the seconds that members were stopped come to the truth, and those that partitions were unserved. Which of
two heartbeats comes first is chance, and each is up to five seconds of some partitions; the clients' machine was busy.
"""
BROKER = {"group.consumer.session.timeout.ms": "15000"}
TO_NEWER = "group.protocol=consumer"
TO_CLASSIC = "group.protocol=classic session.timeout.ms=15000 heartbeat.interval.ms=3000 assignor=range"
CLIENTS = ("java", "rdk")


@cache
def recording(name: str) -> Recording:
    return recording_of(LOGS / name, BROKER)


def story(outcome: Outcome) -> list[str]:
    """Which rebalances began, in order."""
    return [each.cause for each in outcome.begun]


@pytest.mark.parametrize("name", NAMES)
def test_each_group_played_as_it_was_has_its_own_rebalances_again(name: str) -> None:
    found = recording(name)
    assert len(found.schedules) == 4
    for group, schedules in found.schedules.items():
        assert fidelity_of(found.outcomes[group], play(schedules, BASELINE)).has_same_rebalances, group


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("client", CLIENTS)
def test_a_classic_group_moved_to_the_newer_protocol_is_as_the_one_that_was_under_it(client: str, name: str) -> None:
    found = recording(name)
    was, truly = found.outcomes[f"{client}-classic"], found.outcomes[f"{client}-consumer"]
    moved = play(found.schedules[f"{client}-classic"], setting(TO_NEWER))
    assert story(moved) == story(truly)
    assert was.stopped_member_ms > 0
    assert moved.partitions_moved == truly.partitions_moved
    assert moved.stopped_member_ms == truly.stopped_member_ms == 0
    assert moved.unserved_partition_ms == pytest.approx(truly.unserved_partition_ms, rel=NEARNESS[name][1])
    assert moved.longest_detection_ms == pytest.approx(truly.longest_detection_ms, abs=3_000)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("client", CLIENTS)
def test_a_group_of_the_newer_protocol_moved_back_is_as_the_classic_one(client: str, name: str) -> None:
    found = recording(name)
    was, truly = found.outcomes[f"{client}-consumer"], found.outcomes[f"{client}-classic"]
    moved = play(found.schedules[f"{client}-consumer"], setting(TO_CLASSIC))
    assert story(moved) == story(truly)
    assert was.stopped_member_ms == 0
    assert moved.generations == truly.generations
    assert moved.partitions_moved == truly.partitions_moved
    assert moved.stopped_member_ms == pytest.approx(truly.stopped_member_ms, rel=NEARNESS[name][0])
    assert moved.unserved_partition_ms == pytest.approx(truly.unserved_partition_ms, rel=NEARNESS[name][1])


def test_three_that_start_together_are_one_rebalance_of_the_older_protocol_and_three_of_the_newer() -> None:
    outcomes = recording("started-at-once.log.gz").outcomes
    for client in CLIENTS:
        assert outcomes[f"{client}-classic"].causes["member_joined"] == 2
        assert outcomes[f"{client}-consumer"].causes["member_joined"] == 4
