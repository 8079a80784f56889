"""The records of a growing __consumer_offsets as facts: each group's are folded into its history.

A group's history is a document, and a state has those that have changed since the one before. Must not know what a
record says, where records come from, nor when facts are committed.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import msgspec

from rollcall.inputs.following.following import last_state
from rollcall.inputs.following.group_documents import GroupDocuments, Stored
from rollcall.inputs.following.merging_feed import Known
from rollcall.inputs.following.source import Source
from rollcall.inputs.following.topic_tail import Places, TopicTail
from rollcall.inputs.offsets_topic import SOURCE
from rollcall.inputs.offsets_topic.dumps.log_record import LogRecord
from rollcall.inputs.offsets_topic.history.fold import COMMITS
from rollcall.inputs.offsets_topic.records.decoding import group_id_of
from rollcall.inputs.offsets_topic.records.shapes import RECORD_TYPES
from rollcall.inputs.offsets_topic.topic_names import NamesOf, put_names
from rollcall.inputs.offsets_topic.turns import take_turn, unreadable
from rollcall.inputs.quarantined import quarantine_rows
from rollcall.schemas.effect_rows import QUARANTINED, EffectRow, of_group, texts_of
from rollcall.tables.appending import OpenTable, append_once
from rollcall.tables.home import Home
from rollcall.tables.rows import typed_rows

FOLDER = "offsets-topic"
APP_ID = "rollcall-offsets-topic"
HOLD_S = 2.0
"""How long a fact waits for the other records of its request, which Kafka writes together."""
_COMMITS = frozenset(number.to_bytes(2) for number in COMMITS)
_TYPES = frozenset(number.to_bytes(2) for number in RECORD_TYPES)


class TopicKept(msgspec.Struct):
    """The state of such a shadow."""

    places: Places = {}
    """How far each partition was read."""
    groups: Stored = msgspec.field(default_factory=Stored)
    """The groups' histories."""
    held: list[str] = []
    """The groups with facts that are held back."""
    unfit: list[str] = []
    """Rows of what cannot be read, as texts, until they are in quarantine."""


def find_topic(home: Home) -> TopicKept | None:
    """The state as of the last commit; None: the home has no such shadow. Raises HomeError: it cannot be read."""
    return last_state(home.path / FOLDER, home.effects, APP_ID, TopicKept, "how far the topic was read")


class TopicSource(Source[LogRecord, Places]):
    """A topic whose state the home holds. names: gives topic names by id. sessions: by group id, session
    timeouts of the newer protocol, ms. raw_max_bytes: how much of what cannot be read is kept. clock: seconds.

    Raises HomeError: the groups cannot be read.
    """

    folder, app_id = FOLDER, APP_ID

    def __init__(
        self,
        home: Home,
        quarantine: OpenTable,
        kept: TopicKept,
        tail: TopicTail,
        *,
        names: NamesOf,
        raw_max_bytes: int,
        has_commits: bool = True,
        sessions: Mapping[str, int] | None = None,
        shown: str = "",
        not_known: tuple[str, ...] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(tail, clock)
        self.shown, self.not_known, self._read_until_ms = shown, not_known, tail.read_until_ms
        self._kept, self._names, self._has_commits = kept, names, has_commits
        self._sessions = sessions or {}
        self._quarantine, self._raw_max_bytes = quarantine, raw_max_bytes
        self._groups = GroupDocuments(home.path / FOLDER, kept.groups)
        self._held = dict.fromkeys(kept.held, clock())
        """For each group with facts that are held back, since when it has no new record."""
        self._due: list[EffectRow] = []
        self._unfit: list[str] = []
        self.unfit_rows = 0
        self.records_read = self._commits = self._unknown = 0

    @property
    def due_rows(self) -> int:
        return len(self._due)

    @property
    def counts(self) -> str:
        kinds = f"{self._commits} of them commits, {self._unknown} of a type that nobody knows"
        return f"{self.records_read} records read, {kinds}"

    def read(self, items: Sequence[LogRecord], *, is_pause: bool) -> None:
        of_groups: defaultdict[str | None, list[LogRecord]] = defaultdict(list)
        for record in items:
            kind = (record.key or b"")[:2]
            is_commit, is_unknown = kind in _COMMITS, len(kind) == 2 and kind not in _TYPES
            self._commits += is_commit
            self._unknown += is_unknown
            if not is_unknown and (self._has_commits or not is_commit):
                of_groups[group_id_of(record.key)].append(record)
        self.records_read += len(items)
        for group_id, records in of_groups.items():
            if group_id is None:
                self._take(None, unreadable(records, self._raw_max_bytes))
            else:
                self._turn(group_id, records)

    def look(self) -> None:
        """A group without new records for so long has no more of the request: its facts are held back no longer."""
        waited_from = self._clock() - HOLD_S
        for group_id in [one for one, since in self._held.items() if since <= waited_from]:
            self._turn(group_id, ())

    def set_aside(self, quarantine: OpenTable) -> None:
        self._kept.unfit, self._unfit, self.unfit_rows = self._unfit, [], 0

    def take_due(self) -> list[EffectRow]:
        due, self._due = self._due, []
        put_names(due, self._names)
        return due

    def state(self) -> TopicKept:
        kept = self._kept
        kept.places, kept.groups, kept.held = self._tail.position, self._groups.store(), list(self._held)
        return kept

    def settle(self, number: int) -> None:
        if self._kept.unfit:
            rows = quarantine_rows(typed_rows(self._kept.unfit), SOURCE)
            append_once(self._quarantine, rows, APP_ID, number, has_upkeep=True)
            self._kept.unfit = []
        self._groups.settle()

    def known(self, hold_ms: int, now_ms: float) -> Known:
        return Known({}, self._read_until_ms() or -1)

    def _turn(self, group_id: str, records: Sequence[LogRecord]) -> None:
        """Folds a group's records; without any, nothing follows for now."""
        session_ms = self._sessions.get(group_id, -1)
        turn = take_turn(group_id, records, self._groups.get(group_id), {}, self._raw_max_bytes, session_ms)
        self._groups.put(group_id, turn.document)
        self._held.pop(group_id, None)
        if turn.is_held_back:
            self._held[group_id] = self._clock()
        self._take(group_id, turn.rows)

    def _take(self, group_id: str | None, rows: list[EffectRow]) -> None:
        self._due += of_group(group_id, [row for row in rows if row.effect != QUARANTINED])
        unfit = [row for row in rows if row.effect == QUARANTINED]
        self._unfit += texts_of(group_id, unfit)
        self.unfit_rows += len(unfit)
