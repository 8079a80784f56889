"""The facts of a recorded cluster from both its inputs, for tests: its request log, or a part of it, and its topic."""

from __future__ import annotations

import gzip
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo

from coordinator_udfs.protocol.config import GroupConfig
from offsets_topic.beside_log.facts import COMMITS, MEMBERSHIP, Fact
from offsets_topic.beside_log.merging import Merged, merge
from offsets_topic.topic_names import named
from programs.settings import from_texts
from request_log.core_replay import Replay
from request_log.importer import LogImport
from schemas.effect_rows import row_of
from schemas.effects import Effect
from tests.offsets_topic.folded import CAPTURES, capture


def facts_of(effects: Iterable[Effect], names: Mapping[str, str] | None = None) -> list[Fact]:
    """Effects of one group as facts, in order of time; those of the kinds that both inputs tell."""
    rows = [row_of(effect, seq) for seq, effect in enumerate(effects)]
    facts = [
        Fact(r.at_ms or 0, r.seq, r.effect, r.generation_id, r.member_id, r.detail and named(r.detail, names or {}))
        for r in rows
    ]
    told = [fact for fact in facts if fact.effect in MEMBERSHIP | COMMITS]
    return sorted(told, key=lambda fact: (fact.at_ms, fact.seq))


@dataclass
class Both:
    """Both inputs of a cluster, by group, and what came of each group."""

    log: dict[str, list[Fact]]
    topic: dict[str, list[Fact]]
    merged: dict[str, Merged]

    def history(self, group: str) -> list[Fact]:
        """The facts of a group that hold, in order; of one moment those of the log first."""
        merged = self.merged[group]
        left_out = set(merged.log_left_out)
        log = [(fact.at_ms, 0, fact.seq, fact) for n, fact in enumerate(self.log.get(group, [])) if n not in left_out]
        topic = [(fact.at_ms, 1, fact.seq, fact) for fact in (self.topic[group][n] for n in merged.topic_kept)]
        return [fact for *_, fact in sorted(log + topic, key=lambda one: one[:3])]


def merged(
    log: dict[str, list[Fact]], topic: dict[str, list[Fact]], log_until_ms: int, topic_until_ms: int | None = None
) -> Both:
    """topic_until_ms: when the dump was made; None: with the last of its facts."""
    until_ms = topic_until_ms or max((facts[-1].at_ms for facts in topic.values()), default=0)
    groups = sorted({*log, *topic})
    return Both(
        log, topic, {one: merge(log.get(one, []), topic.get(one, []), log_until_ms, until_ms) for one in groups}
    )


def both_of(name: str, folder: Path, from_share: float = 0.0, to_share: float = 1.0) -> Both:
    """A capture whose log begins or ends somewhere in between; its topic is whole."""
    lines = gzip.decompress((CAPTURES / name / "requests.log.gz").read_bytes()).splitlines(keepends=True)
    path = folder / "requests.log"
    path.write_bytes(b"".join(lines[int(len(lines) * from_share) : int(len(lines) * to_share)]))
    log = LogImport(path, ZoneInfo("UTC"))
    log.config = from_texts(GroupConfig, log.look_over().settings)
    told: dict[str, list[Effect]] = defaultdict(list)
    for group, effect in Replay(log.config).run(list(log), log.tally.last_at_ms):
        told[group].append(effect)
    folded = capture(name)
    topic = {group: facts_of(effects) for group, effects in folded.told.items()}
    return merged(
        {group: facts_of(effects, folded.names) for group, effects in told.items()}, topic, log.tally.last_at_ms or 0
    )
