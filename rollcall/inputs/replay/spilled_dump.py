"""A dump that may be larger than memory: its records are sorted into a file, from which each group is folded.

One process reads the dump, once; any number fold the groups of a bucket each. Must not know a format or a rule.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import msgspec

from rollcall.inputs.offsets_topic.dumps.log_record import BadLine, LogRecord
from rollcall.inputs.offsets_topic.dumps.reading import Dump
from rollcall.inputs.offsets_topic.history.state import History
from rollcall.inputs.offsets_topic.records.decoding import Record, decode, group_id_of
from rollcall.inputs.offsets_topic.topic_names import names_of
from rollcall.inputs.offsets_topic.turns import end, fold, unreadable
from rollcall.inputs.replay.spill import Piece, Spill, Work, bucket_of, pieces_of
from rollcall.programs.processes import note_done
from rollcall.schemas.effect_rows import EffectRow
from rollcall.schemas.layout import LayoutError

UNREADABLE = "cannot be read: see the quarantine"
_SHOWN_EVERY = 5_000
_records = msgspec.msgpack.Decoder(list[tuple[str | None, LogRecord]])


class Records(NamedTuple):
    """All that another process needs to fold a bucket."""

    spilled: Path
    pieces: list[Piece]
    names: Mapping[str, str]
    """Topic names by topic id."""
    sessions: Mapping[str, int]
    """By group id, session timeouts of consumer groups that the user gave, ms."""
    raw_max_bytes: int
    """How much of what cannot be read is kept."""
    last_at_ms: int
    """When the dump's latest record was written."""
    until_ms: Mapping[str, int]
    """By group id, up to when it stayed as its last record has it."""
    whole_from_ms: Mapping[str, int]
    """By group id, from when on every record is there; missing: all are."""


def fold_bucket(records: Records) -> Iterator[tuple[str | None, list[EffectRow]]]:
    """Folds a bucket's records: each group's rows in order, facts and those for the quarantine; None: of no group."""
    histories: dict[str, History] = {}
    for data in pieces_of(records.spilled, records.pieces):
        of_groups: defaultdict[str | None, list[LogRecord]] = defaultdict(list)
        for group_id, record in _records.decode(data):
            of_groups[group_id].append(record)
        for group_id, own in of_groups.items():
            if group_id is None:
                yield None, unreadable(own, records.raw_max_bytes)
            else:
                new = History(group_id=group_id, session_ms=records.sessions.get(group_id, -1))
                yield group_id, fold(histories.setdefault(group_id, new), own, records.names, records.raw_max_bytes)
            note_done(len(own))
    for group_id, history in histories.items():
        yield group_id, end(history, records.names)


@dataclass
class SpilledDump:
    """A dump, and what is known of it once it is read."""

    records: int = 0
    last_at_ms: int = 0
    """When the latest record was written."""
    groups: defaultdict[int, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    """By bucket and group id, the partition that has its records."""
    skipped: Counter[str] = field(default_factory=Counter)
    bad: list[BadLine] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    """Topic names by topic id."""
    lines_of: Counter[Path] = field(default_factory=Counter)
    """How many lines each file has."""
    records_of: Counter[Path] = field(default_factory=Counter)
    """How many of them are records."""
    _ends_ms: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    """By partition, when its latest record was written."""
    _whole_from_ms: dict[int, int] = field(default_factory=dict)
    """By partition, from when on every record is there; missing: all are."""
    _spill: Spill | None = None

    def read(self, files: Sequence[Path], size_bytes: int, work: Work) -> None:
        """Writes every record to a file by groups, and learns topic names by id on the way. Raises DumpError."""
        dump = Dump(files, self.bad.append, self.lines_of, self.records_of)
        self._spill = Spill(work.folder / "records-by-group")
        self.names = names_of(self._spilled(dump, self._spill, size_bytes, work))
        self._spill.end()
        self._whole_from_ms = dump.whole_from_ms
        self.skipped += dump.skipped
        self.skipped["is of an aborted transaction"] += dump.transactions.aborted
        self.skipped["is of a transaction that has no end yet"] += dump.transactions.unfinished

    def bucket(self, number: int, sessions: Mapping[str, int], raw_max_bytes: int) -> Records:
        """The records of a bucket."""
        assert self._spill is not None
        pieces = [one for one in self._spill.pieces if one.bucket == number]
        until_ms, whole_from_ms = (
            {group_id: ms[partition] for group_id, partition in self.groups[number].items() if partition in ms}
            for ms in (self._ends_ms, self._whole_from_ms)
        )
        read = self._spill.path, pieces, self.names, sessions, raw_max_bytes
        return Records(*read, self.last_at_ms, until_ms, whole_from_ms)

    def _spilled(self, dump: Dump, spill: Spill, size_bytes: int, work: Work) -> Iterator[Record]:
        """Writes records to the file; yields those that can be decoded."""
        shown = 0
        for record in dump:
            if self.records % _SHOWN_EVERY == 0:
                work.show("reading the dump", dump.bytes - shown, total=size_bytes)
                shown = dump.bytes
            group_id = group_id_of(record.key)
            size = len(record.key or b"") + len(record.value or b"")
            bucket = bucket_of(group_id or "", work.buckets)
            spill.add(bucket, (group_id, record[:5]), size)
            self.records += 1
            self.last_at_ms = max(self.last_at_ms, record.timestamp_ms)
            self._ends_ms[record.partition] = max(self._ends_ms[record.partition], record.timestamp_ms)
            if group_id is not None:
                self.groups[bucket][group_id] = record.partition
            try:
                decoded = decode(*record[:5])
            except LayoutError:
                self.skipped[UNREADABLE] += 1
                continue
            if isinstance(decoded, Record):
                yield decoded
            else:
                self.skipped[decoded.reason] += 1
