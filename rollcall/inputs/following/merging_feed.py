"""Merges the facts of a growing log of a broker and of its cluster's topic into one history with each fact once.

It takes the facts of both, and decides them group by group once both are complete up to a time. Must not know by which
rule facts are merged, nor where they come from or go to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from rollcall.history.facts import facts_of
from rollcall.inputs.both_inputs import BothMerged, NamesOf, after_the_logs, with_names
from rollcall.inputs.following.source import Known
from rollcall.inputs.offsets_topic.beside_growing_lines import IN_ORDER, GroupBeside, MergingLines
from rollcall.inputs.offsets_topic.beside_log.merging import OF_BOTH, Decided, GroupMerged, Merging
from rollcall.schemas.effect_rows import rows_of, texts_of
from rollcall.schemas.shown_effects import ShownEffect
from rollcall.schemas.tables import EFFECTS
from rollcall.tables.rows import typed_rows, with_days

FORGOTTEN_AFTER_MS = 3_600_000
"""How long the state of a removed group is kept."""
COLUMNS = [name for name in EFFECTS.names if name not in EFFECTS.partition_by]
_SCHEMA = pa.schema([EFFECTS.arrow.field(name) for name in COLUMNS])
Group = TypeVar("Group")
"""What is remembered of a group."""
_Key = tuple[str, bool, int, int]
"""A fact that waits: its group, whether it is the topic's, at_ms and seq."""


class MergingState(msgspec.Struct, Generic[Group]):
    """The state of a merging."""

    groups: dict[str, Group] = {}
    waiting: list[tuple[bool, dict[str, Any]]] = []
    """Rows of undecided effects, each with whether it is the topic's."""
    found: BothMerged = msgspec.field(default_factory=BothMerged)


class Ends(NamedTuple):
    """Which moments each input covers, ms since the epoch."""

    log_ms: int
    topic_ms: int
    whole_from_ms: Mapping[str, int] = {}
    """By group id, from when on the topic has every record; missing: it has all."""


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
        self._kinds = pa.array(sorted(rule.kinds), pa.string())
        self._topic_until_ms = -1
        self._merging = {group_id: rule.of_group(group) for group_id, group in kept.groups.items()}
        self._waiting: dict[_Key, dict[str, Any]] = {}
        self._decided: list[pa.Table] = []
        for is_topic in (False, True):
            rows = [row for is_of_topic, row in kept.waiting if is_of_topic is is_topic]
            self.take(pa.Table.from_pylist(rows, _SCHEMA), is_topic=is_topic)

    @property
    def found(self) -> BothMerged:
        """Counts of the merged facts."""
        return self._kept.found

    @property
    def due_rows(self) -> int:
        """How many facts are decided."""
        return sum(rows.num_rows for rows in self._decided)

    def take(self, rows: pa.Table, *, is_topic: bool) -> None:
        """New facts of an input."""
        rows = rows.select(COLUMNS) if is_topic else with_names(rows.select(COLUMNS), self._names)
        may_wait = pc.is_in(rows["effect"], self._kinds)
        self._decide(rows.filter(pc.invert(may_wait)), is_topic)
        of_groups: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in rows.filter(may_wait).to_pylist():
            of_groups[row["group_id"]].append(row)
        for group_id, own in of_groups.items():
            merging, facts = self._merging.setdefault(group_id, self._rule.of_group()), facts_of(own)
            merging.take(() if is_topic else facts, facts if is_topic else ())
            row_of = {(row["at_ms"], row["seq"]): row for row in own}
            for fact in facts:
                self._waiting[group_id, is_topic, fact.at_ms, fact.seq] = row_of[fact.at_ms, fact.seq]

    def decide(self, log: Known, topic_until_ms: int) -> None:
        """Decides what can be decided. log, topic_until_ms: up to which time all facts of each were taken.

        topic_until_ms: -1 if not known; a group's own records come in order.
        """
        self._topic_until_ms = max(self._topic_until_ms, topic_until_ms)
        for group_id, merging in list(self._merging.items()):
            topic_ms = max(self._topic_until_ms, merging.group.heard_ms) - self._hold_ms
            self._settle(group_id, merging, min(log.of(group_id), topic_ms))

    def end(self, ends: Ends) -> None:
        """Decides all that was taken of a recording of both."""
        for group_id, merging in sorted(self._merging.items()):
            assert isinstance(merging, Merging)
            whole_from_ms = ends.whole_from_ms.get(group_id, -1)
            self._take_decision(group_id, merging.end(ends.log_ms, ends.topic_ms, whole_from_ms))

    def take_decided(self) -> pa.Table:
        """The rows of the decided facts, each once."""
        rows, self._decided = with_days(pa.concat_tables([_SCHEMA.empty_table(), *self._decided])), []
        return rows

    def state(self) -> MergingState[Any]:
        """The state behind the facts that were taken."""
        self._kept.groups = {group_id: merging.group for group_id, merging in self._merging.items()}
        self._kept.waiting = [(is_topic, row) for (_, is_topic, _, _), row in self._waiting.items()]
        return self._kept

    def _settle(self, group_id: str, merging: Merging | MergingLines, known_ms: int) -> None:
        if merging.is_over and known_ms - merging.group.until_ms > FORGOTTEN_AFTER_MS:
            del self._merging[group_id]
        if not merging.is_waiting:
            return
        self._take_decision(group_id, merging.decide(known_ms))

    def _take_decision(self, group_id: str, decided: Decided) -> None:
        for is_topic, kept, left_out in (
            (False, decided.log_kept, decided.log_left_out),
            (True, decided.topic_kept, decided.topic_left_out),
        ):
            if kept:
                rows = [self._waiting.pop((group_id, is_topic, fact.at_ms, fact.seq)) for fact in kept]
                self._decide(pa.Table.from_pylist(rows, _SCHEMA), is_topic)
            for fact in [*left_out, *((fact for fact, _ in decided.topic_changed) if is_topic else ())]:
                del self._waiting[group_id, is_topic, fact.at_ms, fact.seq]
        self._decide(_rows_of(group_id, decided.added), is_topic=False)
        self._decide(_rows_of(group_id, [(fact.seq, shown) for fact, shown in decided.topic_changed]), is_topic=True)
        self.found.left_out += len(decided.log_left_out)
        self.found.note(group_id, decided.compared, decided.differences)

    def _decide(self, rows: pa.Table, is_topic: bool) -> None:
        if not rows.num_rows:
            return
        if is_topic:
            self.found.topic_facts += rows.num_rows
            rows = after_the_logs(rows)
        else:
            self.found.log_facts += rows.num_rows
        self._decided.append(rows)


def _rows_of(group_id: str, effects: Iterable[tuple[int, ShownEffect]]) -> pa.Table:
    rows = [row for seq, shown in effects for row in rows_of([shown], seq)]
    return typed_rows(texts_of(group_id, rows)).select(COLUMNS) if rows else _SCHEMA.empty_table()
