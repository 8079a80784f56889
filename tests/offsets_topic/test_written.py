"""The written topic of a life of both protocols has the records of a request in the order of a real broker's."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import groupby
from operator import attrgetter
from pathlib import Path

import pytest

from rollcall.inputs.offsets_topic.records.decoding import Record
from tests.nightly import nightly_but
from tests.offsets_topic.folded import OF_SESSIONS, SESSIONS, decoded, read_dump
from tests.views.random_lives import topic_of_both_protocols

LIVES = Path(__file__).parent / "dumps" / "lives.txt.gz"
COMMITS = (0, 1)
SAME_TARGET = (6, 8)
"""Kafka writes a member's target only if it is another one; no recorded epoch left all of them as they were."""
Shape = tuple[int, ...]
"""The types of a request's records in order, those of tombstones negative; several of one type in a row count once."""


def shapes_of(records: Iterable[Record]) -> set[Shape]:
    of_groups = sorted((one for one in records if one.type not in COMMITS), key=attrgetter("group_id"))
    requests = groupby(of_groups, key=attrgetter("group_id", "timestamp_ms"))
    return {_shape(request) for _, request in requests}


def _shape(request: Iterable[Record]) -> Shape:
    return tuple(number for number, _ in groupby(-one.type if one.value is None else one.type for one in request))


@cache
def of_a_broker() -> frozenset[Shape]:
    paths = [LIVES, *(OF_SESSIONS / f"{name}.dump.gz" for name in SESSIONS)]
    return frozenset({SAME_TARGET}).union(*(shapes_of(decoded(read_dump(path))) for path in paths))


def is_of_requests(shape: Shape, known: Iterable[Shape]) -> bool:
    """Whether it is a request's, or that of several within one millisecond."""
    return not shape or any(shape[: len(one)] == one and is_of_requests(shape[len(one) :], known) for one in known)


@pytest.mark.parametrize("seed", nightly_but((*range(20), 347), range(600)))
def test_the_records_of_each_request_stand_in_a_brokers_order(seed: int) -> None:
    unknown = {one for one in shapes_of(topic_of_both_protocols(seed)) if not is_of_requests(one, of_a_broker())}
    assert unknown == set()


def test_these_lives_have_all_conversions() -> None:
    found = set().union(*(shapes_of(topic_of_both_protocols(seed)) for seed in range(20)))
    upgraded, downgraded = (-2, 5, 3, 7, 6, 8, 5, 3, 7, 6, 8), (-8, -7, -6, -5, -4, -3, 2)
    assert {upgraded, downgraded} <= found
