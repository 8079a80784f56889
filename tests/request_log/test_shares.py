"""The table of docs/what-is-proven.md is what is measured, and nothing that is wrong is told as certain."""

from __future__ import annotations

from tests.shares import shares, table
from tests.source_tree import ROOT

PAGE = ROOT / "docs" / "what-is-proven.md"
MOST_WRONG = 0.02


def test_the_table_is_what_is_measured() -> None:
    assert table() in PAGE.read_text(), f"stale: {PAGE.name} takes the table of `python -m tests.shares`"


def test_nothing_wrong_is_told_as_certain_and_little_at_all() -> None:
    for share in shares():
        cases = sum(share.counts.values())
        assert share.counts["wrong, certain"] == 0, share
        assert share.counts["wrong"] <= MOST_WRONG * (cases - share.counts["open"]), share
