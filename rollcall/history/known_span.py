"""When a history begins and ends, and whether a moment is outside it: the same for commands and the page.

Must not know a home, nor how a moment is written.
"""

from __future__ import annotations

from typing import NamedTuple

from rollcall.history.words import moment

KNOWN_SPAN = """
    SELECT min(first_ms), max(last_ms), max(fact_ms) FROM (
      SELECT min(at_ms) AS first_ms, max(at_ms) AS last_ms, max(at_ms) AS fact_ms FROM effects
      UNION ALL SELECT min(at_ms), max(at_ms), NULL FROM log_ends
    )
"""
"""The query of a KnownSpan, in DuckDB's SQL."""


class KnownSpan(NamedTuple):
    """When a history begins and ends, ms since the epoch; None: it is empty."""

    first_ms: int | None
    last_ms: int | None
    """Of facts, and of where logs end."""
    fact_ms: int | None
    """Of its latest fact."""


def outside(at_ms: int, span: KnownSpan, *, is_written: bool) -> str:
    """Return where a moment is if it is before or after a history; empty: within it, or in what a job still writes."""
    if span.first_ms is not None and at_ms < span.first_ms:
        return f"before this history, which begins at {moment(span.first_ms)} UTC"
    if span.last_ms is not None and at_ms > span.last_ms and not is_written:
        return f"after this history, which ends at {moment(span.last_ms)} UTC"
    return ""
