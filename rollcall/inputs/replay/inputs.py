"""The inputs of a replay: a request log, a dump of __consumer_offsets, or both, as rows of tables in files by groups.

An input is read whole, then a pool of processes works on its groups. Must not know a line's text, a record, a rule of
the protocol or how answers are compared.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol
from zoneinfo import ZoneInfo

from rich.console import Console

from rollcall.answers.sql.engine import ask
from rollcall.inputs.both_inputs import BothMerged, merging_lines
from rollcall.inputs.offsets_topic.dumps.log_record import BadLine
from rollcall.inputs.offsets_topic.dumps.reading import Dump, files_of
from rollcall.inputs.offsets_topic.records.decoding import Record, decode, group_id_of
from rollcall.inputs.offsets_topic.records.layout import RecordError
from rollcall.inputs.offsets_topic.topic_names import names_of
from rollcall.inputs.printed.broker_version import broker_version_in
from rollcall.inputs.quarantined import quarantine_of_lines
from rollcall.inputs.replay.building import Files
from rollcall.inputs.replay.folded import GivenNames, fold_into_files
from rollcall.inputs.replay.followed import follow_into_files, read_lag
from rollcall.inputs.replay.merged import Ends, merge_files
from rollcall.inputs.replay.row_files import RowFiles
from rollcall.inputs.replay.spill import Spill, bucket_of
from rollcall.inputs.replay.spilled_log import read_log
from rollcall.inputs.replay.work import Work
from rollcall.inputs.request_log.configs_given import sessions_given, split_given
from rollcall.inputs.request_log.lines.files import about_bytes, about_bytes_of
from rollcall.inputs.request_log.parity import Parity
from rollcall.inputs.request_log.recorded import Quarantined, Tally
from rollcall.jobs.log_config import replay_config
from rollcall.programs.terminal import say
from rollcall.shown.replay_report import Replayed, say_log
from rollcall.tables.home import Home

_SHOWN_EVERY = 5_000
UNREADABLE = "cannot be read: see the quarantine"
_GROUPS = """
    select group_id, case effect
        when 'group_not_covered' then concat('is a ', cause, ' group, whose records are not read')
        else concat('was there before, found as of ', date_format(at, 'yyyy-MM-dd HH:mm:ss.SSS'), ' UTC at generation ',
          generation_id) end as state_said
    from effects where effect in ('group_not_covered', 'group_found') order by group_id
"""
_CAUSES = """
    select count(*) rebalances, count_if(cause = 'unknown') open, count_if(cause <> 'unknown' and is_inferred) inferred,
      count_if(cause <> 'unknown' and not is_inferred) facts
    from rebalances
"""


class Input(Protocol):
    """An input of a replay."""

    size_bytes: int
    """About how much there is to read."""
    has_requests: bool
    """Whether it contains requests."""

    @property
    def is_understood(self) -> bool:
        """Whether any line or record of it is understood. Known after the last file of `files`."""

    def files(self, work: Work) -> Files:
        """Reads the input and works on its groups. Its counts are complete after the last file."""

    def tell(self, console: Console, home: Home) -> None:
        """Prints the report of the input, once its history is in a home."""


class LogInput:
    """A request log. Raises LogFileError, ConfigError."""

    has_requests = True

    def __init__(self, path: Path, given: Mapping[str, str], zone: ZoneInfo, printed: Sequence[str] = ()) -> None:
        """printed: files that its brokers or their clients printed, which may name the version of Kafka."""
        replay_config(given)
        self.size_bytes, self._path, self._given, self._zone = about_bytes(path), path, given, zone
        self._printed = printed
        self.replayed = Replayed(Tally(), Parity(), {}, 0.0)

    @property
    def is_understood(self) -> bool:
        return self.replayed.tally.is_of_requests

    def files(self, work: Work) -> Files:
        started = time.monotonic()
        log, unfit = read_log(self._path, self._zone, work), RowFiles(work.folder / "unfit-lines")
        for lines in log.unfit():
            unfit.write("quarantine", quarantine_of_lines(lines))
        yield 0, unfit.files
        log.survey.learn_release(partial(broker_version_in, self._printed))
        _, log.survey.group_configs = split_given(self._given)
        inferred = {key: value for key, value in log.survey.settings.items() if key not in self._given}
        broker = replay_config({**inferred, **self._given}).group
        tally, parity = log.tally, Parity()
        end_lag = work.pool.begin(read_lag, self._path, self._zone, work.folder) if tally.of_lag else None
        for followed in log.each_bucket(follow_into_files, work, broker, work.folder):
            tally.add(followed.tally)
            parity.add(followed.parity)
            yield followed.bucket, followed.files
        if end_lag is not None:
            end_lag()
        self.replayed = Replayed(tally, parity, inferred, time.monotonic() - started)

    def tell(self, console: Console, home: Home) -> None:
        say_log(console, self.replayed)


@dataclass
class DumpRead:
    """The counts of a dump."""

    records: int = 0
    last_at_ms: int = 0
    """When the latest record was written."""
    groups: dict[str, int] = field(default_factory=dict)
    """By group id, the partition that has its records."""
    whole_from_ms: dict[str, int] = field(default_factory=dict)
    """By group id, from when on every record is there; missing: all are."""
    ends_ms: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    """By partition, when its latest record was written."""
    skipped: Counter[str] = field(default_factory=Counter)
    bad: list[BadLine] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    """Topic names by topic id."""
    seconds: float = 0.0


class TopicInput:
    """A dump of __consumer_offsets. Raises ConfigError; reading it raises DumpError."""

    has_requests = False

    def __init__(self, path: Path, given: Mapping[str, str]) -> None:
        self._path, self._sessions = path, sessions_given(given)
        self._raw_max_bytes = replay_config(given).quarantine_raw_max_bytes
        self.size_bytes = about_bytes_of(files_of(path))
        self.found = DumpRead()

    @property
    def is_understood(self) -> bool:
        return self.found.records > 0

    def files(self, work: Work) -> Files:
        started, found = time.monotonic(), self.found
        spill = Spill(work.folder / "records-by-group")
        self._read(spill, work)
        spill.end()
        bad, out = [Quarantined(*line) for line in found.bad], RowFiles(work.folder / "unfit-records")
        out.write("quarantine", quarantine_of_lines(bad))
        yield 0, out.files
        known = GivenNames(found.names, self._sessions)
        shares = (
            (bucket, spill.path, [one for one in spill.pieces if one.bucket == bucket], known, self._raw_max_bytes)
            for bucket in range(work.buckets)
        )
        show = partial(work.show, f"folding records of {len(found.groups)} groups", total=found.records)
        yield from work.pool.each(fold_into_files, shares, show)
        found.seconds = time.monotonic() - started

    def _read(self, spill: Spill, work: Work) -> None:
        """Writes every record to a file by groups, and learns topic names by id on the way."""
        found = self.found
        dump = Dump(self._path, found.bad.append)
        found.names = names_of(self._spilled(dump, spill, work))
        found.skipped += dump.skipped
        found.whole_from_ms = dump.whole_of_groups(found.groups)
        found.skipped["is of an aborted transaction"] += dump.transactions.aborted
        found.skipped["is of a transaction that has no end yet"] += dump.transactions.unfinished

    def _spilled(self, dump: Dump, spill: Spill, work: Work) -> Iterator[Record]:
        """Writes records to the file; yields those that can be decoded."""
        found, shown = self.found, 0
        for record in dump:
            if found.records % _SHOWN_EVERY == 0:
                work.show("reading the dump", dump.bytes - shown, total=self.size_bytes)
                shown = dump.bytes
            group_id = group_id_of(record.key)
            size = len(record.key or b"") + len(record.value or b"")
            spill.add(bucket_of(group_id or "", work.buckets), (group_id, record[:5]), size)
            found.records += 1
            found.last_at_ms = max(found.last_at_ms, record.timestamp_ms)
            found.ends_ms[record.partition] = max(found.ends_ms[record.partition], record.timestamp_ms)
            if group_id is not None:
                found.groups[group_id] = record.partition
            try:
                decoded = decode(*record[:5])
            except RecordError:
                found.skipped[UNREADABLE] += 1
                continue
            if isinstance(decoded, Record):
                yield decoded
            else:
                found.skipped[decoded.reason] += 1

    def until_ms(self, group_id: str) -> int:
        """Up to when a group stayed as its last record has it. Known after the last file of `files`."""
        return self.found.ends_ms[self.found.groups[group_id]] if group_id in self.found.groups else -1

    def tell(self, console: Console, home: Home) -> None:
        self.tell_records(console, home)
        rebalances, left_open, inferred, proven = next(iter(ask(home.path, _CAUSES).rows))
        if rebalances:
            say(
                console,
                f"of {rebalances} causes of rebalances the topic proves {proven}, {inferred} are inferred, and "
                f"{left_open} are open: docs/offsets-topic.md has the rules",
            )

    def tell_records(self, console: Console, home: Home) -> None:
        """Prints the counts of records, and which groups existed before or are not covered."""
        found = self.found
        say(console, f"{found.records} records of {len(found.groups)} groups read in {found.seconds:.1f} s")
        for reason, count in sorted((+found.skipped).items(), key=lambda item: -item[1]):
            say(console, f"  {count}: {reason}")
        if found.bad:
            say(console, f"  {len(found.bad)} lines cannot be read: see the quarantine")
        for group_id, state in ask(home.path, _GROUPS).rows:
            say(console, f"  {group_id}: {state}")


class BothInput:
    """A log and a dump of the same cluster, whose facts are merged group by group."""

    has_requests = True

    def __init__(self, log: LogInput, topic: TopicInput) -> None:
        self.size_bytes, self._log, self._topic = log.size_bytes + topic.size_bytes, log, topic
        self.found = BothMerged()

    @property
    def is_understood(self) -> bool:
        return self._log.is_understood or self._topic.is_understood

    def files(self, work: Work) -> Files:
        of_log, of_topic = (_effects_apart(each.files(work)) for each in (self._log, self._topic))
        yield 0, [*of_log.others, *of_topic.others]
        names = self._topic.found.names
        topic = self._topic.found
        ends = Ends(self._log.replayed.tally.last_at_ms or 0, topic.last_at_ms, topic.whole_from_ms)
        given = (
            (bucket, of_log.effects[bucket], of_topic.effects[bucket], names, ends, work.folder)
            for bucket in range(work.buckets)
        )
        show = partial(work.show, "merging the facts of both", total=work.buckets)
        for found, files in work.pool.each(merge_files, given, show):
            self.found.add(found)
            yield 0, files

    def tell(self, console: Console, home: Home) -> None:
        self._log.tell(console, home)
        self._topic.tell_records(console, home)
        for line in merging_lines(self.found):
            say(console, line)


@dataclass
class _Apart:
    """Files of an input: those of effects by bucket, and those of other tables."""

    effects: defaultdict[int, list[Path]]
    others: list[Path]


def _effects_apart(buckets: Files) -> _Apart:
    apart = _Apart(defaultdict(list), [])
    for bucket, files in buckets:
        apart.effects[bucket] += [file for file in files if file.suffix == ".effects"]
        apart.others += [file for file in files if file.suffix != ".effects"]
    return apart
