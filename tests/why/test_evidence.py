"""What shows a rebalance: the lines of a log, or the requests."""

from __future__ import annotations

from collections.abc import Sequence

from rollcall.answers.why.explanation import explain
from rollcall.answers.why.sections import At, account_of, lines_of
from rollcall.schemas.effect_rows import EffectRow
from tests.views.histories import one_expires, one_leaves
from tests.why.reading import explained, printed, reader_of, recorded


def evidence(rows: Sequence[EffectRow], generation_id: int) -> list[tuple[str, str]]:
    """What of a rebalance is shown by which line or request."""
    e = explain("g", reader_of(rows), generation_id)
    section = account_of(e, shows_evidence=True).sections[-1]
    assert [line.text for row in section.rows for line in row.lines] == [
        line.text for line in lines_of(e, shows_evidence=True) if line.part == "evidence"
    ]
    assert all(isinstance(row.cells[0], At) for row in section.rows)
    return [(str(row.cells[1]), str(row.cells[2]).rpartition("/")[2]) for row in section.rows]


def test_each_fact_of_printed_lines_names_its_line() -> None:
    assert evidence(printed("d-kill")["clicks-agg"], 2) == [
        ("member removed: clicks-agg-1; rebalance started: clicks-agg-1", "d-kill.log.gz:34"),
        ("state changed", "d-kill.log.gz:35"),
        ("join phase ended; state changed", "d-kill.log.gz:36"),
        ("state changed; rebalance ended", "d-kill.log.gz:37"),
    ]


def test_a_fact_of_a_recorded_request_names_the_line_of_that_request() -> None:
    """No line shows an expiry, but the last of the member before it. The last join ends the join phase."""
    assert evidence(recorded("log", "d-kill")["clicks-agg"], 2) == [
        ("last seen: clicks-agg-1", "requests.log.gz:92"),
        ("join received: clicks-agg-2", "requests.log.gz:159"),
        ("join received: clicks-agg-0; join phase ended", "requests.log.gz:158"),
        ("sync received: clicks-agg-2", "requests.log.gz:160"),
        ("sync received: clicks-agg-0; assigned: clicks-agg-0", "requests.log.gz:161"),
        ("assigned: clicks-agg-2", "requests.log.gz:160"),
        ("rebalance ended", "requests.log.gz:161"),
    ]


def test_a_fact_names_the_request_of_its_kind_where_a_member_sent_two_at_once() -> None:
    """clicks-agg-2 joins by line 231 and syncs by line 233, both at 05:39:10.081."""
    shown = evidence(recorded("log", "d-kill")["clicks-agg"], 3)
    assert ("join received: clicks-agg-2; join phase ended", "requests.log.gz:231") in shown
    assert ("sync received: clicks-agg-2", "requests.log.gz:233") in shown


def test_no_request_shows_an_expiry() -> None:
    story = one_expires()
    shown = {one.effect for one in explained(story).evidence}
    assert shown
    assert not shown & {"member_removed", "rebalance_started"}


def test_a_fact_of_a_request_names_the_request() -> None:
    story = one_leaves()
    sent = {row.request_id for row in story.rows if row.request_id}
    shown = explained(story).evidence
    assert shown
    assert {one.shown_by for one in shown} <= sent


def test_each_fact_of_a_topic_names_its_record() -> None:
    assert evidence(recorded("topic", "n-classic-mixed")["rates-feed"], 2) == [
        ("member removed: rates-feed-1; join phase ended", "__consumer_offsets-4@18"),
        ("assigned: rates-feed-0; assigned: rates-feed-2; rebalance ended; state changed", "__consumer_offsets-4@18"),
    ]
    assert evidence(recorded("topic", "q-consumer-slow")["tiles-cache"], 3) == [
        ("member joined: tiles-cache-1", "__consumer_offsets-1@57"),
        ("rebalance started: tiles-cache-1; state changed", "__consumer_offsets-1@58"),
        ("state changed", "__consumer_offsets-1@61"),
        ("member progressed: tiles-cache-1", "__consumer_offsets-1@62"),
        ("member progressed: tiles-cache-0", "__consumer_offsets-1@68"),
        ("rebalance ended", "__consumer_offsets-1@106"),
        ("member removed: tiles-cache-0", "__consumer_offsets-1@105"),
        ("rebalance started: tiles-cache-0; state changed", "__consumer_offsets-1@106"),
    ]


def test_a_page_has_no_evidence_unless_it_is_asked_for() -> None:
    assert "evidence" not in {section.key for section in account_of(explained(one_leaves())).sections}
