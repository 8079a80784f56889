"""What a replay reports of a log's lines: counts, few kinds of reasons with an example, groups that were given up."""

from __future__ import annotations

from collections import Counter

from rollcall.inputs.request_log.recorded import GivenUp, Tally
from rollcall.shown.replay_report import log_lines


def test_reasons_are_reported_by_kind_with_the_first_line_of_each() -> None:
    tally = Tally(
        read=42_010,
        used=10,
        quarantined=Counter({"the times are impossible": 41_000, "the line is cut off": 1000}),
        examples={"the line is cut off": "requests.log line 7: the line is cut off: before it names its API"},
    )
    counts, without_lag, *reasons = log_lines(tally, 1.5)
    assert counts.startswith("42010 lines read in 1.5 s: 10 used, 0 skipped, 42000 quarantined")
    assert without_lag.startswith("  no FETCH or LIST_OFFSETS line: ")
    assert reasons == [
        "  quarantined 41000: the times are impossible",
        "  quarantined 1000: the line is cut off",
        "    the first: requests.log line 7: the line is cut off: before it names its API",
    ]


def test_a_group_that_was_given_up_is_named_with_the_line_it_was_given_up_at() -> None:
    tally = Tally(read=1, used=1, given_up={"orders": GivenUp("requests.log:812", left_out=40)})
    (reported,) = [line for line in log_lines(tally, 0.1) if "gave up" in line]
    assert "group orders at requests.log:812" in reported
    assert "40 of its requests are left out" in reported
