"""A rebalance of a group that is known from the offsets topic alone: what nobody knows is left out, in words."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from rollcall.answers.why.explanation import Explanation, explain
from rollcall.answers.why.sections import lines_of
from rollcall.shown.why_page import show_page
from tests.offsets_topic.folded import CLASSIC, CONSUMER, NAMES, capture
from tests.why.reading import reader_of, topic


def explained(name: str, group: str, generation_id: int) -> Explanation:
    return explain(group, reader_of(topic(name)[group]), generation_id)


def text_of(found: Explanation) -> str:
    return "\n".join(line.text for line in lines_of(found))


def test_a_classic_rebalance_is_reported_from_the_moment_at_which_it_surely_ran() -> None:
    found = explained(CLASSIC, "rates-feed", 2)
    reported = text_of(found)
    assert "rates-feed: generation 1 -> 2, over at 2026-11-21 " in reported
    assert "when it began is not known" in reported
    assert "rates-feed-1 on 127.0.1.15 sent no heartbeat within its session timeout (8 s) and was removed" in reported
    assert "for how long nobody consumed is not known" in reported
    assert "no request of this group is recorded" in reported
    assert "gave no reason" not in reported
    assert "the rebalance began" not in reported
    assert (found.silent_since_ms, found.slack, found.leader) == (None, [], "rates-feed-2")
    assert {move.after for move in found.moves} == {"rates-feed-0", "rates-feed-2"}


def test_an_epoch_is_reported_from_its_beginning_and_with_what_later_records_say() -> None:
    reported = text_of(explained(CONSUMER[1], "pdf-make", 5))
    assert "pdf-make: epoch 4 -> 5, 2026-11-21 " in reported
    assert "pdf-make-1 on 127.0.1.16 did not poll within its max.poll.interval.ms (10 s)" in reported
    assert "when it began" not in reported


def test_an_open_cause_names_all_that_fits() -> None:
    found = explained(CLASSIC, "nightly-batch", 1)
    assert found.rebalance.cause.candidates == ()
    assert "nightly-batch-0 on 127.0.1.21 joined the group" in text_of(found)


def test_the_page_leaves_out_what_is_made_of_requests() -> None:
    console = Console(width=140, record=True, file=StringIO())
    show_page(explained(CLASSIC, "rates-feed", 2), console)
    page = console.export_text()
    assert "WHAT MOVED" in page
    assert "WHO KEPT THE OTHERS WAITING" not in page
    members = page.partition("MEMBERS\n")[2].partition("\n\n")[0].splitlines()
    assert members[0].split() == ["Member", "Host", "Went"]
    assert "rates-feed-1" in members[1] + members[2] + members[3]
    assert "unknown, for no heartbeats are known: rates-feed-" in page


@pytest.mark.parametrize("name", NAMES)
def test_every_rebalance_of_every_group_can_be_explained(name: str) -> None:
    for group in capture(name).reported:
        for _, generation_id, cause in capture(name).causes(group):
            found = explained(name, group, generation_id)
            assert found.rebalance.cause.kind == cause.kind
            assert not found.are_requests_known
            assert found.slack == []
            assert all(part.held_others_ms is None or part.held_others_ms == 0 for part in found.parts)
            assert all(line.text for line in lines_of(found))
