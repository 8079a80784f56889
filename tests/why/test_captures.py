"""Recorded incidents of a real broker: each of their rebalances is explained, by its true cause and culprit."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from rich.console import Console

from rollcall.answers.why.explanation import Explanation, explain
from rollcall.answers.why.sections import lines_of
from rollcall.answers.why.telling import headline, held, trigger
from rollcall.history.members import host_of
from rollcall.shown.why_page import show_page
from tests.source_tree import ROOT
from tests.why.reading import CAPTURES, capture, reader_of

NAMES = ("b-rolling-dynamic", "d-kill", "e-slow-consumer", "g-coop-vs-range")


def explained_with_truth(name: str) -> Iterator[tuple[Explanation, dict[str, Any]]]:
    groups = json.loads((CAPTURES / name / "truth.json").read_text())["groups"]
    for group_id, what in groups.items():
        for true in what["rebalances"]:
            if true.get("to_generation") is not None:
                yield explain(group_id, reader_of(capture(name)[group_id]), true["to_generation"]), true


@pytest.mark.parametrize("name", NAMES)
def test_every_rebalance_is_explained_by_its_true_cause_and_culprit(name: str) -> None:
    count = 0
    for found, true in explained_with_truth(name):
        count += 1
        assert found.rebalance.cause.kind == true["cause"], (found.group_id, true)
        culprit = true["trigger"]
        if culprit.get("client_id"):
            assert culprit["client_id"] in found.culprit_name
            assert culprit["client_id"] in headline(found)
            assert host_of(found.rebalance.cause.client_host) == culprit["host"]
    assert count > 5


@pytest.mark.parametrize("name", NAMES)
def test_every_line_is_worded_and_none_holds_a_word_of_the_code(name: str) -> None:
    for found, _ in explained_with_truth(name):
        lines = lines_of(found)
        assert not [line for line in lines if "None" in line.text or "  " in line.text or not line.text]
        assert all(line.duration_ms >= 0 for line in lines if line.duration_ms is not None and line.part != "slack")


@pytest.mark.parametrize("name", NAMES)
def test_who_moved_what_adds_up(name: str) -> None:
    for found, _ in explained_with_truth(name):
        assert all(move.before != move.after for move in found.moves)
        longest = max((wait.held_others_ms for wait in found.rebalance.waits), default=0)
        reported = held(found)
        assert [ms for _, ms, _ in reported[:1]] == ([longest] if longest else [])


def test_the_readme_shows_the_beginning_of_the_page() -> None:
    section = (ROOT / "README.md").read_text().partition("\n### A rebalance explained\n")[2]
    shown = section.partition("```text\n")[2].partition("```")[0]
    out = io.StringIO()
    found = explain("clicks-agg", reader_of(capture("d-kill")["clicks-agg"]), 2)
    show_page(found, Console(file=out, highlight=False, soft_wrap=True))
    assert len(shown.splitlines()) > 8
    assert out.getvalue().startswith(shown)


def test_a_member_that_did_not_poll_is_named_with_its_own_words_where_its_library_has_any() -> None:
    facts = capture("e-slow-consumer")
    java = explain("reports-gen", reader_of(facts["reports-gen"]), 2)
    assert headline(java).startswith(
        "consumer-reports-gen-1 on 127.0.1.16 did not poll within its max.poll.interval.ms (10 s), so its client left"
    )
    assert ("reason given", '"consumer poll timeout has expired."') in trigger(java)
    silent = explain("exports-gen", reader_of(facts["exports-gen"]), 2)
    assert ("reason given", "none") in trigger(silent)
    assert "so its client left the group (inferred): 3 -> 2 members" in headline(silent)
    assert "(inferred" not in headline(java)
