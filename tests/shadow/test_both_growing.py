"""A broker's log and its cluster's topic, followed as one history: each fact once, and as a replay makes it."""

from __future__ import annotations

import gzip
import random
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest
from deltalake import write_deltalake

from rollcall.__main__ import main
from rollcall.inputs.offsets_topic.beside_lines import enriched
from rollcall.inputs.offsets_topic.record_names import record_in, shown_by_both
from rollcall.inputs.printed.groups.group_effects import shown_effects_of
from rollcall.inputs.printed.reading import read_files
from rollcall.inputs.printed.story import groups_in
from rollcall.inputs.request_log.broker_settings import SettingsSeen
from rollcall.inputs.request_log.lines.clock import LogClock
from rollcall.inputs.request_log.lines.tail import LogTail, Position
from rollcall.jobs.config import JobConfig
from rollcall.jobs.log_config import shadow_config
from rollcall.jobs.shadow.following import Following, Source
from rollcall.jobs.shadow.merging_feed import BESIDE_LINES, BESIDE_REQUESTS, MergingFeed
from rollcall.jobs.shadow.printed_source import PrintedKept, PrintedSource, find_printed
from rollcall.jobs.shadow.request_source import RequestSource, find_kept, new_kept
from rollcall.jobs.stream.home_tables import open_effects, open_quarantine
from rollcall.schemas.effect_rows import rows_of, texts_of
from rollcall.schemas.shown_effects import ShownEffect
from rollcall.schemas.tables import EFFECTS
from rollcall.tables.home import Home
from rollcall.tables.job_status import StatusWriter
from rollcall.tables.rows import typed_rows
from tests.offsets_topic.folded import CAPTURES, NAMES, capture
from tests.printed.recorded import BROKERS
from tests.streaming.live import read_rows

UTC = ZoneInfo("UTC")
CONFIG = JobConfig(log_hold_ms=5_000)
STEP_MS = 1_000
AFTER_END_MS = 60_000
KILLS = 0.2
"""The share of looks after which the programs are killed."""
_COLUMNS = [name for name in EFFECTS.names if name not in EFFECTS.partition_by]
Facts = dict[str, list[tuple[int, str, str | None, str]]]
"""By group: at_ms, effect, detail and what shows it, in order of time."""


def printed_source(home: Home, log: Path, clock: Callable[[], float]) -> tuple[Source, Position]:
    kept = find_printed(home) or PrintedKept(str(log), "UTC")
    return PrintedSource(kept, clock), kept.position


def request_source(home: Home, log: Path, clock: Callable[[], float]) -> tuple[Source, Position]:
    kept = find_kept(home) or new_kept(str(log), "UTC", {}, SettingsSeen())
    return RequestSource(home, kept, clock=clock), kept.position


class Both:
    """The programs that follow both, on a clock of their own; a kill is a new start on the same home."""

    def __init__(self, folder: Path, *, is_printed: bool) -> None:
        self.home, self.log = Home(folder / "home"), folder / "broker.log"
        self.now_ms = 0
        self._source_of, self._rule = (
            (printed_source, BESIDE_LINES) if is_printed else (request_source, BESIDE_REQUESTS)
        )
        self.log.touch()
        for each in (self.home, self.home.of_log, self.home.of_topic):
            each.path.mkdir()
            open_effects(each, CONFIG)
            open_quarantine(each, CONFIG)
        self.start()

    def start(self) -> None:
        source, position = self._source_of(self.home.of_log, self.log, self.now_s)
        tail, config = LogTail(self.log, UTC, position), shadow_config({})
        self.following = Following(self.home.of_log, source, tail, config, StatusWriter(None), self.now_s)
        self.merging = MergingFeed(self.home, CONFIG, lambda ids: {}, self._rule, clock=self.now_s)

    def now_s(self) -> float:
        return self.now_ms / 1000

    def look(self, topic_until_ms: int) -> None:
        self.following.step()
        self.merging.step(self.following.known(CONFIG.log_hold_ms, self.now_ms), topic_until_ms)

    def write_topic(self, texts: list[str]) -> None:
        if texts:
            write_deltalake(self.home.of_topic.effects, typed_rows(texts), mode="append")


def lines_of(log: Path) -> list[tuple[int, bytes]]:
    """The lines of a log, each with its time."""
    clock, at_ms, found = LogClock(UTC), 0, []
    for line in gzip.decompress(log.read_bytes()).splitlines(keepends=True):
        at_ms = clock.read(line) or at_ms
        found.append((at_ms, line))
    return found


def replayed(name: str) -> Facts:
    """What a replay makes of both."""
    groups = groups_in(read_files([str(BROKERS / f"{name}.log.gz")], UTC)[0].facts)
    lines = {group.group_id: shown_effects_of(group) for group in groups}
    found: Facts = {}
    for group_id, topic in capture(name).shown.items():
        topic, own = sorted(topic, key=lambda one: one.effect.at_ms), lines.get(group_id, [])
        made = enriched([one.effect for one in topic], [one.effect for one in own])
        line_of = {id(one.effect): one.shown_by for one in own}
        facts = [ShownEffect(one, line_of[id(one)]) for one in made.added]
        for place, (effect, record) in enumerate(topic):
            if (now := made.changed.get(place, effect)) is not None:
                line = line_of.get(id(made.by.get(place)), "")
                facts.append(ShownEffect(now, shown_by_both(record, line)))
        rows = rows_of(facts, 0)
        found[group_id] = sorted((_fact(msgspec.structs.asdict(row)) for row in rows), key=str)
    return found


def _fact(row: dict[str, Any]) -> tuple[int, str, str | None, str]:
    """A log is named by its place in a folder of its own."""
    record, line = record_in(row["request_id"] or ""), (row["request_id"] or "").rpartition(":")[2]
    shown_by = shown_by_both(record, line if line != record else "")
    return row["at_ms"], row["effect"], row["detail"], shown_by


def written(home: Home) -> Facts:
    found: defaultdict[str, list[Any]] = defaultdict(list)
    for row in read_rows(home.effects):
        found[row["group_id"]].append(_fact(row))
    return {group_id: sorted(rows, key=str) for group_id, rows in found.items()}


def grow(both: Both, name: str, lines: list[tuple[int, bytes]]) -> None:
    """Both grow, the topic is read now and then, and the programs are killed; then nothing is written any more."""
    chance = random.Random(name)
    topic = [
        (row.at_ms or 0, group_id, row) for group_id, shown in capture(name).shown.items() for row in rows_of(shown, 1)
    ]
    topic_ms = 0
    for now_ms in range(lines[0][0] - STEP_MS, lines[-1][0] + AFTER_END_MS, STEP_MS):
        both.now_ms = now_ms
        with both.log.open("ab") as file:
            file.writelines(line for at_ms, line in lines if now_ms - STEP_MS < at_ms <= now_ms)
        before_ms, topic_ms = topic_ms, max(topic_ms, now_ms - chance.choice([0, 3_000, 8_000]))
        new = ((group_id, row) for at_ms, group_id, row in topic if before_ms < at_ms <= topic_ms)
        both.write_topic([text for group_id, row in new for text in texts_of(group_id, [row])])
        both.look(topic_ms)
        if now_ms <= lines[-1][0] and chance.random() < KILLS:
            both.start()
    both.merging.close()


@pytest.mark.parametrize("name", NAMES)
def test_what_comes_bit_by_bit_is_what_a_replay_of_both_makes(name: str, tmp_path: Path) -> None:
    both = Both(tmp_path, is_printed=True)
    grow(both, name, lines_of(BROKERS / f"{name}.log.gz"))
    assert written(both.home) == replayed(name)


def test_requests_that_come_bit_by_bit_beside_a_topic_make_the_rebalances_of_a_replay(tmp_path: Path) -> None:
    folder, both = CAPTURES / "n-classic-mixed", Both(tmp_path, is_printed=False)
    grow(both, folder.name, lines_of(folder / "requests.log.gz"))
    files = [str(folder / name) for name in ("requests.log.gz", "offsets-topic.jsonl.gz")]
    assert main(["replay", *files, "--home", str(tmp_path / "replayed")]) == 0
    assert rebalances(both.home) == rebalances(Home(tmp_path / "replayed"))
    places = [(row["group_id"], row["at_ms"], row["seq"]) for row in read_rows(both.home.effects)]
    assert len(set(places)) == len(places)


def rebalances(home: Home) -> Facts:
    """Their ends."""
    return {
        group_id: ends
        for group_id, rows in written(home).items()
        if (ends := [r for r in rows if r[1] == "rebalance_ended"])
    }
