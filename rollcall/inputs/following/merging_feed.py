"""Merges the facts of a growing log of a broker and of its cluster's topic into one history with each fact once.

It takes the facts of both, and decides them group by group once both are complete up to a time. Must not know by which
rule facts are merged, nor where they come from or go to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from rollcall.history.facts import facts_of
from rollcall.inputs.both_inputs import BothMerged
from rollcall.inputs.offsets_topic.beside_growing_lines import IN_ORDER, GroupBeside, MergingLines
from rollcall.inputs.offsets_topic.beside_log.merging import OF_BOTH, Decided, GroupMerged, Merging
from rollcall.inputs.offsets_topic.topic_names import NamesOf, put_names
from rollcall.schemas.effect_rows import EffectRow, of_group, rows_of
from rollcall.schemas.tables import AFTER_THE_LOGS

FORGOTTEN_AFTER_MS = 3_600_000
"""How long the state of a removed group is kept."""
Group = TypeVar("Group")
"""What is remembered of a group."""
_Key = tuple[str, bool, int, int]
"""A fact that waits: its group, whether it is the topic's, at_ms and seq."""


class MergingState(msgspec.Struct, Generic[Group]):
    """The state of a merging."""

    groups: dict[str, Group] = {}
    waiting: list[tuple[bool, EffectRow]] = []
    """Undecided facts, each with whether it is the topic's."""
    found: BothMerged = msgspec.field(default_factory=BothMerged)


class Known(NamedTuple):
    """All facts before this time are known, ms since the epoch."""

    by_group: Mapping[str, int]
    all_others_ms: int

    def of(self, group_id: str) -> int:
        return self.by_group.get(group_id, self.all_others_ms)


class Rule(NamedTuple):
    """By which the facts of both are merged, group by group."""

    of_group: type[Merging] | type[MergingLines]
    state: type[GroupMerged] | type[GroupBeside]
    kinds: frozenset[str]
    """The facts that wait until they are decided."""


BESIDE_REQUESTS = Rule(Merging, GroupMerged, OF_BOTH)
BESIDE_LINES = Rule(MergingLines, GroupBeside, IN_ORDER)


class MergingFeed:
    """Facts of both that come and are decided. names: gives topic names by id, for facts of the log. hold_ms: how long
    after its time a record may come.
    """

    def __init__(self, kept: MergingState[Any], rule: Rule, names: NamesOf, hold_ms: int) -> None:
        self._kept, self._rule, self._names, self._hold_ms = kept, rule, names, hold_ms
        self._topic_until_ms = -1
        self._merging = {group_id: rule.of_group(group) for group_id, group in kept.groups.items()}
        self._waiting: dict[_Key, EffectRow] = {}
        self._decided: list[EffectRow] = []
        for is_topic in (False, True):
            self.take([row for is_of_topic, row in kept.waiting if is_of_topic is is_topic], is_topic=is_topic)

    @property
    def found(self) -> BothMerged:
        """Counts of the merged facts."""
        return self._kept.found

    @property
    def due_rows(self) -> int:
        """How many facts are decided."""
        return len(self._decided)

    def take(self, rows: Collection[EffectRow], *, is_topic: bool) -> None:
        """New facts of an input."""
        if not is_topic:
            put_names(rows, self._names)
        of_groups: defaultdict[str, list[EffectRow]] = defaultdict(list)
        for row in rows:
            if row.effect in self._rule.kinds:
                of_groups[row.group_id or ""].append(row)
            else:
                self._decide([row], is_topic)
        for group_id, own in of_groups.items():
            merging = self._merging.setdefault(group_id, self._rule.of_group())
            facts = facts_of(map(msgspec.structs.asdict, own))
            merging.take(() if is_topic else facts, facts if is_topic else ())
            row_of = {(row.at_ms, row.seq): row for row in own}
            for fact in facts:
                self._waiting[group_id, is_topic, fact.at_ms, fact.seq] = row_of[fact.at_ms, fact.seq]

    def decide(self, log: Known, topic_until_ms: int) -> None:
        """Decides what can be decided. log, topic_until_ms: up to which time all facts of each were taken.

        topic_until_ms: -1 if not known; a group's own records come in order.
        """
        self._topic_until_ms = max(self._topic_until_ms, topic_until_ms)
        for group_id, merging in list(self._merging.items()):
            topic_ms = max(self._topic_until_ms, merging.group.heard_ms) - self._hold_ms
            known_ms = min(log.of(group_id), topic_ms)
            if merging.is_over and known_ms - merging.group.until_ms > FORGOTTEN_AFTER_MS:
                del self._merging[group_id]
            if merging.is_waiting:
                self._take_decision(group_id, merging.decide(known_ms))

    def end(self, log_ms: int, topic_ms: int, whole_from_ms: Mapping[str, int]) -> list[str]:
        """Decides all that was taken of a recording of both; returns the groups about which they have nothing in
        common.

        log_ms, topic_ms: the last moment that each covers. whole_from_ms: by group id, from when on the topic has every
        record; missing: it has all.
        """
        apart = []
        for group_id, merging in sorted(self._merging.items()):
            assert isinstance(merging, Merging)
            decided = merging.end(log_ms, topic_ms, whole_from_ms.get(group_id, -1))
            is_in_both = (decided.log_kept or decided.log_left_out) and (decided.topic_kept or decided.topic_left_out)
            apart += [group_id] if is_in_both and not decided.compared else []
            self._take_decision(group_id, decided)
        return apart

    def take_decided(self) -> list[EffectRow]:
        """The decided facts, each once."""
        rows, self._decided = self._decided, []
        return rows

    def state(self) -> MergingState[Any]:
        """The state behind the facts that were taken."""
        self._kept.groups = {group_id: merging.group for group_id, merging in self._merging.items()}
        self._kept.waiting = [(is_topic, row) for (_, is_topic, _, _), row in self._waiting.items()]
        return self._kept

    def _take_decision(self, group_id: str, decided: Decided) -> None:
        for is_topic, kept, left_out in (
            (False, decided.log_kept, decided.log_left_out),
            (True, decided.topic_kept, decided.topic_left_out),
        ):
            self._decide([self._waiting.pop((group_id, is_topic, fact.at_ms, fact.seq)) for fact in kept], is_topic)
            for fact in [*left_out, *((fact for fact, _ in decided.topic_changed) if is_topic else ())]:
                del self._waiting[group_id, is_topic, fact.at_ms, fact.seq]
        changed = [(fact.seq, shown) for fact, shown in decided.topic_changed]
        for is_topic, effects in ((False, decided.added), (True, changed)):
            rows = [row for seq, shown in effects for row in rows_of([shown], seq)]
            self._decide(of_group(group_id, rows), is_topic)
        self.found.left_out += len(decided.log_left_out)
        self.found.note(group_id, decided.compared, decided.differences)

    def _decide(self, rows: Sequence[EffectRow], is_topic: bool) -> None:
        if is_topic:
            self.found.topic_facts += len(rows)
            for row in rows:
                row.seq += AFTER_THE_LOGS  # After the log's of the same moment.
        else:
            self.found.log_facts += len(rows)
        self._decided += rows
