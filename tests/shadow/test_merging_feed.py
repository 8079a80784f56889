"""Two homes that grow, of a log and of a topic: the home around them gets each fact once, whatever ends the program."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from deltalake import write_deltalake

from rollcall.history.facts import Fact
from rollcall.inputs.both_inputs import BothMerged
from rollcall.inputs.following import numbered_state
from rollcall.inputs.replay.merged import Ends, merge_files
from rollcall.inputs.replay.row_files import RowFiles, take_rows
from rollcall.inputs.tolerances import SAME_FACT_WITHIN_MS
from rollcall.jobs.config import JobConfig
from rollcall.jobs.shadow.following import Known
from rollcall.jobs.shadow.merging_feed import FOLDER, MergingFeed
from rollcall.jobs.stream.home_tables import open_effects, open_quarantine
from rollcall.schemas.effects import GroupRemoved
from rollcall.schemas.tables import AFTER_THE_LOGS, EFFECTS, QUARANTINE
from rollcall.tables.home import Home, HomeError
from rollcall.tables.rows import with_days
from tests.offsets_topic.half_logs import LENGTH_MS, reported_of
from tests.request_log.broker import START_MS
from tests.streaming.live import read_rows

CONFIG = JobConfig()
Row = dict[str, Any]
UNTIL_MS = START_MS + 10 * LENGTH_MS
TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAA"


class Homes:
    """A home with its two parts, to which facts are written as the shadows of each would."""

    def __init__(self, folder: Path) -> None:
        self.home = Home(folder)
        for each in (self.home.of_log, self.home.of_topic):
            open_effects(each, CONFIG)
            open_quarantine(each, CONFIG)

    def write(self, home: Home, rows: Iterable[Row]) -> None:
        rows = list(rows)
        if rows:
            write_deltalake(home.effects, table_of(rows), mode="append")

    def feed(self) -> MergingFeed:
        return MergingFeed(self.home, CONFIG, lambda ids: dict.fromkeys(ids, "orders"))

    def reported(self) -> list[tuple[Any, ...]]:
        return reported_in(read_rows(self.home.effects))


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
    chance, homes = random.Random(seed), Homes(tmp_path / "bits")
    feed = homes.feed()
    for now_ms in range(START_MS, START_MS + LENGTH_MS + 5_000, 5_000):
        for home, facts in ((homes.home.of_log, log), (homes.home.of_topic, topic)):
            homes.write(home, [fact for fact in facts if now_ms - 5_000 < fact["at_ms"] <= now_ms])
        feed.step(Known({}, now_ms - 10_000), now_ms)
        if chance.random() < 0.5:
            # It is killed: what it had in hand is lost, and read again.
            feed = homes.feed()
    feed = homes.feed()
    feed.step(Known({}, UNTIL_MS), UNTIL_MS)
    feed.close()
    assert homes.reported() == history
    merged = feed.found
    assert (merged.log_facts, merged.topic_facts, merged.left_out) == (
        at_once.log_facts,
        at_once.topic_facts,
        at_once.left_out,
    )
    assert (merged.compared, merged.disagreements) == (at_once.compared, at_once.disagreements)


def test_a_kill_between_the_state_and_the_commit_repeats_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    homes = Homes(tmp_path)
    homes.write(homes.home.of_log, [answer(START_MS, 1)])
    feed = homes.feed()

    def fail(*_: object, **__: object) -> None:
        raise OSError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(numbered_state, "append_once", fail)
        with pytest.raises(OSError, match="killed"):
            feed.step(Known({}, -1), -1)
    assert homes.reported() == []
    homes.write(homes.home.of_log, [answer(START_MS + 1, 2)])
    assert homes.feed().step(Known({}, -1), -1) == 2
    assert homes.feed().step(Known({}, -1), -1) == 0
    assert [fact[1] for fact in homes.reported()] == [1, 2]


def test_a_fact_of_the_topic_waits_until_the_log_has_reported_all_up_to_then(tmp_path: Path) -> None:
    homes = Homes(tmp_path)
    removed = GroupRemoved(at_ms=START_MS, why="deleted", generation_id=3)
    homes.write(homes.home.of_topic, [row_of(Fact(START_MS, 5, "group_removed", content=removed))])
    feed = homes.feed()
    late_ms = START_MS + CONFIG.log_hold_ms + SAME_FACT_WITHIN_MS
    assert feed.step(Known({}, late_ms), START_MS) == 0
    assert feed.step(Known({"g": START_MS + SAME_FACT_WITHIN_MS - 1}, late_ms), late_ms) == 0
    assert feed.step(Known({}, late_ms), late_ms) == 1
    assert [fact[1] for fact in homes.reported()] == [AFTER_THE_LOGS + 5]


def test_what_neither_can_read_is_copied_once(tmp_path: Path) -> None:
    homes, numbers = Homes(tmp_path), count()

    def break_something(home: Home) -> None:
        row = dict.fromkeys(QUARANTINE.names) | {"reason": f"reason {next(numbers)}", "at_ms": START_MS}
        write_deltalake(home.quarantine, pa.Table.from_pylist([row], QUARANTINE.arrow), mode="append")

    break_something(homes.home.of_log)
    homes.feed().step(Known({}, -1), -1)
    break_something(homes.home.of_topic)
    break_something(homes.home.of_log)
    for _ in range(2):
        homes.feed().step(Known({}, -1), -1)
    assert sorted(row["reason"] for row in read_rows(homes.home.quarantine)) == ["reason 0", "reason 1", "reason 2"]


def test_a_state_that_is_gone_is_named(tmp_path: Path) -> None:
    homes = Homes(tmp_path)
    homes.write(homes.home.of_log, [answer(START_MS, 1)])
    homes.feed().step(Known({}, -1), -1)
    for path in (tmp_path / FOLDER).glob("*.state"):
        path.unlink()
    with pytest.raises(HomeError, match="is missing: without it nobody knows how far"):
        homes.feed()
