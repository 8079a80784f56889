"""A client's clock beside its broker's: how far apart they are, how sure that is, and what is moved by it."""

from __future__ import annotations

import pytest

from rollcall.inputs.printed.lines.entries import Clock
from rollcall.inputs.printed.reading import FileRead, align, merged, read_files
from rollcall.inputs.printed.story import groups_in
from tests.printed.recorded import BROKERS
from tests.source_tree import ROOT

CLIENT = ROOT / "tests" / "printed" / "clients" / "mails-send-1.log.gz"
TWO_HOURS_MS = 7_200_000


def read_with(ahead_ms: int) -> list[FileRead]:
    """The broker's log, and a client's whose clock is ahead of the one that it had."""
    broker, client = read_files([str(BROKERS / "ca-mixed.log.gz"), str(CLIENT)])
    client.facts = [fact._replace(at_ms=(fact.at_ms or 0) + ahead_ms) for fact in client.facts]
    return [broker, client]


@pytest.mark.parametrize(
    ("ahead_ms", "said"),
    [
        (0, "its clock is 1 ms behind the broker's, to within 1 ms"),
        (90_000, "its clock is 1 min 30.0 s ahead of the broker's"),
        (-TWO_HOURS_MS, "its times are of a zone 2 h behind the broker's"),
    ],
)
def test_the_difference_is_said_with_its_error(ahead_ms: int, said: str) -> None:
    reads = read_with(ahead_ms)
    align(reads)
    assert said in reads[1].notes[-1]


@pytest.mark.parametrize("ahead_ms", [0, 90_000, -TWO_HOURS_MS])
def test_a_client_s_reason_is_laid_beside_its_broker_s_line_whatever_its_clock(ahead_ms: int) -> None:
    reads = read_with(ahead_ms)
    align(reads)
    (group,) = (group for group in groups_in(merged(reads)) if group.group_id == "mails-send")
    (left,) = (one for one in group.rebalances if one.generation_id == 2)
    assert (left.cause.kind, left.cause.is_inferred) == ("poll_timeout", False)


def test_lines_that_contradict_each_other_move_nothing() -> None:
    reads = read_with(0)
    half = len(reads[1].facts) // 2
    late = [fact._replace(at_ms=(fact.at_ms or 0) + 60_000) for fact in reads[1].facts[half:]]
    reads[1].facts[half:] = late
    align(reads)
    assert reads[1].facts[half:] == late
    assert not any("clock" in note for note in reads[1].notes)


def test_a_client_without_a_broker_is_left_as_it_is() -> None:
    (client,) = read_files([str(CLIENT)])
    before = [*client.facts]
    align([client])
    assert (client.facts, client.notes) == (before, ())
    assert {fact.clock for fact in before} == {Clock.LOCAL}
