"""Printed rebalances that a request log or a dump beside contradicts are not believed, however they were forged."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from functools import cache
from zoneinfo import ZoneInfo

import pytest

from rollcall.history.facts import Fact
from rollcall.inputs.believed_lines import beyond, fact_of, without_contradicted
from rollcall.inputs.merged_facts import GroupRecorded
from rollcall.inputs.offsets_topic.beside_growing_lines import MergingLines
from rollcall.inputs.printed.groups.forgeable import without_forged
from rollcall.inputs.printed.groups.logged_effects import shown_effects_of
from rollcall.inputs.printed.lines.entries import Clock
from rollcall.inputs.printed.logged_facts import FactKind, LoggedFact
from rollcall.inputs.printed.logged_rebalances import LoggedGroup, LoggedRebalance
from rollcall.inputs.recorded_groups import beside_lines
from rollcall.inputs.recordings import Recordings, read_recordings
from rollcall.schemas.causes import Cause, CauseKind
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effect_rows import row_of
from rollcall.schemas.effects import GroupFound, GroupObserved, GroupRemoved, RebalanceEnded
from tests.printed.forged import ATTACKS, LEADER, groups_of, story
from tests.printed.growth import AT_MOST, growth
from tests.printed.recorded import BROKERS, CAPTURES, NAMES
from tests.printed.recorded import groups_of as printed_groups
from tests.written_effects import effect

CAPTURE, GROUP = "n-classic-mixed", "basket-svc"
MEMBER = "basket-svc-1-91c8ab41-418b-4192-8267-4eb1f9f21c0e"
"""It is a member of generation 4, as long as the recordings last."""
QUIET = "2026-11-21 22:04:0"
"""No rebalance is within 12 s of it."""
LOG, TOPIC = "requests.log.gz", "offsets-topic.jsonl.gz"
BESIDE = [pytest.param(files, id="-".join(files)) for files in ((LOG,), (TOPIC,), (LOG, TOPIC))]


@cache
def recorded(name: str, files: tuple[str, ...]) -> Recordings:
    found = [str(CAPTURES / name / file) for file in files if (CAPTURES / name / file).exists()]
    return read_recordings(
        [file for file in found if file.endswith(LOG)],
        [file for file in found if file.endswith(TOPIC)],
        ZoneInfo("UTC"),
    )


def beside(name: str, files: tuple[str, ...], lines: LoggedGroup) -> LoggedGroup:
    of_group = Recordings()
    of_group.groups[lines.group_id] = recorded(name, files).groups[lines.group_id]
    (found,) = beside_lines(of_group, [lines], Clock.UTC)
    return found


def forged(attack: Callable[[str], str], victim: str, generation_id: int = 5) -> LoggedGroup:
    """The broker's log of the capture, with what the attack writes in a quiet time."""
    text = attack(victim).replace("orders", GROUP).replace(LEADER, MEMBER).replace("2026-03-01 03:12:0", QUIET)
    text = text.replace("old generation 1 ", f"old generation {generation_id - 1} ")
    text = text.replace(f"{GROUP} generation 2 ", f"{GROUP} generation {generation_id} ")
    text = text.replace("for generation 2.", f"for generation {generation_id}.")
    lines = gzip.decompress((BROKERS / f"{CAPTURE}.log.gz").read_bytes()).decode().splitlines()
    before = [line for line in lines if line < f"[{QUIET}"]
    after = lines[len(before) :] if attack is not story else []  # The member's own leave shows the forgery.
    return groups_of([*before, *text.splitlines(), *after])[GROUP]


@pytest.mark.parametrize("files", BESIDE)
@pytest.mark.parametrize(("attack", "victim"), [*ATTACKS, pytest.param(story, MEMBER, id="lines-alone")])
def test_a_forged_rebalance_is_not_believed_beside_a_recording(
    attack: Callable[[str], str], victim: str, files: tuple[str, ...]
) -> None:
    lines = forged(attack, victim)
    assert 5 in {one.generation_id for one in lines.rebalances}
    found = beside(CAPTURE, files, lines)
    assert [one.generation_id for one in found.rebalances if one.generation_id] == [1, 2, 3, 4]
    assert not [one for one in found.findings if victim in one.sentence and not one.is_inferred]
    merging = MergingLines()
    believed = shown_effects_of(without_forged(lines))
    merging.take(map(fact_of, believed), recorded(CAPTURE, (TOPIC,)).groups[GROUP].facts)
    assert merging.decide(1 << 60).added == []


@pytest.mark.parametrize("generation_id", [2, 9])
def test_it_says_which_lines_it_does_not_believe(generation_id: int) -> None:
    lines = forged(story, MEMBER, generation_id)
    left, (sentence,) = without_contradicted(lines, recorded(CAPTURE, (LOG,)).groups[GROUP])
    assert len(left.rebalances) == len(lines.rebalances) - 1
    assert sentence.startswith("What 4 lines of server.log from line ")
    assert f"generation {generation_id} was not formed then" in sentence


@pytest.mark.parametrize("files", BESIDE)
def test_what_a_broker_printed_is_contradicted_by_no_recording(files: tuple[str, ...]) -> None:
    compared = 0
    for name in NAMES:
        if not all((CAPTURES / name / file).exists() for file in files):
            continue
        by_recording = recorded(name, files).groups
        for group_id, lines in printed_groups(name).items():
            if group_id in by_recording:
                assert without_contradicted(lines, by_recording[group_id]) == (lines, []), (name, group_id)
                compared += len(lines.rebalances)
    assert compared > 50


def many(rebalances: int) -> Recordings:
    """A recording of a group with one generation each minute."""
    found = Recordings()
    for number in range(rebalances):
        at_ms = 60_000 * number
        generations = {"from_generation_id": number, "to_generation_id": number + 1}
        ended = effect(RebalanceEnded, at_ms, **generations, started_at_ms=at_ms, cause=Cause(kind=CauseKind.UNKNOWN))
        found.groups[GROUP].facts.append(Fact(at_ms, number + 1, EffectName.REBALANCE_ENDED, content=ended))
    return found


def printed(rebalances: int) -> LoggedGroup:
    """The same generations half a minute later, and between them as many that a recording contradicts."""
    found = LoggedGroup(GROUP, "classic", [], [])
    for number in range(2 * rebalances):
        at_ms = 30_000 * (number + 1)
        line = LoggedFact(FactKind.REBALANCE_BEGAN, "server.log", number + 1, at_ms)
        generation_id = number // 2 + 1 if number % 2 else 1_000_000 + number
        found.facts.append(line)
        found.rebalances.append(
            LoggedRebalance(GROUP, generation_id - 1, generation_id, began_at_ms=at_ms, facts=[line])
        )
    return found


def test_lines_beside_a_recording_take_time_in_proportion_to_the_rebalances() -> None:
    def read(beside: tuple[Recordings, LoggedGroup]) -> None:
        recorded, lines = beside
        beside_lines(recorded, [lines], Clock.UTC)

    left, _ = without_contradicted(printed(20), many(20).groups[GROUP])
    assert 20 <= len(left.rebalances) < 40
    assert growth(read, lambda size: (many(size), printed(size)), 250) <= AT_MOST


def test_generations_of_lines_between_those_that_are_recorded_are_not_at_other_times() -> None:
    """Compaction leaves the last record of a group; which generations were before it, and when, only lines say."""
    lines = printed_groups(CAPTURE)[GROUP]
    ended = effect(RebalanceEnded, 1 << 41, from_generation_id=0, to_generation_id=9, started_at_ms=1 << 41)
    of_group = Recordings()
    of_group.groups[GROUP].take([row_of(ended, 1)])
    beside_lines(of_group, [lines], Clock.UTC)
    assert len(lines.rebalances) == 4
    assert of_group.left_out == []


@pytest.mark.parametrize(("member_id", "is_believed"), [(MEMBER, True), ("k8pUqsWHQNeDV6tdqca6hQ", False)])
def test_members_of_a_classic_group_prove_its_generation(member_id: str, is_believed: bool) -> None:
    """Those of a consumer group may be behind it."""
    seen = GroupObserved(at_ms=100_000, why="", is_away=False, is_loaded=False, generation_id=3, member_ids=[member_id])
    found = GroupFound(at_ms=0, group_type="", generation_id=2)
    facts = [Fact(one.at_ms, 1, str(one.__struct_config__.tag), content=one) for one in (found, seen)]
    line = LoggedFact(FactKind.REBALANCE_BEGAN, "server.log", 1, 50_000)
    lines = LoggedGroup(GROUP, rebalances=[LoggedRebalance(GROUP, 2, 3, 50_000, facts=[line])])
    left, _ = without_contradicted(lines, GroupRecorded(facts, until_ms=200_000))
    assert (left == lines) == is_believed


@pytest.mark.parametrize(
    ("recorded", "left"),
    [
        ([], [1, 2, 3, 4]),
        ([(2, 3)], [1, 2, 4]),
        ([(2, 3), (0, 1), (1, 2)], [4]),
        ([(0, 1), (3, (1 << 31) - 2)], [2, 3]),
    ],
)
def test_lines_add_the_generations_that_a_recording_lacks(recorded: list[tuple[int, int]], left: list[int]) -> None:
    lines = LoggedGroup(
        GROUP, "classic", [], [LoggedRebalance(GROUP, number - 1, number, 60_000) for number in range(1, 5)]
    )
    assert [one.generation_id for one in beyond(lines, recorded)] == left


def test_a_partition_s_last_record_proves_no_generation_of_a_group_that_is_removed() -> None:
    generations = {"from_generation_id": 2, "to_generation_id": 3}
    ended = effect(RebalanceEnded, 1_000, **generations, started_at_ms=900, cause=Cause(kind=CauseKind.UNKNOWN))
    removed = GroupRemoved(at_ms=90_000, why="unknown", generation_id=3)
    facts = [Fact(one.at_ms, 1, str(one.__struct_config__.tag), content=one) for one in (ended, removed)]
    line = LoggedFact(FactKind.REBALANCE_BEGAN, "server.log", 1, 50_000)
    lines = LoggedGroup(GROUP, rebalances=[LoggedRebalance(GROUP, 3, 4, 50_000, facts=[line])])
    assert without_contradicted(lines, GroupRecorded(facts, until_ms=200_000)) == (lines, [])
    assert without_contradicted(lines, GroupRecorded(facts[:1], until_ms=200_000)) != (lines, [])
