"""Asks a cluster for log ends, at intervals and when groups rebalance, and writes the changes into a home.

It asks for the topics that the home's groups commit to or are assigned. Each kind of ListOffsets is one request to
each broker. With the ends it asks for the last stable offsets of the partitions that have transactions. With every
sixth sample, the first included, it asks for those of all partitions: that a log has transactions must be known
although no client fetches it. Half an interval after such a sample it asks for the log starts. Where an end is below
the last one, or the topic has another id, the topic was made again, and the log starts are asked for at once. Ids are
asked for once a minute, after ends: an end of a topic that had the same id before and after is of that topic, and one
of a topic that has another id now is left out, for it may be of either.

Knows when it asks for what. Must not know how a cluster is asked (`rollcall.inputs.following.listed_offsets`), nor
what is kept (`rollcall.tables.lag.kept`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

import pyarrow as pa

from rollcall.programs.log_lines import tell
from rollcall.programs.repeated import Repeated
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effect_rows import effect_in
from rollcall.schemas.effects import Assigned, OffsetsCommitted
from rollcall.tables.home import Home
from rollcall.tables.lag.kept import KeptEnds
from rollcall.tables.lag.rows import LagRows, LogEnd
from rollcall.tables.lag_rows import append_lag
from rollcall.tables.table_follower import TableFollower

LOOK_S = 0.5
AFTER_A_REBALANCE_MS = 1_000
"""The least time between two samples, however often groups rebalance."""
OTHERS_EVERY = 6
"""Of how many samples one asks for all log starts and all last stable offsets too."""
TOPICS_EVERY_MS = 60_000
"""How often the cluster is asked which partitions topics have."""
QUIET_MS = 60_000
"""How often a row says that nothing changed."""
_COLUMNS = ("effect", "detail")
_NAMING = frozenset({EffectName.OFFSETS_COMMITTED.value, EffectName.ASSIGNED.value})
_OF_REBALANCES = frozenset({EffectName.REBALANCE_STARTED.value, EffectName.REBALANCE_ENDED.value})

Partition = tuple[str, int]


class Listed(NamedTuple):
    """An answer: offsets by partition, and reasons for those without."""

    offsets: dict[Partition, int]
    refused: dict[str, str]
    """By topic, in the broker's words."""


class Cluster(Protocol):
    """A cluster's answers. Each method may raise OSError: the cluster does not answer."""

    def cluster_id(self) -> str | None: ...
    def partitions(self, topics: Collection[str]) -> tuple[list[Partition], dict[str, str]]: ...
    def topic_ids(self, topics: Collection[str]) -> dict[str, str]: ...
    def ends(self, partitions: Collection[Partition]) -> Listed: ...
    def starts(self, partitions: Collection[Partition]) -> Listed: ...
    def stable_ends(self, partitions: Collection[Partition]) -> Listed: ...
    def close(self) -> None: ...


class LogEndsSampler:
    """Samples in a thread of its own, from `start` until `stop`. Times are the machine's, ms since the epoch.

    named: the partitions that the facts of a home's folder name so far.
    """

    def __init__(self, home: Home, cluster: Cluster, named: Callable[[Path], set[Partition]], interval_ms: int) -> None:
        self._home, self._cluster, self._named_in, self._interval_ms = home, cluster, named, interval_ms
        self._effects = TableFollower(Path(home.effects), _COLUMNS)
        self._named: set[Partition] = set()
        """The partitions that facts name; a topic may have more."""
        self._asked_for: set[Partition] = set()
        self._partitions: list[Partition] = []
        self._topic_ids: dict[str, str] = {}
        self._kept = KeptEnds()
        self._starts: dict[Partition, int] = {}
        self._transactional: set[Partition] = set()
        """The partitions whose last stable offset was ever below the end."""
        self._ends: dict[Partition, int] = {}
        self._reported_missing: set[tuple[str, str]] = set()
        self._cluster_id: str | None = None
        self._next_ms = self._partitions_at_ms = self._ids_at_ms = 0
        self._starts_at_ms: int | None = None
        """When the log starts are due."""
        self._sampled_ms = self._written_ms = 0
        self._samples = 0
        self._is_away = False
        self._thread = Repeated("log ends", LOOK_S, lambda: self.look(int(time.time() * 1000)))

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Waits for a running sample, and writes when unchanged partitions were last seen."""
        self._thread.stop()
        append_lag(self._home.path, LagRows(self._kept.rest()), self._cluster_id)
        self._cluster.close()

    def look(self, now_ms: int) -> None:
        """Samples if due. A failure is reported once, until a sample of ends succeeds again."""
        try:
            if self.step(now_ms):
                self._is_away = False
        except Exception as error:
            if not self._is_away:
                tell(f"ends of logs could not be asked for: {error}", is_error=True)
            self._is_away = True

    def step(self, now_ms: int) -> bool:
        """Samples if due; returns whether it asked for ends. Raises OSError, and what the home's tables raise."""
        rebalances = self._look_at_effects()
        if rebalances:
            self._next_ms = min(self._next_ms, self._sampled_ms + AFTER_A_REBALANCE_MS)
        if not self._named:
            return False
        if now_ms - self._partitions_at_ms >= TOPICS_EVERY_MS or not self._named <= self._asked_for:
            self._partitions_at_ms = now_ms
            self._partitions, missing = self._cluster.partitions({topic for topic, _ in self._named})
            self._asked_for = self._named.union(self._partitions)
            self._report_missing(missing)
        if now_ms >= self._next_ms:
            self._sampled_ms, self._next_ms = now_ms, now_ms + self._interval_ms
            self._sample_ends(now_ms)
            return True
        if self._starts_at_ms is not None and self._starts_at_ms <= now_ms:
            self._starts_at_ms = None
            self._starts |= self._cluster.starts(self._partitions).offsets
        return False

    # ------------------------------------------------------------ what is asked for

    def _look_at_effects(self) -> bool:
        """Reads new facts; returns whether a group began or ended a rebalance."""
        if self._cluster_id is None:
            if any(Path(self._home.effects).rglob("*.parquet")):
                self._named |= self._named_in(self._home.path)
            self._cluster_id = self._cluster.cluster_id()
        found = False
        while self._effects.has_news():
            for table in self._effects.read_next():
                found |= self._take_facts(table)
        return found

    def _take_facts(self, table: pa.Table) -> bool:
        effects, details = table["effect"].to_pylist(), table["detail"].to_pylist()
        for effect, detail in zip(effects, details, strict=True):
            if effect not in _NAMING:
                continue
            match effect_in(effect, detail):
                case OffsetsCommitted(offsets=offsets):
                    self._named |= {(one.topic, one.partition) for one in offsets}
                case Assigned(partitions=partitions):
                    self._named |= {(one.topic, number) for one in partitions or () for number in one.partitions}
        return not _OF_REBALANCES.isdisjoint(effects)

    def _ask_for_topic_ids(self, now_ms: int) -> tuple[dict[str, str], set[str]]:
        """If due: the ids of topics that have the id that they had, and the topics that have another one now."""
        if now_ms - self._ids_at_ms < TOPICS_EVERY_MS:
            return {}, set()
        before, self._ids_at_ms = self._topic_ids, now_ms
        self._topic_ids = self._cluster.topic_ids({topic for topic, _ in self._partitions})
        made_again = {topic for topic, topic_id in self._topic_ids.items() if before.get(topic, topic_id) != topic_id}
        self._starts = {key: start for key, start in self._starts.items() if key[0] not in made_again}
        return dict(before.items() & self._topic_ids.items()), made_again

    def _report_missing(self, missing: Mapping[str, str]) -> None:
        for topic, reason in missing.items():
            if (topic, reason) not in self._reported_missing:
                self._reported_missing.add((topic, reason))
                tell(f"where the log of topic {topic} ends is not known: {reason}", is_error=True)

    # ------------------------------------------------------------ samples

    def _sample_ends(self, now_ms: int) -> None:
        listed = self._cluster.ends(self._partitions)
        self._report_missing(listed.refused)
        topic_ids, made_again = self._ask_for_topic_ids(now_ms)
        ends = {key: end for key, end in listed.offsets.items() if key[0] not in made_again}
        if made_again or any(end < self._ends.get(key, 0) for key, end in ends.items()):
            self._starts = self._cluster.starts(self._partitions).offsets
        is_of_all = self._samples % OTHERS_EVERY == 0
        asked = [key for key in ends if is_of_all or key in self._transactional]
        stable = self._cluster.stable_ends(asked).offsets if asked else {}
        if is_of_all:
            self._starts_at_ms = now_ms + self._interval_ms // 2
        self._samples += 1
        self._transactional |= {key for key, offset in stable.items() if offset < ends[key]}
        rows: list[LogEnd] = []
        for key, end in ends.items():
            decided = min(stable[key], end) if key in stable else None
            start, topic_id = self._starts.get(key), topic_ids.get(key[0])
            rows += self._kept.take(LogEnd(*key, now_ms, start, end, decided, "sample", topic_id))
        self._ends |= ends
        is_whole = len(ends) == len(self._partitions)
        if rows or now_ms - self._written_ms >= QUIET_MS:
            sampled = LagRows(rows, asked_ms=now_ms if is_whole else None)
            append_lag(self._home.path, sampled, self._cluster_id)
            self._written_ms = now_ms
