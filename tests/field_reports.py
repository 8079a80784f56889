"""The table of docs/what-is-proven.md on public reports: how many of them are answered rightly.

Each report's own file has the sentence that its answer leaves out, as `left_open`, or what else the answer is, as
`answer`. Must not know how lines are read.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.printed.recorded import CASES, expected_of

ANSWERS = ("right", "right, but open", "misleading", "wrong", "nothing")
HEAD = f"| reports | {' | '.join(ANSWERS)} |\n"
OF_BROKERS = ("server.log", "Azure Event Hubs")


def answer_of(expected: dict[str, Any]) -> str:
    """What our answer to a report is."""
    answer = str(expected.get("answer") or ANSWERS["left_open" in expected])
    assert answer in ANSWERS
    return answer


def table() -> str:
    """The table, as the reports' files have it now."""
    reports = [expected_of(case) for case in CASES]
    by_broker = [one for one in reports if one["kind"].startswith(OF_BROKERS)]
    clients = [one for one in reports if one not in by_broker]
    rows = {"with a broker's lines": by_broker, "clients' lines only": clients, f"all {len(reports)}": reports}
    return HEAD + "|---|---|---|---|---|---|\n" + "".join(_row(name, of) for name, of in rows.items())


def _row(name: str, reports: list[dict[str, Any]]) -> str:
    counts = Counter(map(answer_of, reports))
    return f"| {name} | {' | '.join(str(counts[answer]) for answer in ANSWERS)} |\n"
