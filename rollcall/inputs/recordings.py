"""What request logs and dumps of __consumer_offsets tell of groups, made in this process: facts, without a table.

Knows how both are followed and put together. Must not know what is said of the facts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from rollcall.history.facts import GROUP_TYPES, MEMBERSHIPS, REBALANCES, Fact, facts_of
from rollcall.inputs.following.merging_feed import BESIDE_REQUESTS, Ends, MergingFeed, MergingState, put_after_the_logs
from rollcall.inputs.offsets_topic.beside_log.merging import OF_BOTH
from rollcall.inputs.offsets_topic.topic_names import put_names
from rollcall.inputs.printed.lines.files import path_of
from rollcall.inputs.replay.spill import buckets_for
from rollcall.inputs.replay.spilled_dump import SpilledDump, fold_bucket
from rollcall.inputs.replay.spilled_log import SpilledLog, follow_bucket, read_log
from rollcall.inputs.replay.work import Work
from rollcall.inputs.request_log.lines.files import about_bytes_of, in_order
from rollcall.inputs.request_log.recorded import OrderedRequest, Tally
from rollcall.programs.processes import Processes
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effect_rows import QUARANTINED, EffectRow, of_group, row_of
from rollcall.schemas.effects import Effect, RebalanceEnded, RebalanceStarted, Reply
from rollcall.schemas.errors import Error
from rollcall.schemas.tables import AFTER_THE_LOGS

OF_REBALANCES = frozenset(
    {*REBALANCES, *GROUP_TYPES, *MEMBERSHIPS, EffectName.GROUP_OBSERVED, EffectName.GROUP_NOT_COVERED}
)
"""The facts that lines beside a recording are laid to."""
_KEPT = OF_REBALANCES | {EffectName.JOIN_PHASE_ENDED}
"""The facts that are kept."""


class Place(NamedTuple):
    """A line of a file."""

    file: str
    line: int


@dataclass
class GroupRecorded:
    """What recordings tell of a group."""

    facts: list[Fact] = field(default_factory=list)
    """In order."""
    topic_from_seq: int = AFTER_THE_LOGS
    """A topic's facts have a `seq` from here on."""
    lines: dict[int, Place] = field(default_factory=dict)
    """By seq of a fact of the log: the line of the request that brought it about."""
    until_ms: int = -1
    """Up to when it stayed as the last fact has it."""
    last_ms: int = -1
    """When the last fact of any kind happened."""


class FileUsed(NamedTuple):
    """How the lines of one file were treated."""

    lines: int
    lines_used: int
    notes: list[str]


@dataclass
class Recordings:
    """What all of them tell."""

    groups: defaultdict[str, GroupRecorded] = field(default_factory=lambda: defaultdict(GroupRecorded))
    files: dict[str, FileUsed] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    """Sentences on what is missing."""


def read_recordings(
    logs: Sequence[str], dumps: Sequence[str], zone: ZoneInfo, printed: Sequence[str] = ()
) -> Recordings:
    """Reads files of a request log and of a dump, as those of one cluster, and puts their facts together.

    zone: that of the log's times. printed: logs beside them, which may name the version of Kafka.

    Raises LogFileError, DumpError.
    """
    found = Recordings()
    kinds = _KEPT | OF_BOTH if logs and dumps else _KEPT
    log, log_ms = _follow(logs, zone, kinds, found, printed) if logs else ({}, 0)
    topic, dump = _fold(dumps, kinds, found) if dumps else ({}, SpilledDump())
    for group_id in sorted(log.keys() | topic.keys()):
        group = found.groups[group_id]
        by_log, by_topic = list[EffectRow](), of_group(group_id, topic.get(group_id, []))
        if group_id in log:
            group.lines, group.until_ms = log[group_id].lines, log[group_id].until_ms
            by_log = of_group(group_id, log[group_id].rows)
        group.until_ms = max(group.until_ms, dump.until_ms(group_id))
        if by_log and by_topic:
            feed = MergingFeed(MergingState(), BESIDE_REQUESTS, lambda ids: dump.names, 0)
            feed.take(by_log, is_topic=False)
            feed.take(by_topic, is_topic=True)
            feed.end(Ends(log_ms, dump.last_at_ms, dump.whole_from_ms))
            rows = feed.take_decided()
            if not feed.found.compared:
                found.left_out.append(
                    f"Whether the request log and the topic tell the same of {group_id}: they have no generation in "
                    "common. The log's times may be of another zone, which --zone names."
                )
        else:
            put_names(by_log, lambda ids: dump.names)
            put_after_the_logs(by_topic)
            rows = by_log or by_topic
        group.facts = facts_of(map(msgspec.structs.asdict, rows))
    return found


@contextmanager
def _reading(size_bytes: int) -> Iterator[Work]:
    """The tools to read an input in this process."""
    with TemporaryDirectory(prefix="rollcall-") as folder, Processes(1) as pool:
        yield Work(pool, _shown_to_nobody, Path(folder), buckets_for(size_bytes))


def _shown_to_nobody(what: str, more: int, *, total: int) -> None:
    """The reading is short, see `rollcall.inputs.printed.reading.LARGE_BYTES`."""


# ---------------------------------------------------------------- a request log


class _Following:
    """The listener of one group: its facts of some kinds, and the line of the request that brought each about."""

    def __init__(self, kinds: frozenset[EffectName]) -> None:
        self.rows: list[EffectRow] = []
        self.lines: dict[int, Place] = {}
        self.until_ms = -1
        self._kinds, self._seq, self._refused = kinds, 0, 0
        self._line: Place | None = None

    def take(self, ordered: OrderedRequest) -> None:
        """A request, before its effects. One that was inferred has no line."""
        self._line = None if ordered.recorded is None else _line_of(ordered.request.request_id)

    def take_effects(self, effects: list[Effect]) -> None:
        """The effects of a request; of a deadline, which no line brings about."""
        for effect in effects:
            self._seq += 1
            self._refused += isinstance(effect, Reply) and effect.error_code is not Error.NONE
            if effect.__struct_config__.tag in self._kinds:
                self.rows.append(row_of(effect, self._seq))
                if self._line is not None and isinstance(effect, RebalanceStarted | RebalanceEnded):
                    self.lines[self._seq] = self._line
        self._line = None

    @property
    def is_unknown(self) -> bool:
        """Return True if every request was refused, as one to delete an unknown group is."""
        return 0 < self._refused == self._seq

    def accept(self, beat: OrderedRequest) -> None:
        """An accepted heartbeat."""
        self.until_ms = beat.request.received_at_ms


def _line_of(request_id: str) -> Place:
    """A request's id names its file and line."""
    file, _, line = request_id.rpartition(":")
    return Place(file, int(line.partition("/")[0]))


def _follow(
    files: Sequence[str], zone: ZoneInfo, kinds: frozenset[EffectName], found: Recordings, printed: Sequence[str]
) -> tuple[dict[str, _Following], int]:
    """The facts of each group by a request log, and when its last line was written."""
    size_bytes = about_bytes_of(map(path_of, files))
    groups = defaultdict[str, _Following](partial(_Following, kinds))
    with _reading(size_bytes) as work:
        ordered = in_order({path_of(file): file for file in files}, zone)
        log = read_log(ordered, zone, work, {}, printed)
        for number in range(work.buckets):
            log.tally.add(follow_bucket(log.bucket(number), groups.__getitem__))
    for number, file in enumerate(ordered):
        found.files[file.label] = _used(log, number)
    found.left_out += [
        f"What {group_id} did from {at.request_id} on, for no order of its requests was found there."
        for group_id, at in sorted(log.tally.given_up.items())
    ]
    return {group_id: group for group_id, group in groups.items() if not group.is_unknown}, log.tally.last_at_ms or 0


def _used(log: SpilledLog, file_number: int) -> FileUsed:
    tally = log.of_files.get(file_number, Tally())
    notes = [
        f"{lines} of its lines cannot be read: {reason}; the first: {tally.examples.get(reason, reason)}"
        for reason, lines in sorted(tally.quarantined.items())
    ]
    return FileUsed(tally.read, tally.used, notes)


# ---------------------------------------------------------------- a dump of the topic


def _fold(
    files: Sequence[str], kinds: frozenset[EffectName], found: Recordings
) -> tuple[defaultdict[str, list[EffectRow]], SpilledDump]:
    """The facts of each group by a dump, and what is known of it."""
    paths, dump, unreadable = [*map(path_of, files)], SpilledDump(), 0
    size_bytes = about_bytes_of(paths)
    groups: defaultdict[str, list[EffectRow]] = defaultdict(list)
    with _reading(size_bytes) as work:
        dump.read(paths, size_bytes, work)
        for bucket in range(work.buckets):
            for group_id, rows in fold_bucket(dump.bucket(bucket, {}, 0)):
                if group_id is not None:
                    unreadable += sum(row.effect == QUARANTINED for row in rows)
                    groups[group_id] += [row for row in rows if row.effect in kinds]
    for path, file in zip(paths, files, strict=True):
        notes = [f"line {one.line} cannot be read: {one.reason}" for one in dump.bad if one.file == path.name]
        found.files[file] = FileUsed(dump.lines_of[path], dump.records_of[path], notes[:1])
    if unreadable:
        found.left_out.append(f"What {unreadable} records of the topic say, which cannot be read.")
    return groups, dump
