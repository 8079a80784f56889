"""The inputs of a replay: a request log, a dump of __consumer_offsets, or both, as rows of tables in files by groups.

An input is read whole, then a pool of processes works on its groups. Must not know a line's text, a record, a rule of
the protocol or how answers are compared.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol
from zoneinfo import ZoneInfo

from rich.console import Console

from rollcall.answers.sql.engine import ask
from rollcall.inputs.both_inputs import BothMerged, merging_lines
from rollcall.inputs.merged_facts import GroupRecorded
from rollcall.inputs.offsets_topic.dumps.reading import files_of
from rollcall.inputs.quarantined import quarantine_of_lines
from rollcall.inputs.replay.bucket_rows import write_bucket, write_lag
from rollcall.inputs.replay.building import Files
from rollcall.inputs.replay.printed_beside import LinesBeside
from rollcall.inputs.replay.row_files import RowFiles
from rollcall.inputs.replay.spilled_dump import Records, SpilledDump
from rollcall.inputs.replay.spilled_log import read_log
from rollcall.inputs.replay.work import Work
from rollcall.inputs.request_log.configs_given import sessions_given
from rollcall.inputs.request_log.lines.files import about_bytes, about_bytes_of, files_in_order
from rollcall.inputs.request_log.parity import Parity
from rollcall.inputs.request_log.recorded import Quarantined, Tally
from rollcall.jobs.log_config import replay_config
from rollcall.programs.terminal import say
from rollcall.shown.replay_report import Replayed, say_log
from rollcall.tables.home import Home

_GROUPS = """
    select group_id, case effect
        when 'group_not_covered' then concat('is a ', cause, ' group, whose records are not read')
        else concat('was there before, found as of ', date_format(at, 'yyyy-MM-dd HH:mm:ss.SSS'), ' UTC at generation ',
          generation_id) end as state_said
    from effects where effect in ('group_not_covered', 'group_found') order by group_id
"""
_CAUSES = """
    select count(*) rebalances, count_if(cause <> 'unknown' and not is_inferred) facts,
      count_if(cause <> 'unknown' and is_inferred) inferred, count_if(cause = 'unknown') open
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

    def __init__(self, path: Path, given: Mapping[str, str], zone: ZoneInfo, printed: Sequence[str] = ()) -> None:
        """printed: files that its brokers or their clients printed, which may name the version of Kafka."""
        replay_config(given)
        self.size_bytes, self._path, self._given, self._zone = about_bytes(path), path, given, zone
        self._printed = printed
        self.replayed = Replayed(Tally(), Parity(), {}, 0.0)

    def read(self, work: Work) -> list[Path]:
        """Reads it whole; returns files with the lines that cannot be read."""
        self._began_s = time.monotonic()
        files, unfit = files_in_order(self._path, self._zone), RowFiles(work.folder / "unfit-lines")
        self.found = log = read_log(files, self._zone, work, self._given, self._printed)
        for lines in log.unfit():
            unfit.write("quarantine", quarantine_of_lines(lines))
        self.replayed = Replayed(log.tally, Parity(), log.survey.inferred(self._given), 0.0)
        path, zone, folder = self._path, self._zone, work.folder
        self._end_lag = work.pool.begin(write_lag, path, zone, folder) if log.tally.of_lag else lambda: None
        return unfit.files

    def end(self) -> None:
        """All buckets are followed."""
        self._end_lag()
        self.replayed = self.replayed._replace(seconds=time.monotonic() - self._began_s)


class TopicInput:
    """A dump of __consumer_offsets. Raises ConfigError; reading it raises DumpError."""

    def __init__(self, path: Path, given: Mapping[str, str]) -> None:
        self._path, self._sessions = path, sessions_given(given)
        self._raw_max_bytes = replay_config(given).quarantine_raw_max_bytes
        self.size_bytes = about_bytes_of(files_of(path))
        self.found = SpilledDump()
        self._seconds = 0.0

    def read(self, work: Work) -> list[Path]:
        """Reads it whole; returns files with the lines that cannot be read."""
        began_s = time.monotonic()
        self.found.read(self._path, self.size_bytes, work)
        unfit = RowFiles(work.folder / "unfit-records")
        unfit.write("quarantine", quarantine_of_lines([Quarantined(*line) for line in self.found.bad]))
        self._seconds = time.monotonic() - began_s
        return unfit.files

    def bucket(self, number: int) -> Records:
        return self.found.bucket(number, self._sessions, self._raw_max_bytes)

    def tell_records(self, console: Console, home: Home) -> None:
        """Prints the counts of records, and which groups existed before or are not covered."""
        found = self.found
        say(console, f"{found.records} records of {len(found.groups)} groups read in {self._seconds:.1f} s")
        for reason, count in sorted((+found.skipped).items(), key=lambda item: -item[1]):
            say(console, f"  {count}: {reason}")
        if found.bad:
            say(console, f"  {len(found.bad)} lines cannot be read: see the quarantine")
        for group_id, state in ask(home.path, _GROUPS).rows:
            say(console, f"  {group_id}: {state}")


class RecordedInput:
    """A log, a dump, or both of the same cluster, whose facts are merged group by group; and what is printed beside."""

    def __init__(self, log: LogInput | None, topic: TopicInput | None, beside: LinesBeside | None = None) -> None:
        self.log, self.topic, self.beside, self.has_requests = log, topic, beside, log is not None
        self._parts: list[LogInput | TopicInput] = [one for one in (log, topic) if one is not None]
        self.size_bytes = sum(one.size_bytes for one in (*self._parts, *([beside.printed] if beside else ())))
        self.found = BothMerged()

    @property
    def is_understood(self) -> bool:
        is_log = self.log is not None and self.log.replayed.tally.is_of_requests
        is_topic = self.topic is not None and self.topic.found.records > 0
        return is_log or is_topic or (self.beside is not None and self.beside.printed.is_understood)

    def files(self, work: Work) -> Files:
        log, topic, beside = self.log, self.topic, self.beside
        named = beside.read(work.folder) if beside is not None else frozenset()
        for one in self._parts:
            yield one.read(work)
        buckets = (
            (
                work.folder / f"bucket-{number:03}",
                log and log.found.bucket(number),
                topic and topic.bucket(number),
                named,
            )
            for number in range(work.buckets)
        )
        total = (log.found.requests if log else 0) + (topic.found.records if topic else 0)
        for written in work.pool.each(write_bucket, buckets, partial(work.show, "following groups", total=total)):
            if log is not None:
                log.replayed.tally.add(written.tally)
                log.replayed.parity.add(written.parity)
            if written.merged is not None:
                self.found.add(written.merged)
            yield written.files
            for group_id, recorded in written.recorded.items():
                self._lay_lines(group_id, recorded)
        if log is not None:
            log.end()
        if beside is not None:
            yield beside.end()

    def _lay_lines(self, group_id: str, recorded: GroupRecorded) -> None:
        assert self.beside is not None
        if self.topic is not None:
            recorded.until_ms = max(recorded.until_ms, self.topic.found.until_ms(group_id))
        self.beside.lay(group_id, recorded)

    def tell(self, console: Console, home: Home) -> None:
        if self.log is not None:
            say_log(console, self.log.replayed)
        if self.topic is not None:
            self.topic.tell_records(console, home)
        if self.log is not None and self.topic is not None:
            for line in merging_lines(self.found):
                say(console, line)
        if self.beside is not None:
            self.beside.tell(console, home)
        is_topic_alone = self.log is None and self.beside is None
        (causes,) = ask(home.path, _CAUSES).rows if is_topic_alone else [(0, 0, 0, 0)]
        if causes[0]:
            said = "of {} causes of rebalances the topic proves {}, {} are inferred, and {} are open: {}"
            say(console, said.format(*causes, "docs/offsets-topic.md has the rules"))
