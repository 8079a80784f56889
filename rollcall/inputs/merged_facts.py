"""The facts of groups by a request log, a dump or both, as one history: what explain shows and a replay writes.

Knows how facts of both are put together. Must not know files, nor what becomes of the facts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from rollcall.history.facts import GROUP_TYPES, MEMBERSHIPS, REBALANCES, Fact, facts_of, in_order
from rollcall.inputs.offsets_topic.beside_lines import ENRICHED
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effect_rows import QUARANTINED, EffectRow, of_group
from rollcall.schemas.errors import Error
from rollcall.schemas.tables import AFTER_THE_LOGS

if TYPE_CHECKING:
    from rollcall.inputs.both_inputs import BothMerged
    from rollcall.inputs.replay.spilled_dump import Records
    from rollcall.inputs.replay.spilled_log import LogBucket

_OF_GROUPS = (EffectName.GROUP_OBSERVED, EffectName.GROUP_NOT_COVERED, EffectName.JOIN_PHASE_ENDED)
_KEPT: frozenset[str] = frozenset((*REBALANCES, *GROUP_TYPES, *MEMBERSHIPS, *_OF_GROUPS))
"""The facts that explain shows, and that lines beside a recording are laid to."""
NOTICE = Error.REBALANCE_IN_PROGRESS
"""The answer that notifies a member of a rebalance: why the others waited for it is said from then on."""
MAY_CHANGE = frozenset(str(kind.__struct_config__.tag) for kind in ENRICHED)
"""The facts that lines may change."""


@dataclass
class GroupRecorded:
    """What recordings tell of a group."""

    facts: list[Fact] = field(default_factory=list)
    """In order."""
    topic_from_seq: int = AFTER_THE_LOGS
    """A topic's facts have a `seq` from here on."""
    until_ms: int = -1
    """Up to when it stayed as the last fact has it."""
    last_ms: int = -1
    """When the last fact of any kind happened."""

    def take(self, rows: Iterable[EffectRow]) -> None:
        """Facts of any kind, in any order."""
        for row in rows:
            at_ms = row.at_ms or 0
            self.last_ms = max(self.last_ms, at_ms)
            if row.effect == EffectName.HEARTBEATS_TAKEN or (row.api == "Heartbeat" and row.error_code == "NONE"):
                self.until_ms = max(self.until_ms, at_ms)
        self.facts += facts_of(asdict(row) for row in rows if row.effect in _KEPT or row.error_code == NOTICE)


class MergedFacts:
    """Facts of a bucket that come and are put together.

    named: the groups that lines name; what lines may change of these is not returned. None: all.
    """

    def __init__(self, log: LogBucket | None, dump: Records | None, named: Collection[str] | None = None) -> None:
        topic_from_seq = 0 if log is None else AFTER_THE_LOGS
        self.groups = defaultdict[str, GroupRecorded](partial(GroupRecorded, topic_from_seq=topic_from_seq))
        """Those that are named."""
        self.kinds = _KEPT
        """The facts that lead to these."""
        self.counts: BothMerged | None = None
        self.apart: list[str] = []
        """The groups about which log and dump have nothing in common."""
        self._dump, self._named, self._feed = dump, named, None
        if log is not None and dump is not None:
            # Takes time to load, and a single input needs no rule for two.
            from rollcall.inputs.following.merging_feed import BESIDE_REQUESTS, MergingFeed, MergingState

            self._feed = MergingFeed(MergingState(), BESIDE_REQUESTS, lambda ids: dump.names, 0)
            self._ends = log.found.end_ms, dump.last_at_ms, dump.whole_from_ms
            self.counts, self.kinds = self._feed.found, _KEPT | BESIDE_REQUESTS.kinds

    def take(self, rows: list[EffectRow], *, is_topic: bool) -> list[EffectRow]:
        """Facts of an input; returns those of the history that are decided."""
        if self._feed is None:
            return self._noted(rows)
        self._feed.take(rows, is_topic=is_topic)
        return self._noted(self._feed.take_decided())

    def rest(self, unfit: list[EffectRow]) -> Iterator[list[EffectRow]]:
        """Folds the topic's records, and nothing more comes: yields the rest of the history.

        unfit: gets the rows for the quarantine.
        """
        if self._dump is not None:
            from rollcall.inputs.replay.spilled_dump import fold_bucket

            for group_id, rows in fold_bucket(self._dump):
                of_group(group_id, rows)
                unfit += [row for row in rows if row.effect == QUARANTINED]
                yield self.take([row for row in rows if row.effect != QUARANTINED], is_topic=True)
        if self._feed is not None:
            self.apart = self._feed.end(*self._ends)
            yield self._noted(self._feed.take_decided())
        for group_id, until_ms in ({} if self._dump is None else self._dump.until_ms).items():
            if self._named is None or group_id in self.groups:
                self.groups[group_id].until_ms = max(self.groups[group_id].until_ms, until_ms)
        for group in self.groups.values():
            group.facts.sort(key=in_order)

    def _noted(self, rows: list[EffectRow]) -> list[EffectRow]:
        """Notes facts of named groups; returns those that are not kept back."""
        of_groups = defaultdict[str, list[EffectRow]](list)
        for row in rows if self._named is None or self._named else ():
            if row.group_id is not None and (self._named is None or row.group_id in self._named):
                of_groups[row.group_id].append(row)
        for group_id, own in of_groups.items():
            self.groups[group_id].take(own)
        return [row for row in rows if row.effect not in MAY_CHANGE or row.group_id not in of_groups]
