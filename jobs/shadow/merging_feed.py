"""Merges two growing homes, of a broker's log and of its cluster's topic, into one history with each fact once.

It follows the effects of both, decides them group by group once both homes are complete up to a time, and appends them
to the home around them. Each commit keeps the undecided facts, and how far both were read. Must not know by which rule
facts are merged, nor Spark.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from rollcall.history.facts import facts_of
from rollcall.inputs.both_inputs import BothMerged, NamesOf, after_the_logs, with_names
from rollcall.inputs.following.numbered_state import NumberedState, read_state
from rollcall.inputs.offsets_topic.beside_growing_lines import IN_ORDER, GroupBeside, MergingLines
from rollcall.inputs.offsets_topic.beside_log.merging import OF_BOTH, GroupMerged, Merging
from rollcall.jobs.config import JobConfig
from rollcall.jobs.shadow.following import Known
from rollcall.jobs.stream.home_tables import open_effects, open_quarantine
from rollcall.schemas.effect_rows import rows_of, texts_of
from rollcall.schemas.shown_effects import ShownEffect
from rollcall.schemas.tables import EFFECTS, QUARANTINE
from rollcall.tables.appending import append_once
from rollcall.tables.home import Home
from rollcall.tables.rows import typed_rows, with_days
from rollcall.tables.table_follower import TableFollower

FOLDER = "both"
APP_ID = "rollcall-both"
FORGOTTEN_AFTER_MS = 3_600_000
"""How long the state of a removed group is kept."""
_KEEP_EVERY_S = 30.0
"""How often the place in the homes is kept while nothing is decided."""
_COLUMNS = [name for name in EFFECTS.names if name not in EFFECTS.partition_by]
_SCHEMA = pa.schema([EFFECTS.arrow.field(name) for name in _COLUMNS])
_Group = TypeVar("_Group")
_Key = tuple[str, bool, int, int]
"""A fact that waits: its group, whether it is the topic's, at_ms and seq."""


class MergingState(msgspec.Struct, Generic[_Group]):
    """The state of a merging."""

    log_version: int = 0
    """The next version of the log's effects to read."""
    topic_version: int = 0
    """The next version of the topic's."""
    groups: dict[str, _Group] = {}
    waiting: list[tuple[bool, dict[str, Any]]] = []
    """Rows of undecided effects, each with whether it is the topic's."""
    found: BothMerged = msgspec.field(default_factory=BothMerged)


class Rule(NamedTuple):
    """By which the facts of both are merged, group by group."""

    of_group: type[Merging] | type[MergingLines]
    state: type[GroupMerged] | type[GroupBeside]
    kinds: frozenset[str]
    """The facts that wait until they are decided."""


BESIDE_REQUESTS = Rule(Merging, GroupMerged, OF_BOTH)
BESIDE_LINES = Rule(MergingLines, GroupBeside, IN_ORDER)


class MergingFeed:
    """Appends to a home the merged facts of the homes inside it. `step` is one look at them.

    names: gives topic names by id, for facts of the log. clock: seconds. Raises HomeError: the kept state cannot be
    read.
    """

    def __init__(
        self,
        home: Home,
        config: JobConfig,
        names: NamesOf,
        rule: Rule = BESIDE_REQUESTS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.home, self._rule, self._kinds = home, rule, pa.array(sorted(rule.kinds), pa.string())
        self._names = names
        self._hold_ms = config.log_hold_ms
        self._topic_until_ms = -1
        self._clock = clock
        self._states = NumberedState[MergingState[Any]](
            home.path / FOLDER, open_effects(home, config), APP_ID, clock=clock
        )
        self._quarantine = open_quarantine(home, config)
        kind = MergingState[rule.state]  # type: ignore[name-defined]
        self._kept = (
            read_state(home.path / FOLDER, self._states.number, kind, "how far both inputs were merged")
            or MergingState()
        )
        self._merging = {group_id: rule.of_group(group) for group_id, group in self._kept.groups.items()}
        self._waiting: dict[_Key, dict[str, Any]] = {}
        for is_topic, row in self._kept.waiting:
            self._take_row(row, is_topic)
        self._log = TableFollower(Path(home.of_log.effects), _COLUMNS, from_version=self._kept.log_version)
        self._topic = TableFollower(Path(home.of_topic.effects), _COLUMNS, from_version=self._kept.topic_version)
        self._decided: list[pa.Table] = []
        self._unfit = [self._unfit_of(each) for each in (home.of_log, home.of_topic)]

    @property
    def found(self) -> BothMerged:
        """Counts of the merged facts."""
        return self._kept.found

    def step(self, log: Known, topic_until_ms: int) -> int:
        """Reads new facts of both homes and commits the decided ones; returns how many facts were committed.

        log, topic_until_ms: up to which time each home is complete. Ask for them before the call, since the facts up to
        then are read here. topic_until_ms: -1 if not known; a group's own records come in order.
        """
        took = self._take_effects()
        self._topic_until_ms = max(self._topic_until_ms, topic_until_ms)
        for group_id, merging in list(self._merging.items()):
            topic_ms = max(self._topic_until_ms, merging.group.heard_ms) - self._hold_ms
            self._settle(group_id, merging, min(log.of(group_id), topic_ms))
        self._copy_unfit()
        if self._decided and self._states.may_commit:
            return self.close()
        if took and not self._decided and self._clock() - self._states.kept_at > _KEEP_EVERY_S:
            self._states.keep(self._state())
        return 0

    def close(self) -> int:
        """Commits the decided facts; returns how many there were."""
        if not self._decided:
            return 0
        rows = with_days(pa.concat_tables([_SCHEMA.empty_table(), *self._decided]))
        self._states.commit(self._state(), rows)
        self._decided.clear()
        return rows.num_rows

    @property
    def commits(self) -> int:
        """How many commits of merged facts there were."""
        return self._states.number

    # ------------------------------------------------------------ what comes in

    def _take_effects(self) -> bool:
        took = False
        for is_topic, each in ((False, self._log), (True, self._topic)):
            for rows in each.poll():
                took = True
                rows = rows if is_topic else with_names(rows, self._names)
                may_wait = pc.is_in(rows["effect"], self._kinds)
                self._decide(rows.filter(pc.invert(may_wait)), is_topic)
                for row in rows.filter(may_wait).to_pylist():
                    self._take_row(row, is_topic)
        return took

    def _take_row(self, row: dict[str, Any], is_topic: bool) -> None:
        """Holds a fact that both inputs may have."""
        group_id = str(row["group_id"])
        merging = self._merging.setdefault(group_id, self._rule.of_group())
        for fact in facts_of([row]):
            merging.take(() if is_topic else (fact,), (fact,) if is_topic else ())
            self._waiting[group_id, is_topic, fact.at_ms, fact.seq] = row

    # ------------------------------------------------------------ what cannot be read

    def _unfit_of(self, home: Home) -> TableFollower:
        """Follows a home's quarantine; the commits of the copy say how far it was copied."""
        copied = self._quarantine.transaction_version(_copies_of(home)) or 0
        return TableFollower(Path(home.quarantine), QUARANTINE.names, from_version=copied)

    def _copy_unfit(self) -> None:
        for each, unfit in zip((self.home.of_log, self.home.of_topic), self._unfit, strict=True):
            rows = list(unfit.poll())
            if rows:
                copied = pa.concat_tables(rows)
                append_once(self._quarantine, copied, _copies_of(each), unfit.next_version, has_upkeep=True)

    # ------------------------------------------------------------ what is decided

    def _settle(self, group_id: str, merging: Merging | MergingLines, known_ms: int) -> None:
        if merging.is_over and known_ms - merging.group.until_ms > FORGOTTEN_AFTER_MS:
            del self._merging[group_id]
        if not merging.is_waiting:
            return
        decided = merging.decide(known_ms)
        for is_topic, kept, left_out in (
            (False, decided.log_kept, decided.log_left_out),
            (True, decided.topic_kept, decided.topic_left_out),
        ):
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

    def _state(self) -> MergingState[Any]:
        self._kept.log_version, self._kept.topic_version = self._log.next_version, self._topic.next_version
        self._kept.groups = {group_id: merging.group for group_id, merging in self._merging.items()}
        self._kept.waiting = [(is_topic, row) for (_, is_topic, _, _), row in self._waiting.items()]
        return self._kept


def _rows_of(group_id: str, effects: Iterable[tuple[int, ShownEffect]]) -> pa.Table:
    rows = [row for seq, shown in effects for row in rows_of([shown], seq)]
    return typed_rows(texts_of(group_id, rows)).select(_COLUMNS)


def _copies_of(home: Home) -> str:
    return f"{APP_ID}-{Path(home.location).name}"
