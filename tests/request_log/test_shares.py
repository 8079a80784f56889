"""Of the recorded incidents nothing that is wrong is told as certain. `make check` holds the page to the table."""

from __future__ import annotations

from tests.shares import shares

MOST_WRONG = 0.02


def test_nothing_wrong_is_told_as_certain_and_little_at_all() -> None:
    for share in shares():
        cases = sum(share.counts.values())
        assert share.counts["wrong, certain"] == 0, share
        assert share.counts["wrong"] <= MOST_WRONG * (cases - share.counts["open"]), share
