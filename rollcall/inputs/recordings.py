"""What request logs and dumps of __consumer_offsets tell of groups, made in this process: facts, without a table.

Knows how both are read, and loads what reads them where they are given. Must not know what is said of the facts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from rollcall.inputs.merged_facts import NOTICE, GroupRecorded, MergedFacts
from rollcall.inputs.printed.lines.files import path_of
from rollcall.inputs.printed.reading import FileRead
from rollcall.inputs.replay.spill import Work, buckets_for
from rollcall.inputs.request_log.lines.files import about_bytes_of
from rollcall.programs.processes import Processes
from rollcall.schemas.effect_rows import EffectRow, of_group, row_of
from rollcall.schemas.effects import Effect, RebalanceEnded, RebalanceStarted, Reply
from rollcall.schemas.errors import Error

if TYPE_CHECKING:
    from rollcall.inputs.replay.spilled_dump import SpilledDump
    from rollcall.inputs.replay.spilled_log import LogBucket, SpilledLog
    from rollcall.inputs.request_log.recorded import OrderedRequest, Tally


@dataclass
class Recordings:
    """What all of them tell."""

    groups: defaultdict[str, GroupRecorded] = field(default_factory=lambda: defaultdict(GroupRecorded))
    files: dict[str, FileRead] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    """Sentences on what is missing."""


def read_recordings(
    logs: Sequence[str], dumps: Sequence[str], zone: ZoneInfo, printed: Sequence[str] = ()
) -> Recordings:
    """Reads files of a request log and of a dump, as those of one cluster, and puts their facts together.

    zone: that of the log's times. printed: logs beside them, which may name the version of Kafka.

    Raises LogFileError, DumpError.
    """
    found, unfit, apart = Recordings(), list[EffectRow](), list[str]()
    size_bytes = about_bytes_of(map(path_of, (*logs, *dumps)))
    with TemporaryDirectory(prefix="rollcall-") as folder, Processes(1) as pool:
        work = Work(pool, _shown_to_nobody, Path(folder), buckets_for(size_bytes))
        log = _read_log(logs, zone, printed, work, found) if logs else None
        dump = _read_dump(dumps, size_bytes, work, found) if dumps else None
        for number in range(work.buckets):
            by_log = None if log is None else log.bucket(number)
            by_topic = None if dump is None else dump.bucket(number, {}, 0)
            facts = MergedFacts(by_log, by_topic)
            if log is not None and by_log is not None:
                _follow(by_log, facts, log.tally)
            for _ in facts.rest(unfit):
                pass
            apart += facts.apart
            found.groups.update(facts.groups)
    found.groups = defaultdict(GroupRecorded, sorted(found.groups.items()))
    given_up = sorted(log.tally.given_up.items()) if log is not None else ()
    found.left_out += [
        f"What {group_id} did from {at.request_id} on, for no order of its requests was found there."
        for group_id, at in given_up
    ]
    if unreadable := sum(row.group_id is not None for row in unfit):
        found.left_out.append(f"What {unreadable} records of the topic say, which cannot be read.")
    found.left_out += [
        f"Whether the request log and the topic tell the same of {group_id}: they have no generation in common. The "
        "log's times may be of another zone, which --zone names."
        for group_id in sorted(apart)
    ]
    return found


def _shown_to_nobody(what: str, more: int, *, total: int) -> None:
    """The reading is short, see `rollcall.inputs.printed.reading.LARGE_BYTES`."""


# ---------------------------------------------------------------- a request log


class _Following:
    """The listener of one group: its facts of some kinds, of rebalances with the request that brought each about."""

    def __init__(self, kinds: frozenset[str]) -> None:
        self.rows: list[EffectRow] = []
        self.until_ms = -1
        self._kinds, self._seq, self._refused = kinds, 0, 0
        self._request_id: str | None = None

    def take(self, ordered: OrderedRequest) -> None:
        """A request, before its effects. One that was inferred has no line."""
        self._request_id = None if ordered.recorded is None else ordered.request.request_id

    def take_effects(self, effects: list[Effect]) -> None:
        """The effects of a request; of a deadline, which no line brings about."""
        for effect in effects:
            self._seq += 1
            error = effect.error_code if isinstance(effect, Reply) else Error.NONE
            self._refused += error is not Error.NONE
            if effect.__struct_config__.tag in self._kinds or error is NOTICE:
                self.rows.append(row_of(effect, self._seq))
                if isinstance(effect, RebalanceStarted | RebalanceEnded):
                    self.rows[-1].request_id = self._request_id
        self._request_id = None

    @property
    def is_unknown(self) -> bool:
        """Return True if every request was refused, as one to delete an unknown group is."""
        return 0 < self._refused == self._seq

    def accept(self, beat: OrderedRequest) -> None:
        """An accepted heartbeat."""
        self.until_ms = beat.request.received_at_ms


def _read_log(
    files: Sequence[str], zone: ZoneInfo, printed: Sequence[str], work: Work, found: Recordings
) -> SpilledLog:
    from rollcall.inputs.replay.spilled_log import read_log  # Takes a quarter of a second.
    from rollcall.inputs.request_log.lines.files import in_order

    ordered = in_order({path_of(file): file for file in files}, zone)
    log = read_log(ordered, zone, work, {}, printed)
    for number, file in enumerate(ordered):
        tally = log.of_files[number]
        notes = (
            f"{lines} of its lines cannot be read: {reason}; the first: {tally.examples.get(reason, reason)}"
            for reason, lines in sorted(tally.quarantined.items())
        )
        found.files[file.label] = FileRead(file.label, lines=tally.read, recorded=tally.used, notes=(*notes,))
    return log


def _follow(log: LogBucket, facts: MergedFacts, tally: Tally) -> None:
    groups = defaultdict[str, _Following](partial(_Following, facts.kinds))
    for _ in log.follow(tally, groups.__getitem__):
        pass
    for group_id, group in groups.items():
        if not group.is_unknown:
            facts.groups[group_id].until_ms = group.until_ms
            facts.take(of_group(group_id, group.rows), is_topic=False)


# ---------------------------------------------------------------- a dump of the topic


def _read_dump(files: Sequence[str], size_bytes: int, work: Work, found: Recordings) -> SpilledDump:
    from rollcall.inputs.replay.spilled_dump import SpilledDump  # Takes time.

    paths, dump = [*map(path_of, files)], SpilledDump()
    dump.read(paths, size_bytes, work)
    for path, file in zip(paths, files, strict=True):
        notes = [f"line {one.line} cannot be read: {one.reason}" for one in dump.bad if one.file == path.name]
        lines, recorded = dump.lines_of[path], dump.records_of[path]
        found.files[file] = FileRead(file, lines=lines, recorded=recorded, notes=(*notes[:1],))
    return dump
