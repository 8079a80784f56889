"""The input of a replay: which it is by the paths that a user names, and how it is read.

It is a request log, a dump of __consumer_offsets, what is printed, or several of these as one.

Each is read whole, then a pool of processes works on the groups. Must not know a line's text, a record, a rule of the
protocol or how answers are compared.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

from rich.console import Console

from rollcall.inputs.both_inputs import BothMerged, merging_lines
from rollcall.inputs.file_kinds import FileKind, kind_of
from rollcall.inputs.not_understood import not_understood
from rollcall.inputs.printed.lines.files import STANDARD_INPUT, files_of, path_of
from rollcall.inputs.quarantined import quarantine_of_lines
from rollcall.inputs.replay.bucket_rows import write_bucket, write_lag
from rollcall.inputs.replay.printed import PrintedInput
from rollcall.inputs.replay.row_files import RowFiles
from rollcall.inputs.replay.spill import Work
from rollcall.inputs.replay.spilled_dump import Records, SpilledDump
from rollcall.inputs.replay.spilled_log import read_log
from rollcall.inputs.request_log.broker_settings import sessions_given
from rollcall.inputs.request_log.lines.files import LogFile, about_bytes_of, in_order
from rollcall.inputs.request_log.parity import Parity
from rollcall.inputs.request_log.recorded import Quarantined, Tally
from rollcall.jobs.log_config import replay_config
from rollcall.programs.errors import UserError
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


class LogInput:
    """A request log: its files in the order of their first timestamps. Raises ConfigError."""

    def __init__(
        self, files: Sequence[LogFile], given: Mapping[str, str], zone: ZoneInfo, printed: Sequence[str] = ()
    ) -> None:
        """printed: files that its brokers or their clients printed, which may name the version of Kafka."""
        replay_config(given)
        self.files, self._given, self._zone = files, given, zone
        self.size_bytes = about_bytes_of(file.path for file in files)
        self._printed = printed
        self.replayed = Replayed(Tally(), Parity(), {}, 0.0)

    def read(self, work: Work) -> list[Path]:
        """Reads it whole; returns files with the lines that cannot be read."""
        self._began_s = time.monotonic()
        unfit = RowFiles(work.folder / "unfit-lines")
        self.found = log = read_log(self.files, self._zone, work, self._given, self._printed)
        for lines in log.unfit():
            unfit.write("quarantine", quarantine_of_lines(lines))
        self.replayed = Replayed(log.tally, Parity(), log.survey.inferred(self._given), 0.0)
        of_lag = self.files, self._zone, log.survey.topic_names, work.folder
        self._end_lag = work.pool.begin(write_lag, *of_lag) if log.tally.of_lag else lambda: None
        return unfit.files

    def end(self) -> None:
        """All buckets are followed."""
        self._end_lag()
        self.replayed = self.replayed._replace(seconds=time.monotonic() - self._began_s)


class TopicInput:
    """A dump of __consumer_offsets. Raises ConfigError; reading it raises DumpError."""

    def __init__(self, files: Sequence[Path], given: Mapping[str, str]) -> None:
        self._files, self._sessions = files, sessions_given(given)
        self._raw_max_bytes = replay_config(given).quarantine_raw_max_bytes
        self.size_bytes = about_bytes_of(files)
        self.found = SpilledDump()
        self._seconds = 0.0

    def read(self, work: Work) -> list[Path]:
        """Reads it whole; returns files with the lines that cannot be read."""
        began_s = time.monotonic()
        self.found.read(self._files, self.size_bytes, work)
        unfit = RowFiles(work.folder / "unfit-records")
        unfit.write("quarantine", quarantine_of_lines([Quarantined(*line) for line in self.found.bad]))
        self._seconds = time.monotonic() - began_s
        return unfit.files

    def bucket(self, number: int) -> Records:
        return self.found.bucket(number, self._sessions, self._raw_max_bytes)

    def tell_records(self, console: Console, home: Home) -> None:
        """Prints the counts of records, and which groups existed before or are not covered."""
        from rollcall.answers.sql.engine import ask  # Takes fifty megabytes, and by now no process has rows.

        found = self.found
        say(
            console,
            f"{found.records} records of {sum(map(len, found.groups.values()))} groups read in {self._seconds:.1f} s",
        )
        for reason, count in sorted((+found.skipped).items(), key=lambda item: -item[1]):
            say(console, f"  {count}: {reason}")
        if found.bad:
            say(console, f"  {len(found.bad)} lines cannot be read: see the quarantine")
        for group_id, state in ask(home.path, _GROUPS).rows:
            say(console, f"  {group_id}: {state}")


class Input:
    """What is replayed: a log, a dump, what is printed, or several of these of one cluster, put together by groups."""

    def __init__(
        self,
        log: LogInput | None = None,
        topic: TopicInput | None = None,
        printed: PrintedInput | None = None,
        unknown: Sequence[str] = (),
    ) -> None:
        """unknown: files of no known kind."""
        self.log, self.topic, self.printed, self._unknown = log, topic, printed, unknown
        self.size_bytes = sum(one.size_bytes for one in (log, topic, printed) if one is not None)
        self.merged = BothMerged()

    @property
    def is_understood(self) -> bool:
        """Whether any line or record is understood. Known after the last file of `files`."""
        is_log = self.log is not None and self.log.replayed.tally.is_of_requests
        is_topic = self.topic is not None and self.topic.found.records > 0
        return is_log or is_topic or (self.printed is not None and self.printed.is_understood)

    @property
    def ignored(self) -> Sequence[str]:
        """The files in which nothing is understood. Known after the last file of `files`."""
        return self._unknown if self.printed is None else self.printed.ignored

    def files(self, work: Work) -> Iterator[list[Path]]:
        """Reads all and works on the groups; yields files of rows. The counts are complete after the last one."""
        log, topic, printed = self.log, self.topic, self.printed
        named = frozenset() if printed is None else printed.read(work.folder)
        for one in (log, topic):
            yield [] if one is None else one.read(work)
        buckets = (
            (
                work.folder / f"bucket-{number:03}",
                log and log.found.bucket(number),
                topic and topic.bucket(number),
                named,
            )
            for number in range(work.buckets if log or topic else 0)
        )
        total = (log.found.requests if log else 0) + (topic.found.records if topic else 0)
        for written in work.pool.each(write_bucket, buckets, partial(work.show, "following groups", total=total)):
            if log is not None:
                log.replayed.tally.add(written.tally)
                log.replayed.parity.add(written.parity)
            self.merged.add(written.merged)
            yield written.files
            if printed is not None:
                printed.lay(written.recorded)
        if log is not None:
            log.end()
        yield [] if printed is None else printed.end()

    def tell(self, console: Console, home: Home) -> None:
        """Prints the report, once the history is in a home."""
        log, topic, printed = self.log, self.topic, self.printed
        if log is not None:
            say_log(console, log.replayed)
        if topic is not None:
            topic.tell_records(console, home)
        if log is not None and topic is not None:
            for line in merging_lines(self.merged):
                say(console, line)
        if printed is not None:
            printed.tell(console)
            if log is not None or topic is not None:
                printed.tell_beside(console)
        elif log is None:
            from rollcall.answers.sql.engine import ask

            (causes,) = ask(home.path, _CAUSES).rows
            if causes[0]:
                said = "of {} causes of rebalances the topic proves {}, {} are inferred, and {} are open: {}"
                say(console, said.format(*causes, "docs/offsets-topic.md has the rules"))


class InputError(UserError):
    """Inputs that cannot be replayed together; the text says so."""


def input_of(paths: Sequence[Path], given: Mapping[str, str], zone: ZoneInfo) -> Input:
    """The input in some paths, each file by its own kind. given: settings of the broker and of groups that are known.

    A file of an unknown kind goes with printed logs, since an application's client may print nothing, or with request
    logs. Beside a dump it is ignored.

    Raises InputError: a path is not there, two have dumps, or a setting that nothing in them uses; NotUnderstood: all
    are of an unknown kind; UserError, DumpError, ConfigError.
    """
    for path in paths:
        if str(path) != STANDARD_INPUT and not path.exists():
            raise InputError(f"{path}: there is no such file or folder.")
    kinds = {file: kind_of(file) for file in files_of([*map(str, paths)])}
    logs, dumps, printed, unknown = (
        [file for file, kind in kinds.items() if kind is one]
        for one in (FileKind.REQUESTS, FileKind.DUMP, FileKind.PRINTED, FileKind.UNKNOWN)
    )
    if not (logs or dumps or printed):
        raise not_understood(paths, are_empty=not about_bytes_of(map(path_of, unknown)))
    if printed or logs:
        (printed or logs).extend(unknown)
    with_dumps = [path for path in paths if any(path in (place, *place.parents) for place in map(Path, dumps))]
    if len(with_dumps) > 1:
        raise InputError(
            f"{' '.join(map(str, with_dumps))}: names {len(with_dumps)} dumps of __consumer_offsets. One is "
            "replayed: put the files of one topic into a folder."
        )
    if given and not dumps and not logs:
        raise InputError(f"--set {next(iter(given))}: is said of a request log or a dump, and {printed[0]} is neither.")
    topic = TopicInput([*map(path_of, dumps)], given) if dumps else None
    log = LogInput(in_order(_labels(logs, paths), zone), given, zone, printed) if logs else None
    return Input(log, topic, PrintedInput(printed, zone) if printed else None, unknown)


def _labels(logs: Sequence[str], paths: Sequence[Path]) -> dict[Path, str]:
    """Files of a request log, each with its name below the folder that has all, as messages and evidence name it."""
    files = [*map(path_of, logs)]
    is_folder = len(paths) == 1 and paths[0].is_dir()
    root = paths[0] if is_folder else os.path.commonpath([file.absolute().parent for file in files])
    return {file: os.path.relpath(file, root) for file in files}
