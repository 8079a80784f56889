"""Consumer groups with sessions of their own, from their topic alone: what is inferred is true, known or not.

The incidents are those of tests/request_log/incidents; the truth is that of the server's own log. In `sessions*` nobody
consumed anything, so there are no commits and nothing speaks: ends are open, and the truth is a candidate.
"""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from typing import NamedTuple

import pytest

from rollcall.inputs.offsets_topic.records.decoding import Record
from tests.nightly import nightly_but
from tests.offsets_topic.folded import OF_SESSIONS, SESSIONS, decoded, fold, read_dump
from tests.request_log.recordings import INCIDENTS


class Compared(NamedTuple):
    counts: Counter[str]
    wrong: list[object]


@cache
def records(name: str) -> list[Record]:
    return decoded(read_dump(OF_SESSIONS / f"{name}.dump.gz"))


def compared(name: str, sessions: dict[str, int]) -> Compared:
    found, counts, wrong = fold(records(name), sessions=sessions), Counter[str](), list[object]()
    for group, epochs in json.loads((INCIDENTS / f"{name}.json").read_text()).items():
        causes = [(start, cause) for start, _, cause in found.causes(group)]
        assert [start for start, _ in causes] == [from_epoch for from_epoch, _, _ in epochs]
        for (_, cause), (from_epoch, kind, member_id) in zip(causes, epochs, strict=True):
            if (str(cause.kind), cause.member_id) == (kind, member_id):
                counts["exact"] += 1
            elif cause.kind == "unknown" and kind in {str(one.kind) for one in cause.candidates}:
                counts["open"] += 1
            else:
                wrong.append((group, from_epoch, kind, cause))
    return Compared(counts, wrong)


CASES: list[tuple[str, bool, dict[str, int]]] = [
    ("sessions", False, {"exact": 14, "open": 6}),
    ("sessions", True, {"exact": 15, "open": 5}),
    ("sessions-changed", False, {"exact": 10, "open": 6}),
    ("sessions-changed", True, {"exact": 11, "open": 5}),
    ("sessions-unseen", False, {"exact": 14, "open": 7}),
    ("sessions-unseen", True, {"exact": 16, "open": 5}),
    ("conversions", False, {"exact": 29}),
    ("conversions", True, {"exact": 29}),
    ("libraries", False, {"exact": 33, "open": 6}),
    ("libraries", True, {"exact": 32, "open": 7}),
    ("night", False, {"exact": 29, "open": 2}),
    ("night", True, {"exact": 28, "open": 3}),
    ("dusk", False, {"exact": 51, "open": 2}),
    ("dusk", True, {"exact": 51, "open": 2}),
    ("dawn", False, {"exact": 18, "open": 3}),
    ("dawn", True, {"exact": 19, "open": 2}),
]
"""Of each incident, without and with how long members may be silent: how many causes are exact, and how many open."""


@pytest.mark.parametrize(("name", "is_known", "expected"), nightly_but([case for case in CASES if case[1]], CASES))
def test_what_is_inferred_of_members_that_went_is_true(name: str, is_known: bool, expected: dict[str, int]) -> None:
    found = compared(name, SESSIONS[name] if is_known else {})
    assert found.wrong == []
    assert found.counts == expected


@pytest.mark.parametrize(("name", "open_count"), [("k44-classic", 0), ("k44-mixed", 0), ("k44-newer", 1)])
def test_what_is_inferred_of_a_kafka_4_4_is_true(name: str, open_count: int) -> None:
    found = compared(name, {})
    assert (found.wrong, found.counts["open"]) == ([], open_count)
    assert compared(name, {"orders-newer": 6_000, "orders-mixed": 6_000}).counts.keys() == {"exact"}
