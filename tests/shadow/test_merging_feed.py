"""Two homes that grow, of a log and of a topic: the home around them gets each fact once, whatever ends the program."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from jobs.both_inputs import AFTER_THE_LOGS
from jobs.config import JobConfig
from jobs.home import Home, HomeError
from jobs.replay.both import merge_homes
from jobs.shadow import merging_feed
from jobs.shadow.log_progress import NOTHING_KNOWN, Known
from jobs.shadow.merging_feed import FOLDER, MergingFeed
from jobs.stream.home_tables import open_effects, open_quarantine
from jobs.stream.writers.driver_writer import with_days
from offsets_topic.beside_log.facts import Fact
from schemas.tables import EFFECTS, QUARANTINE
from tests.offsets_topic.half_logs import LENGTH_MS, told_of
from tests.request_log.broker import START_MS
from tests.streaming.live import read_rows

CONFIG = JobConfig()
UNTIL_MS = START_MS + 10 * LENGTH_MS
TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAA"


class Homes:
    """A home with its two parts, to which facts are written as the shadows of each would."""

    def __init__(self, folder: Path) -> None:
        self.home = Home(folder)
        for each in (self.home.of_log, self.home.of_topic):
            open_effects(each, CONFIG)
            open_quarantine(each, CONFIG)

    def write(self, home: Home, facts: Iterable[Fact]) -> None:
        rows = [
            dict.fromkeys(EFFECTS.names)
            | {"group_id": "g", **{name: getattr(fact, name) for name in Fact.__struct_fields__}}
            for fact in facts
        ]
        if rows:
            write_deltalake(
                home.effects,
                with_days(pa.Table.from_pylist(rows, EFFECTS.arrow).drop_columns("at_date")),
                mode="append",
            )

    def feed(self) -> MergingFeed:
        return MergingFeed(self.home, CONFIG, lambda ids: dict.fromkeys(ids, "orders"))

    def told(self) -> list[tuple[Any, ...]]:
        return told_in(self.home)


def told_in(home: Home) -> list[tuple[Any, ...]]:
    names = ("at_ms", "seq", "effect", "generation_id", "member_id", "detail", "at_date")
    return sorted((tuple(row[name] for name in names) for row in read_rows(home.effects)), key=str)


def answer(at_ms: int, seq: int) -> Fact:
    """What the log alone can tell."""
    return Fact(at_ms, seq, "reply", 1, "m", f'{{"topic":"{TOPIC_ID}"}}')


@pytest.mark.parametrize("seed", [3, 22, 270])
def test_what_comes_bit_by_bit_is_what_a_replay_of_all_makes(seed: int, tmp_path: Path) -> None:
    log, _, topic, _ = told_of(seed, tmp_path)
    log += [answer(START_MS + n * 1_000, 10_000 + n) for n in range(60)]
    log.sort(key=lambda fact: (fact.at_ms, fact.seq))
    whole = Homes(tmp_path / "whole")
    whole.write(whole.home.of_log, log)
    whole.write(whole.home.of_topic, topic)
    replayed = merge_homes(whole.home, CONFIG, UNTIL_MS, UNTIL_MS, {TOPIC_ID: "orders"})

    chance, homes = random.Random(seed), Homes(tmp_path / "bits")
    feed = homes.feed()
    for now_ms in range(START_MS, START_MS + LENGTH_MS + 5_000, 5_000):
        for home, facts in ((homes.home.of_log, log), (homes.home.of_topic, topic)):
            homes.write(home, [fact for fact in facts if now_ms - 5_000 < fact.at_ms <= now_ms])
        feed.step(Known({}, now_ms - 10_000), now_ms)
        if chance.random() < 0.5:
            # It is killed: what it had in hand is lost, and read again.
            feed = homes.feed()
    feed = homes.feed()
    feed.step(Known({}, UNTIL_MS), UNTIL_MS)
    feed.close()
    assert homes.told() == told_in(whole.home)
    merged = feed.found
    assert (merged.log_facts, merged.topic_facts, merged.left_out) == (
        replayed.log_facts,
        replayed.topic_facts,
        replayed.left_out,
    )
    assert (merged.compared, merged.disagreements) == (replayed.compared, replayed.disagreements)


def test_a_kill_between_the_state_and_the_commit_repeats_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    homes = Homes(tmp_path)
    homes.write(homes.home.of_log, [answer(START_MS, 1)])
    feed = homes.feed()

    def fail(*_: object, **__: object) -> None:
        raise OSError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(merging_feed, "append_once", fail)
        with pytest.raises(OSError, match="killed"):
            feed.step(NOTHING_KNOWN, None)
    assert homes.told() == []
    homes.write(homes.home.of_log, [answer(START_MS + 1, 2)])
    assert homes.feed().step(NOTHING_KNOWN, None) == 2
    assert homes.feed().step(NOTHING_KNOWN, None) == 0
    assert [told[1] for told in homes.told()] == [1, 2]


def test_a_fact_of_the_topic_waits_until_the_log_has_told_all_up_to_then(tmp_path: Path) -> None:
    homes = Homes(tmp_path)
    homes.write(homes.home.of_topic, [Fact(START_MS, 5, "group_removed", 3, None, None)])
    feed = homes.feed()
    late_ms = START_MS + CONFIG.log_hold_ms + 1_000
    assert feed.step(Known({}, late_ms), START_MS) == 0
    assert feed.step(Known({"g": START_MS - 1}, late_ms), late_ms) == 0
    assert feed.step(Known({}, late_ms), late_ms) == 1
    assert [told[1] for told in homes.told()] == [AFTER_THE_LOGS + 5]


def test_what_neither_can_read_is_copied_once(tmp_path: Path) -> None:
    homes, numbers = Homes(tmp_path), count()

    def break_something(home: Home) -> None:
        row = dict.fromkeys(QUARANTINE.names) | {"reason": f"reason {next(numbers)}", "at_ms": START_MS}
        write_deltalake(home.quarantine, pa.Table.from_pylist([row], QUARANTINE.arrow), mode="append")

    break_something(homes.home.of_log)
    homes.feed().step(NOTHING_KNOWN, None)
    break_something(homes.home.of_topic)
    break_something(homes.home.of_log)
    for _ in range(2):
        homes.feed().step(NOTHING_KNOWN, None)
    assert sorted(row["reason"] for row in read_rows(homes.home.quarantine)) == ["reason 0", "reason 1", "reason 2"]


def test_a_state_that_is_gone_is_named(tmp_path: Path) -> None:
    homes = Homes(tmp_path)
    homes.write(homes.home.of_log, [answer(START_MS, 1)])
    homes.feed().step(NOTHING_KNOWN, None)
    for path in (tmp_path / FOLDER).glob("*.state"):
        path.unlink()
    with pytest.raises(HomeError, match="is missing: without it nobody knows how far"):
        homes.feed()
