"""The facts of a recorded cluster from both its inputs, for tests: its request log, or a part of it, and its topic."""

from __future__ import annotations

import gzip
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.history.facts import Fact
from rollcall.history.facts import facts_of as in_rows
from rollcall.inputs.offsets_topic.beside_log.merging import OF_BOTH, Decided, Merging
from rollcall.inputs.offsets_topic.topic_names import put_names
from rollcall.programs.settings import from_texts
from rollcall.schemas.effect_rows import row_of
from rollcall.schemas.effects import Effect
from tests.offsets_topic.folded import CAPTURES, capture
from tests.request_log.core_replay import Replay
from tests.whole_log import WholeLog


def facts_of(effects: Iterable[Effect], names: Mapping[str, str] | None = None) -> list[Fact]:
    """Effects of one group as facts, in order of time; those of the kinds that both inputs have."""
    rows = [row_of(effect, seq) for seq, effect in enumerate(effects)]
    put_names(rows, lambda ids: names or {})
    return in_rows(msgspec.structs.asdict(row) for row in rows if row.effect in OF_BOTH)


@dataclass
class Both:
    """Both inputs of a cluster, by group, and what came of each group."""

    log: dict[str, list[Fact]]
    topic: dict[str, list[Fact]]
    merged: dict[str, Decided]

    def history(self, group: str) -> list[Fact]:
        """The facts of a group that hold, in order; of one moment those of the log first."""
        merged = self.merged[group]
        reported = [
            (fact.at_ms, is_topic, fact.seq, fact)
            for is_topic, facts in enumerate((merged.log_kept, merged.topic_kept))
            for fact in facts
        ]
        return [fact for *_, fact in sorted(reported, key=itemgetter(0, 1, 2))]


def merge(
    log: Iterable[Fact], topic: Iterable[Fact], log_until_ms: int, topic_until_ms: int, whole_from_ms: int = -1
) -> Decided:
    """All of a group's facts at once."""
    merging = Merging()
    merging.take(log, topic)
    return merging.end(log_until_ms, topic_until_ms, whole_from_ms)


def merged(
    log: dict[str, list[Fact]],
    topic: dict[str, list[Fact]],
    log_until_ms: int,
    topic_until_ms: int | None = None,
    whole_from_ms: int = -1,
) -> Both:
    """topic_until_ms: when the dump was made; None: with the last of its facts. whole_from_ms: as in `Merging.end`."""
    until_ms = topic_until_ms or max((facts[-1].at_ms for facts in topic.values()), default=0)
    groups = sorted({*log, *topic})
    return Both(
        log,
        topic,
        {one: merge(log.get(one, []), topic.get(one, []), log_until_ms, until_ms, whole_from_ms) for one in groups},
    )


def both_of(name: str, folder: Path, from_share: float = 0.0, to_share: float = 1.0) -> Both:
    """A capture whose log begins or ends somewhere in between; its topic is whole."""
    lines = gzip.decompress((CAPTURES / name / "requests.log.gz").read_bytes()).splitlines(keepends=True)
    path = folder / "requests.log"
    path.write_bytes(b"".join(lines[int(len(lines) * from_share) : int(len(lines) * to_share)]))
    log = WholeLog(path, ZoneInfo("UTC"))
    log.config = from_texts(GroupConfig, log.look_over().seen.shown())
    reported: dict[str, list[Effect]] = defaultdict(list)
    for group, effect in Replay(log.config).run(list(log), log.tally.last_at_ms):
        reported[group].append(effect)
    folded = capture(name)
    topic = {group: facts_of(effects) for group, effects in folded.reported.items()}
    return merged(
        {group: facts_of(effects, folded.names) for group, effects in reported.items()},
        topic,
        log.tally.last_at_ms or 0,
    )
