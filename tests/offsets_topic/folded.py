"""A dump through the whole of the pure part, for tests: records, topic names, and each group's facts."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from offsets_topic.dumps.log_record import BadLine, LogRecord
from offsets_topic.dumps.reading import Dump
from offsets_topic.history.fold import apply, finish
from offsets_topic.history.state import History, read_document, write_document
from offsets_topic.records.decoding import Record, decode
from offsets_topic.topic_names import names_of
from schemas.effects import CauseFound, Effect, RebalanceEnded, RebalanceStarted
from tests.source_tree import ROOT

CAPTURES = ROOT / "tests" / "captures"
CLASSIC = "n-classic-mixed"
CONSUMER = ("o-consumer-protocol", "q-consumer-slow")
NAMES = (CLASSIC, *CONSUMER)


@dataclass
class Folded:
    """What came of a dump. told: by group, in order of telling."""

    records: list[Record]
    names: dict[str, str]
    told: dict[str, list[Effect]]
    histories: dict[str, History]

    def of(self, group: str, kind: type[Effect]) -> list[Any]:
        return [effect for effect in self.told.get(group, []) if isinstance(effect, kind)]

    def causes(self, group: str) -> list[tuple[int, int, Any]]:
        """(from, to, cause) of each rebalance, with what was found of its cause later."""
        later = {found.to_generation_id: found.cause for found in self.of(group, CauseFound)}
        began = [(e.from_generation_id, e.from_generation_id + 1, e.cause) for e in self.of(group, RebalanceStarted)]
        ended = [(e.from_generation_id, e.to_generation_id, e.cause) for e in self.of(group, RebalanceEnded)]
        return [(start, end, later.get(end, cause)) for start, end, cause in began or ended]


def fold(records: Iterable[Record], names: dict[str, str] | None = None) -> Folded:
    """Request by request, each time with the state written to its document and read again, as a stream does it."""
    given = list(records)
    known = names_of(given) if names is None else names
    histories: dict[str, History] = {}
    told: dict[str, list[Effect]] = defaultdict(list)
    for (group, _), request in groupby(given, lambda record: (record.group_id, record.timestamp_ms)):
        history = histories.get(group) or History(group_id=group)
        told[group] += apply(history, request, known)
        histories[group] = read_document(write_document(history))
    for group, history in histories.items():
        told[group] += finish(history, known)
    return Folded(given, known, dict(told), histories)


def decoded(records: Iterable[LogRecord]) -> list[Record]:
    found = [decode(one.partition, one.offset, one.timestamp_ms, one.key, one.value) for one in records]
    return [record for record in found if isinstance(record, Record)]


def read_dump(path: Path) -> list[LogRecord]:
    bad: list[BadLine] = []
    records = list(Dump(path, bad.append))
    assert bad == []
    return records


@cache
def capture(name: str, file: str = "offsets-topic") -> Folded:
    return fold(decoded(read_dump(CAPTURES / name / f"{file}.jsonl.gz")))


@cache
def truth(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((CAPTURES / name / "truth.json").read_text())
    return found


def groups_of(name: str) -> dict[str, dict[str, Any]]:
    """The groups of a capture that anybody was ever a member of."""
    told = truth(name)["groups"]
    found = {group: what for group, what in told.items() if what["generations"] or what.get("consumer")}
    assert found
    return found


def lines_of(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt") as lines:
        return [json.loads(line) for line in lines]
