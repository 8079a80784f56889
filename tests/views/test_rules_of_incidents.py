"""Groups of both protocols on a real broker 4.3.1, chosen at random what their clients did, hold no row that cannot be.

Of each recording (`rule_incidents`) these are the groups that did: converted to the newer protocol and back at any
moment, with static members that change protocols, members that are killed, stopped, too slow or subscribe anew,
partitions added, and the broker stopped once and killed once. Nor do they where compaction went over the topic.
`restart`, `storm-21` and `storm-22` are single groups of storms of tests/peers_kafka: one whose broker was away for
five seconds, one whose sessions were longer than its log let infer at first, and one that became classic at a lower
epoch than its log let infer. `storm-42` and `storm-43` became classic where epochs do not show how many members had
ended; in `storm-63` a classic member of a consumer group was silent for longer than its session after a restart; in
`storm-67` a group was converted while it waited for its first members.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from rollcall.__main__ import main
from rollcall.answers.sql.engine import ask
from rollcall.cli.check import broken_rules
from rollcall.inputs.offsets_topic.dumps.json_lines import write_line
from rollcall.inputs.offsets_topic.dumps.log_record import BadLine, LogRecord
from rollcall.inputs.offsets_topic.dumps.reading import Dump
from rollcall.tables.home import Home
from tests.nightly import nightly_but

RECORDED = Path(__file__).parent / "rule_incidents"
NAMES = sorted({path.name.partition(".")[0] for path in RECORDED.iterdir()})
SMALL = ("restart", "storm-13", "storm-21", "storm-22", "storm-3", "storm-42", "storm-5", "storm-63", "storm-67")
COMPACTED = [("storm-1", 0.3, 1), ("storm-13", 0.8, 2), ("storm-7", 0.5, 3)]
"""A recording, how large a share of what compaction may remove is gone, and a seed."""


def records_of(name: str) -> list[LogRecord]:
    """The records of a recording, with offsets as if the groups that were left out had never been."""
    bad: list[BadLine] = []
    counted = Counter[int]()
    found = []
    for record in Dump([RECORDED / f"{name}.dump.gz"], bad.append):
        found.append(record._replace(offset=counted[record.partition]))
        counted[record.partition] += 1
    assert bad == []
    return found


def compacted(records: Sequence[LogRecord], share: float, seed: int) -> list[LogRecord]:
    """Without so large a share of the records that a later one of the same key replaces, but for the last tenth."""
    chance = random.Random(seed)
    latest = {(record.partition, record.key): record.offset for record in records}
    ends = Counter(record.partition for record in records)
    return [
        record
        for record in records
        if latest[record.partition, record.key] == record.offset
        or record.offset >= 0.9 * ends[record.partition]
        or chance.random() >= share
    ]


def broken_by(what: str, home: Path) -> dict[str, list[dict[str, Any]]]:
    """The rules that a replay breaks, with their first rows."""
    assert main(["replay", what, "--home", str(home), "--processes", "1"]) == 0
    return {rule.name: rows[:3] for rule, rows in broken_rules(Home(home))}


CONVERSIONS = """
  SELECT get_json_object(detail, '$.to_type') AS to_type FROM effects
  WHERE effect = 'group_type_changed' AND get_json_object(detail, '$.from_type') IS NOT NULL ORDER BY at, seq
"""


def dump_of(records: Iterable[LogRecord], folder: Path) -> Path:
    path = folder / "offsets.jsonl"
    path.write_bytes(b"".join(write_line(record) + b"\n" for record in records))
    return path


@pytest.mark.parametrize("name", nightly_but(SMALL, NAMES))
@pytest.mark.parametrize("inputs", ["log", "topic", "both"])
def test_a_recording_holds_no_row_that_cannot_be(name: str, inputs: str, tmp_path: Path) -> None:
    log, dump = RECORDED / f"{name}.log.gz", dump_of(records_of(name), tmp_path)
    what = {"log": f"{log}", "topic": f"{dump}", "both": f"{log} {dump}"}[inputs]
    assert broken_by(what, tmp_path / "home") == {}


@pytest.mark.parametrize(("name", "share", "seed"), nightly_but([COMPACTED[1]], COMPACTED))
def test_a_log_beside_a_compacted_topic_holds_no_row_that_cannot_be(
    name: str, share: float, seed: int, tmp_path: Path
) -> None:
    whole = records_of(name)
    dump = dump_of(left := compacted(whole, share, seed), tmp_path)
    assert len(left) < len(whole)
    assert broken_by(f"{RECORDED / name}.log.gz {dump}", tmp_path / "home") == {}


@pytest.mark.parametrize("name", ["storm-42", "storm-43"])
def test_a_log_alone_shows_when_a_group_became_classic_and_back(name: str, tmp_path: Path) -> None:
    found = []
    for what in (RECORDED / f"{name}.log.gz", dump_of(records_of(name), tmp_path)):
        home = tmp_path / what.name.partition(".")[0]
        assert main(["replay", str(what), "--home", str(home), "--processes", "1"]) == 0
        found.append(list(ask(home, CONVERSIONS).rows))
    assert found[0] == found[1] != []
