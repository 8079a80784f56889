"""A group's records of a batch as rows of the effects table: the same in one batch as in many, and unfit ones apart."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import groupby
from operator import attrgetter
from pathlib import Path

import pytest

from rollcall.inputs.offsets_topic.dumps.log_record import LogRecord
from rollcall.inputs.offsets_topic.records.decoding import Record, encode_key, encode_value, group_id_of
from rollcall.inputs.offsets_topic.records.shapes import GroupKey, GroupMetadataValue
from rollcall.inputs.offsets_topic.turns import FoldedRecords, take_turn, unreadable
from rollcall.schemas.effect_rows import QUARANTINED, EffectRow
from tests.nightly import nightly_but
from tests.offsets_topic.folded import CAPTURES, NAMES, OF_SESSIONS, SESSIONS, capture, decoded, read_dump
from tests.views.random_lives import topic_of_both_protocols

RAW_MAX_BYTES = 60
EMPTY = GroupMetadataValue(protocol_type="", generation=0, protocol=None, leader=None, members=[])


def by_group(name: str) -> dict[str, list[LogRecord]]:
    found: dict[str, list[LogRecord]] = defaultdict(list)
    for row in read_dump(CAPTURES / name / "offsets-topic.jsonl.gz"):
        found[str(group_id_of(row.key))].append(row)
    return found


def reported_at_once(group: str, rows: list[LogRecord], names: Mapping[str, str]) -> FoldedRecords:
    """All records in one turn, after which nothing follows."""
    whole = take_turn(group, rows, None, names, RAW_MAX_BYTES)
    end = take_turn(group, [], whole.document, names, RAW_MAX_BYTES)
    return FoldedRecords([*whole.rows, *end.rows], end.document, end.is_held_back)


def facts(rows: Iterable[EffectRow]) -> list[tuple[object, ...]]:
    return [(row.effect, row.at_ms, row.member_id, row.generation_id, row.cause, row.detail) for row in rows]


def requests_of(rows: list[LogRecord]) -> list[list[LogRecord]]:
    """The records of each request, in any order."""
    shuffled, requests = random.Random(7), [list(request) for _, request in groupby(rows, lambda row: row.timestamp_ms)]
    for request in requests:
        shuffled.shuffle(request)
    return requests


@pytest.mark.parametrize("batches", [requests_of, lambda rows: [[row] for row in rows]], ids=["requests", "records"])
@pytest.mark.parametrize("name", NAMES)
def test_batches_of_any_size_and_order_give_what_one_batch_gives(
    name: str, batches: Callable[[list[LogRecord]], list[list[LogRecord]]]
) -> None:
    """A batch may end anywhere while a backlog is read."""
    names = capture(name).names
    for group, rows in by_group(name).items():
        once = reported_at_once(group, rows, names)
        reported: list[EffectRow] = []
        document: str | None = None
        for batch in [*batches(rows), []]:
            turn = take_turn(group, batch, document, names, RAW_MAX_BYTES)
            reported, document = [*reported, *turn.rows], turn.document
        assert facts(reported) == facts(once.rows)
        assert document == once.document


def test_every_fact_of_a_group_has_a_place_of_its_own() -> None:
    for group, rows in by_group(NAMES[0]).items():
        places = [row.seq for row in take_turn(group, rows, None, {}, RAW_MAX_BYTES).rows]
        assert places == list(range(1, len(places) + 1))


def test_a_record_that_cannot_be_read_goes_to_quarantine_with_its_place_and_the_rest_goes_on() -> None:
    key = encode_key(2, GroupKey(group="g"))
    good = LogRecord(3, 8, 1_000, key, encode_value(3, EMPTY))
    bad = LogRecord(3, 7, 900, key, b"\x00\x09unknown")
    turn = take_turn("g", [good, bad], None, {}, RAW_MAX_BYTES)
    assert [row.effect for row in turn.rows] == [QUARANTINED, "group_created"]
    unfit = turn.rows[0]
    assert unfit.cause == "partition 3 offset 7: GroupMetadata value: version 9 is not known, 0 to 4 are"
    assert unfit.received_at_ms == 900
    assert len(unfit.detail or "") == RAW_MAX_BYTES


def test_a_key_that_names_no_group_goes_to_quarantine_and_one_of_an_unknown_type_does_not() -> None:
    rows = [LogRecord(0, 1, 5, b"\0", None), LogRecord(0, 2, 5, b"\0\x63", None), LogRecord(0, 3, 5, None, b"x")]
    assert [row.cause for row in unreadable(rows, RAW_MAX_BYTES)] == [
        "partition 0 offset 1: key: has no version",
        "partition 0 offset 3: key: is missing",
    ]


def test_a_document_that_cannot_be_read_is_kept_in_quarantine_and_the_group_is_found_anew() -> None:
    turn = take_turn("g", [], '{"v":99}', {}, RAW_MAX_BYTES)
    assert [(row.effect, row.detail) for row in turn.rows] == [(QUARANTINED, '{"v":99}')]
    assert "version 99 is not known" in (turn.rows[0].cause or "")


def test_a_group_of_which_nothing_is_left_leaves_nothing_in_the_state() -> None:
    key = encode_key(2, GroupKey(group="g"))
    made = take_turn("g", [LogRecord(0, 1, 5, key, encode_value(3, EMPTY))], None, {}, RAW_MAX_BYTES)
    assert made.document is not None
    gone = take_turn("g", [LogRecord(0, 2, 9_000, key, None)], made.document, {}, RAW_MAX_BYTES)
    assert gone.is_held_back
    ended = take_turn("g", [], gone.document, {}, RAW_MAX_BYTES)
    assert ended.rows[-1].effect == "group_removed"
    assert ended.document is None
    assert not ended.is_held_back


# ---------------------------------------------------------------- the order of records

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
