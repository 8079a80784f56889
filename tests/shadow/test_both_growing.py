"""A broker's log and its cluster's topic, followed as one history: each fact once, and as a replay makes it."""

from __future__ import annotations

import gzip
import random
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
import pytest
from deltalake import write_deltalake

from rollcall.__main__ import main
from rollcall.history.facts import REBALANCES
from rollcall.inputs.following.both import APP_ID, FOLDER, OF_LINES, OF_REQUESTS
from rollcall.inputs.following.following import Following
from rollcall.inputs.following.merging_feed import Known, MergingFeed, MergingState
from rollcall.inputs.following.source import Part
from rollcall.inputs.offsets_topic import record_in, shown_by_both
from rollcall.inputs.offsets_topic.dumps.json_lines import write_line
from rollcall.inputs.offsets_topic.dumps.log_record import LogRecord
from rollcall.inputs.request_log.lines.clock import LogClock
from rollcall.inputs.tolerances import SAME_FACT_WITHIN_MS
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effect_rows import EffectRow
from rollcall.tables.appending import append_once
from rollcall.tables.home import Home, HomeError
from rollcall.tables.home_tables import open_effects
from rollcall.tables.job_status import StatusWriter
from rollcall.tables.rows import effects_table
from rollcall.tables.table_follower import TableFollower
from tests.offsets_topic.folded import CAPTURES, NAMES, read_dump
from tests.printed.recorded import BROKERS
from tests.shadow.both_shadow import CONFIG, Both
from tests.shadow.deaths import Deaths
from tests.streaming.live import read_rows

UTC = ZoneInfo("UTC")
STEP_MS = 1_000
AFTER_END_MS = 60_000
TOPIC = "offsets-topic.jsonl.gz"
KEPT = 0.3
"""The share of records that compaction has left, of those that a later one replaces."""
KILLS = 0.2
"""The share of looks after which the program is killed."""
Facts = dict[str, list[tuple[int, str, str | None, str]]]
"""By group: at_ms, effect, detail and what shows it, in order of time."""


def lines_of(log: Path) -> list[tuple[int, bytes]]:
    """The lines of a log, each with its time."""
    clock, at_ms, found = LogClock(UTC), 0, []
    for line in gzip.decompress(log.read_bytes()).splitlines(keepends=True):
        at_ms = clock.read(line) or at_ms
        found.append((at_ms, line))
    return found


def replayed(folder: Path, *files: Path) -> Facts:
    """What a replay makes of files."""
    assert main(["replay", *map(str, files), "--home", str(folder), "--processes", "1"]) == 0
    return written(Home(folder))


def _fact(row: dict[str, Any]) -> tuple[int, str, str | None, str]:
    """A log is named by its place in a folder of its own."""
    record, line = record_in(row["request_id"] or ""), (row["request_id"] or "").rpartition(":")[2]
    shown_by = shown_by_both(record, line if line != record else "")
    return row["at_ms"], row["effect"], row["detail"] and str(_in_order(msgspec.json.decode(row["detail"]))), shown_by


def _said(fact: tuple[int, str, str | None, str]) -> tuple[int, str, str, str]:
    """Without the names of members, which the topic may have only later."""
    return fact[0], fact[1], re.sub(r"'client_(id|host)': '[^']*'", "", fact[2] or ""), fact[3]


def _without_names(facts: Facts) -> dict[str, list[Any]]:
    """A replay of a compacted topic knows the names of the culprits before a member's record."""
    return {
        group_id: sorted((_said(one) if one[1] in REBALANCES else one for one in of), key=str)
        for group_id, of in facts.items()
    }


def _in_order(said: Any) -> Any:
    """Topics of a list are in the order of their names or ids, as known when the record came."""
    if isinstance(said, dict):
        return {name: _in_order(one) for name, one in said.items()}
    if isinstance(said, list):
        return sorted(map(_in_order, said), key=lambda one: one.get("topic", "") if isinstance(one, dict) else "")
    return said


def written(home: Home) -> Facts:
    found: defaultdict[str, list[Any]] = defaultdict(list)
    for row in read_rows(home.effects):
        found[row["group_id"]].append(_fact(row))
    return {group_id: sorted(rows, key=str) for group_id, rows in found.items()}


def grow(both: Both, name: str, lines: list[tuple[int, bytes]], topic: Sequence[LogRecord] | None = None) -> None:
    """Both grow, the topic late now and then, and the program is killed; then nothing is written any more."""
    both.start()
    chance, topic = random.Random(name), topic or read_dump(CAPTURES / name / TOPIC)
    deaths = 0
    for now_ms in range(lines[0][0] - STEP_MS, lines[-1][0] + AFTER_END_MS, STEP_MS):
        both.now_ms = now_ms
        with both.log.open("ab") as file:
            file.writelines(line for at_ms, line in lines if now_ms - STEP_MS < at_ms <= now_ms)
        before_ms, both.topic_ms = both.topic_ms, max(both.topic_ms, now_ms - chance.choice([0, 3_000, 5_000]))
        both.topic.write([one for one in topic if before_ms < one.timestamp_ms <= both.topic_ms])
        deaths += not both.look()
        if now_ms <= lines[-1][0] and chance.random() < KILLS:
            both.start()
    assert deaths
    while both.following._has_due:
        both.look()


@pytest.fixture(params=[4, 7], autouse=True)
def _killed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program is killed at every so many writes."""
    monkeypatch.setattr("rollcall.tables.appending.write_deltalake", Deaths(request.param))


@pytest.mark.parametrize("dump", [TOPIC, "offsets-topic-compacted.jsonl.gz"])
@pytest.mark.parametrize("name", NAMES)
def test_what_comes_bit_by_bit_is_what_a_replay_of_both_makes(
    name: str, dump: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both, log, topic = Both(tmp_path, name, OF_LINES), BROKERS / f"{name}.log.gz", CAPTURES / name / dump
    grow(both, name, lines_of(log), read_dump(topic))
    monkeypatch.undo()
    found, of_replay = written(both.home), replayed(tmp_path / "replayed", log, topic)
    if dump != TOPIC:
        found, of_replay = _without_names(found), _without_names(of_replay)
    assert found == of_replay


@pytest.mark.parametrize("part", ["first", "last", "any"])
@pytest.mark.parametrize("name", NAMES)
def test_beside_a_part_of_a_topic_it_has_the_rebalances_of_a_replay_up_to_the_topics_last_fact(
    name: str, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance, topic = random.Random(f"{name} {part}"), read_dump(CAPTURES / name / TOPIC)
    times_ms, latest = sorted(one.timestamp_ms for one in topic), {one.key: one for one in topic}
    middle_ms = chance.choice(times_ms[len(topic) // 4 : -len(topic) // 4])
    if part == "first":
        topic = [one for one in topic if one.timestamp_ms <= middle_ms]
    else:
        kept = [one for one in topic if latest[one.key] is one or chance.random() < KEPT]
        topic = [one for one in kept if part == "any" or one.timestamp_ms > middle_ms]
    log, dump = BROKERS / f"{name}.log.gz", tmp_path / "offsets.jsonl"
    dump.write_bytes(b"".join(write_line(one) + b"\n" for one in topic))
    both = Both(tmp_path, name, OF_LINES)
    grow(both, name, lines_of(log), topic)
    monkeypatch.undo()
    of_replay, compared = replayed(tmp_path / "replayed", log, dump), 0
    for group_id, facts in written(both.home).items():
        by_topic = [fact[0] for fact in facts if record_in(fact[3]) and fact[1] != EffectName.OFFSETS_COMMITTED]
        until_ms = max(by_topic, default=0) - SAME_FACT_WITHIN_MS
        of_both = [
            [_said(one) for one in has if one[1] in REBALANCES and one[0] <= until_ms]
            for has in (facts, of_replay[group_id])
        ]
        assert of_both[0] == of_both[1], group_id
        compared += len(of_both[0])
    assert compared > 5


def test_requests_that_come_bit_by_bit_beside_a_topic_make_the_rebalances_of_a_replay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = CAPTURES / "n-classic-mixed"
    both = Both(tmp_path, folder.name, OF_REQUESTS)
    grow(both, folder.name, [*lines_of(folder / "requests.log.gz")])
    monkeypatch.undo()
    files = [str(folder / name) for name in ("requests.log.gz", "offsets-topic.jsonl.gz")]
    assert main(["replay", *files, "--home", str(tmp_path / "replayed")]) == 0
    assert rebalances(both.home) == rebalances(Home(tmp_path / "replayed"))
    places = [(row["group_id"], row["at_ms"], row["seq"]) for row in read_rows(both.home.effects)]
    assert len(set(places)) == len(places)
    ids, of_replay = (lines_of_requests(home) for home in (both.home, Home(tmp_path / "replayed")))
    assert ids == of_replay


def lines_of_requests(home: Home) -> Counter[str]:
    """Without heartbeats, of which several are one request."""
    rows = (row for row in read_rows(home.requests) if '"api":"Heartbeat' not in row["request"])
    return Counter(row["request_id"].partition(":")[2] for row in rows)


def test_what_neither_can_read_is_in_the_one_quarantine_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both, reads = Both(tmp_path, NAMES[0], OF_REQUESTS), 20
    both.start()
    for number in range(reads):
        both.now_ms += STEP_MS
        with both.log.open("ab") as file:
            file.write(b"[2026-11-21 05:38:30,000] DEBUG Completed request:{cut\n" * 2)
        both.topic.write([LogRecord(0, number, both.now_ms, b"\x00\x02\x00", None)])
        both.look()
    monkeypatch.undo()
    both.look()
    both.following.finish()
    rows = [row["source"].partition(" line ") for row in read_rows(both.home.quarantine)]
    assert sorted(int(number) for _, _, number in rows if number) == [*range(1, 2 * reads + 1)]
    assert sum(not number for _, _, number in rows) == reads


def test_a_state_that_is_gone_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    both = Both(tmp_path, NAMES[0], OF_LINES)
    both.start()
    both.topic.write(read_dump(CAPTURES / NAMES[0] / "offsets-topic.jsonl.gz"))
    both.following.step()
    for path in (both.home.path / FOLDER).glob("*.state"):
        path.unlink()
    with pytest.raises(HomeError, match="is missing: without it nobody knows how far"):
        both.start()


def test_a_home_of_an_earlier_version_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It had followed half of each on a home inside, and merged a part of that."""
    folder = CAPTURES / "n-classic-mixed"
    both, lines = Both(tmp_path, folder.name, OF_REQUESTS), lines_of(folder / "requests.log.gz")
    half_ms = lines[len(lines) // 2][0]
    both.log.write_bytes(b"".join(line for at_ms, line in lines if at_ms <= half_ms))
    records = read_dump(folder / "offsets-topic.jsonl.gz")
    both.topic.write([one for one in records if one.timestamp_ms <= half_ms])
    with monkeypatch.context() as patched:
        patched.setattr("rollcall.tables.appending.write_deltalake", write_deltalake)
        both.now_ms = both.topic_ms = half_ms
        merging, state = MergingFeed(MergingState(), OF_REQUESTS.rule, both.topic.names, CONFIG.log_hold_ms), {}
        for is_topic, home, source_of in (
            (False, both.home.of_log, both.log_source),
            (True, both.home.of_topic, both.topic_source),
        ):
            home.path.mkdir()
            source: Part = source_of(home)
            following = Following(home, source, StatusWriter(None), both.now_s)
            following.step()
            both.now_ms += 3_000
            follower = TableFollower(Path(home.effects), [*EffectRow.__struct_fields__], from_version=0)
            rows = pa.concat_tables(follower.poll()).to_pylist()
            merging.take([EffectRow(**row) for row in rows], is_topic=is_topic)
            state["topic_version" if is_topic else "log_version"] = follower.next_version
            following.step()
            following.finish()
        merging.decide(Known({}, half_ms - 20_000), half_ms)
        decided = effects_table(merging.take_decided())
        append_once(open_effects(both.home), decided, APP_ID, 1, has_upkeep=True)
        (both.home.path / "both").mkdir()
        kept = {**msgspec.to_builtins(merging.state()), **state}
        (both.home.path / "both" / f"{1:012d}.state").write_bytes(msgspec.msgpack.encode(kept))
    merged = len(read_rows(both.home.effects))
    grow(both, folder.name, [(half_ms, b""), *(one for one in lines if one[0] > half_ms)])
    monkeypatch.undo()
    assert merged
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
