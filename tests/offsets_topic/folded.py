"""A dump through the whole of the pure part, for tests: records, topic names, and each group's facts."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

from rollcall.inputs.offsets_topic.dumps.log_record import BadLine, LogRecord
from rollcall.inputs.offsets_topic.dumps.reading import Dump
from rollcall.inputs.offsets_topic.history.fold import apply, finish
from rollcall.inputs.offsets_topic.history.state import History, read_document, write_document
from rollcall.inputs.offsets_topic.records.decoding import Record, decode
from rollcall.inputs.offsets_topic.topic_names import names_of
from rollcall.schemas.effects import CauseFound, Effect, RebalanceEnded, RebalanceStarted
from rollcall.schemas.shown_effects import ShownEffect
from tests.source_tree import ROOT

CAPTURES = ROOT / "tests" / "captures"
CLASSIC = "n-classic-mixed"
CONSUMER = ("o-consumer-protocol", "q-consumer-slow")
NAMES = (CLASSIC, *CONSUMER)

OF_SESSIONS = Path(__file__).parent / "incidents"
"""Topics of incidents of tests/request_log: those with sessions of single groups, conversions and several libraries."""
SESSIONS = {
    "sessions": {"orders": 8000, "mails": 6000, "fix": 10_000, "plain": 45_000},
    "sessions-changed": {"pay": 15_000, "geo": 12_000, "solo": 9_000},
    "sessions-unseen": {"alfa": 7_000, "bravo": 20_000, "delta": 5_000, "echo": 45_000},
    "conversions": {"up": 7_000, "down": 9_000, "dying": 6_000, "still": 10_000},
    "libraries": {"jay": 8_000, "rd": 12_000, "long": 45_000},
    "night": {"amber": 11_000, "coral": 5_000, "ivory": 9_000, "olive": 45_000},
    "dusk": {"lime": 8_500, "teal": 10_000, "mint": 6_000, "hush": 12_000, "wide": 45_000, "both": 45_000},
    "dawn": {"fir": 14_000, "elm": 7_500, "oak": 45_000},
}
"""How long members of each of their consumer groups may be silent in the end, ms; their other groups are classic."""


@dataclass
class Folded:
    """What came of a dump. shown: effects by group with their records, in the order in which they were reported."""

    records: list[Record]
    names: dict[str, str]
    shown: dict[str, list[ShownEffect]]
    histories: dict[str, History]

    @cached_property
    def reported(self) -> dict[str, list[Effect]]:
        return {group: [one.effect for one in shown] for group, shown in self.shown.items()}

    def of(self, group: str, kind: type[Effect]) -> list[Any]:
        return [effect for effect in self.reported.get(group, []) if isinstance(effect, kind)]

    def causes(self, group: str) -> list[tuple[int, int, Any]]:
        """(from, to, cause) of each rebalance, with what was found of its cause later."""
        later = {found.to_generation_id: found.cause for found in self.of(group, CauseFound)}
        rows = []
        for effect in self.reported.get(group, []):
            # No record says when a classic generation's rebalance began.
            if isinstance(effect, RebalanceEnded) and effect.started_at_ms is None:
                rows.append((effect.from_generation_id, effect.to_generation_id, effect.cause))
            elif isinstance(effect, RebalanceStarted):
                rows.append((effect.from_generation_id, effect.from_generation_id + 1, effect.cause))
        return [(start, end, later.get(end, cause)) for start, end, cause in rows]


def fold(
    records: Iterable[Record], names: dict[str, str] | None = None, sessions: Mapping[str, int] | None = None
) -> Folded:
    """Request by request, each time with the state written to its document and read again, as a stream does it.

    sessions: by group id, how long members of the newer protocol may be silent, ms, where somebody knows it.
    """
    given = list(records)
    known = names_of(given) if names is None else names
    histories: dict[str, History] = {}
    shown: dict[str, list[ShownEffect]] = defaultdict(list)
    for (group, _), request in groupby(given, lambda record: (record.group_id, record.timestamp_ms)):
        history = histories.get(group) or History(group_id=group, session_ms=(sessions or {}).get(group, -1))
        shown[group] += apply(history, request, known)
        histories[group] = read_document(write_document(history))
    for group, history in histories.items():
        shown[group] += finish(history, known)
    return Folded(given, known, dict(shown), histories)


def decoded(records: Iterable[LogRecord]) -> list[Record]:
    found = [decode(one.partition, one.offset, one.timestamp_ms, one.key, one.value) for one in records]
    return [record for record in found if isinstance(record, Record)]


def read_dump(path: Path) -> list[LogRecord]:
    bad: list[BadLine] = []
    records = list(Dump(sorted(path.iterdir()) if path.is_dir() else [path], bad.append))
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
    reported = truth(name)["groups"]
    found = {group: what for group, what in reported.items() if what["generations"] or what.get("consumer")}
    assert found
    return found


def lines_of(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt") as lines:
        return [json.loads(line) for line in lines]
