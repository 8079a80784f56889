"""Facts of a log and of a topic that come bit by bit: each is in the history once, as of all facts at once."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rollcall.history.facts import Fact
from rollcall.inputs.following.merging_feed import BESIDE_REQUESTS, Known, MergingFeed, MergingState
from rollcall.inputs.offsets_topic.beside_log.merging import GroupMerged
from rollcall.inputs.tolerances import SAME_FACT_WITHIN_MS
from rollcall.jobs.config import JobConfig
from rollcall.schemas.effect_rows import EffectRow
from rollcall.schemas.effects import GroupRemoved
from rollcall.schemas.tables import AFTER_THE_LOGS
from tests.offsets_topic.half_logs import LENGTH_MS, reported_of
from tests.request_log.broker import START_MS

HOLD_MS = JobConfig().log_hold_ms
UNTIL_MS = START_MS + 10 * LENGTH_MS
TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAA"


def feed_of(state: bytes | None = None) -> MergingFeed:
    """state: what an earlier one has left."""
    kept = MergingState() if state is None else msgspec.msgpack.decode(state, type=MergingState[GroupMerged])
    return MergingFeed(kept, BESIDE_REQUESTS, lambda ids: dict.fromkeys(ids, "orders"), HOLD_MS)


def replayed(log: list[EffectRow], topic: list[EffectRow]) -> MergingFeed:
    """What a replay makes of all facts at once."""
    feed = feed_of()
    feed.take(fresh(log), is_topic=False)
    feed.take(fresh(topic), is_topic=True)
    feed.end(UNTIL_MS, UNTIL_MS, {})
    return feed


def fresh(rows: Iterable[EffectRow]) -> list[EffectRow]:
    """Rows are changed when they are decided."""
    return [msgspec.structs.replace(row) for row in rows]


def row_of(fact: Fact) -> EffectRow:
    said = None if fact.content is None else msgspec.json.encode(fact.content).decode()
    return EffectRow(fact.seq, fact.effect, fact.at_ms, member_id=fact.member_id or None, detail=said, group_id="g")


def reported_in(rows: Iterable[EffectRow]) -> list[tuple[Any, ...]]:
    return sorted(map(msgspec.structs.astuple, rows), key=str)


def answer(at_ms: int, seq: int) -> EffectRow:
    """What the log alone can say."""
    return EffectRow(seq, "reply", at_ms, detail=f'{{"topic":"{TOPIC_ID}"}}', group_id="g")


@pytest.mark.parametrize("seed", [3, 22, 270])
def test_what_comes_bit_by_bit_is_what_a_replay_of_all_makes(seed: int, tmp_path: Path) -> None:
    inputs = reported_of(seed, tmp_path)
    log, topic = ([row_of(fact) for fact in facts] for facts in (inputs.log, inputs.topic))
    log += [answer(START_MS + n * 1_000, 10_000 + n) for n in range(60)]
    at_once = replayed(log, topic)
    history = reported_in(at_once.take_decided())
    chance, feed, decided = random.Random(seed), feed_of(), list[EffectRow]()
    for now_ms in range(START_MS, START_MS + LENGTH_MS + 5_000, 5_000):
        for is_topic, facts in ((False, log), (True, topic)):
            coming = [one for one in fresh(facts) if now_ms - 5_000 < (one.at_ms or 0) <= now_ms]
            feed.take(coming, is_topic=is_topic)
        feed.decide(Known({}, now_ms - 10_000), now_ms)
        decided += feed.take_decided()
        if chance.random() < 0.5:
            # It is stopped, and goes on with its state.
            feed = feed_of(msgspec.msgpack.encode(feed.state()))
    feed.decide(Known({}, UNTIL_MS), UNTIL_MS)
    decided += feed.take_decided()
    assert reported_in(decided) == history
    for name in ("log_facts", "topic_facts", "left_out", "compared", "disagreements"):
        assert getattr(feed.found, name) == getattr(at_once.found, name), name


def test_a_fact_of_the_topic_waits_until_the_log_has_reported_all_up_to_then() -> None:
    removed = GroupRemoved(at_ms=START_MS, why="deleted", generation_id=3)
    feed = feed_of()
    feed.take([row_of(Fact(START_MS, 5, "group_removed", content=removed))], is_topic=True)
    late_ms = START_MS + HOLD_MS + SAME_FACT_WITHIN_MS
    feed.decide(Known({}, late_ms), START_MS)
    assert feed.due_rows == 0
    feed.decide(Known({"g": START_MS + SAME_FACT_WITHIN_MS - 1}, late_ms), late_ms)
    assert feed.due_rows == 0
    feed.decide(Known({}, late_ms), late_ms)
    assert [fact.seq for fact in feed.take_decided()] == [AFTER_THE_LOGS + 5]
    assert feed.due_rows == 0
