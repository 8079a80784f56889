"""Facts of a log and of a topic that come bit by bit: each is in the history once, as of all facts at once."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from rollcall.history.facts import Fact
from rollcall.inputs.both_inputs import BothMerged
from rollcall.inputs.following.merging_feed import BESIDE_REQUESTS, Ends, MergingFeed, MergingState
from rollcall.inputs.following.source import Known
from rollcall.inputs.offsets_topic.beside_log.merging import GroupMerged
from rollcall.inputs.replay.merged import merge_files
from rollcall.inputs.replay.row_files import RowFiles, take_rows
from rollcall.inputs.tolerances import SAME_FACT_WITHIN_MS
from rollcall.jobs.config import JobConfig
from rollcall.schemas.effects import GroupRemoved
from rollcall.schemas.tables import AFTER_THE_LOGS, EFFECTS
from rollcall.tables.rows import with_days
from tests.offsets_topic.half_logs import LENGTH_MS, reported_of
from tests.request_log.broker import START_MS

HOLD_MS = JobConfig().log_hold_ms
Row = dict[str, Any]
UNTIL_MS = START_MS + 10 * LENGTH_MS
TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAA"


def feed_of(state: bytes | None = None) -> MergingFeed:
    """state: what an earlier one has left."""
    kept = MergingState() if state is None else msgspec.msgpack.decode(state, type=MergingState[GroupMerged])
    return MergingFeed(kept, BESIDE_REQUESTS, lambda ids: dict.fromkeys(ids, "orders"), HOLD_MS)


def table_of(rows: list[Row]) -> pa.Table:
    return with_days(pa.Table.from_pylist(rows, EFFECTS.arrow).drop_columns("at_date"))


def replayed(folder: Path, log: list[Row], topic: list[Row]) -> tuple[BothMerged, list[tuple[Any, ...]]]:
    """What a replay makes of all facts at once."""
    inputs = RowFiles(folder / "log"), RowFiles(folder / "topic")
    for files, rows in zip(inputs, (log, topic), strict=True):
        files.write("effects", table_of(rows))
    of_log, of_topic = (each.files for each in inputs)
    ends = Ends(UNTIL_MS, UNTIL_MS)
    found, merged = merge_files(0, of_log, of_topic, {TOPIC_ID: "orders"}, ends, folder)
    return found, reported_in(row for file in merged for row in take_rows(file).to_pylist())


def row(at_ms: int, seq: int, effect: str, detail: str | None = None) -> Row:
    return dict.fromkeys(EFFECTS.names) | {
        "group_id": "g",
        "at_ms": at_ms,
        "seq": seq,
        "effect": effect,
        "detail": detail,
    }


def row_of(fact: Fact) -> Row:
    said = None if fact.content is None else msgspec.json.encode(fact.content).decode()
    return row(fact.at_ms, fact.seq, fact.effect, said) | {"member_id": fact.member_id or None}


def reported_in(rows: Iterable[Row]) -> list[tuple[Any, ...]]:
    names = ("at_ms", "seq", "effect", "generation_id", "member_id", "detail", "at_date")
    return sorted((tuple(row[name] for name in names) for row in rows), key=str)


def answer(at_ms: int, seq: int) -> Row:
    """What the log alone can say."""
    return row(at_ms, seq, "reply", f'{{"topic":"{TOPIC_ID}"}}')


@pytest.mark.parametrize("seed", [3, 22, 270])
def test_what_comes_bit_by_bit_is_what_a_replay_of_all_makes(seed: int, tmp_path: Path) -> None:
    inputs = reported_of(seed, tmp_path)
    log, topic = ([row_of(fact) for fact in facts] for facts in (inputs.log, inputs.topic))
    log += [answer(START_MS + n * 1_000, 10_000 + n) for n in range(60)]
    at_once, history = replayed(tmp_path, log, topic)
    chance, feed, decided = random.Random(seed), feed_of(), list[Row]()
    for now_ms in range(START_MS, START_MS + LENGTH_MS + 5_000, 5_000):
        for is_topic, facts in ((False, log), (True, topic)):
            feed.take(table_of([one for one in facts if now_ms - 5_000 < one["at_ms"] <= now_ms]), is_topic=is_topic)
        feed.decide(Known({}, now_ms - 10_000), now_ms)
        decided += feed.take_decided().to_pylist()
        if chance.random() < 0.5:
            # It is stopped, and goes on with its state.
            feed = feed_of(msgspec.msgpack.encode(feed.state()))
    feed.decide(Known({}, UNTIL_MS), UNTIL_MS)
    decided += feed.take_decided().to_pylist()
    assert reported_in(decided) == history
    merged = feed.found
    assert (merged.log_facts, merged.topic_facts, merged.left_out) == (
        at_once.log_facts,
        at_once.topic_facts,
        at_once.left_out,
    )
    assert (merged.compared, merged.disagreements) == (at_once.compared, at_once.disagreements)


def test_a_fact_of_the_topic_waits_until_the_log_has_reported_all_up_to_then() -> None:
    removed = GroupRemoved(at_ms=START_MS, why="deleted", generation_id=3)
    feed = feed_of()
    feed.take(table_of([row_of(Fact(START_MS, 5, "group_removed", content=removed))]), is_topic=True)
    late_ms = START_MS + HOLD_MS + SAME_FACT_WITHIN_MS
    feed.decide(Known({}, late_ms), START_MS)
    assert feed.due_rows == 0
    feed.decide(Known({"g": START_MS + SAME_FACT_WITHIN_MS - 1}, late_ms), late_ms)
    assert feed.due_rows == 0
    feed.decide(Known({}, late_ms), late_ms)
    assert [fact[1] for fact in reported_in(feed.take_decided().to_pylist())] == [AFTER_THE_LOGS + 5]
    assert feed.due_rows == 0
