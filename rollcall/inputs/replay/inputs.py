"""The inputs of a replay: a request log, a dump of __consumer_offsets, or both, as rows of tables in files by groups.

An input is read whole, then a pool of processes works on its groups. Must not know a line's text, a record, a rule of
the protocol or how answers are compared.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol
from zoneinfo import ZoneInfo

from rich.console import Console

from rollcall.answers.sql.engine import ask
from rollcall.inputs.both_inputs import BothMerged, merging_lines
from rollcall.inputs.following.merging_feed import Ends
from rollcall.inputs.offsets_topic.dumps.reading import files_of
from rollcall.inputs.printed.broker_version import broker_version_in
from rollcall.inputs.quarantined import quarantine_of_lines
from rollcall.inputs.replay.building import Files
from rollcall.inputs.replay.folded import fold_into_files
from rollcall.inputs.replay.followed import follow_into_files, read_lag
from rollcall.inputs.replay.merged import merge_files
from rollcall.inputs.replay.row_files import RowFiles
from rollcall.inputs.replay.spilled_dump import SpilledDump
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


class TopicInput:
    """A dump of __consumer_offsets. Raises ConfigError; reading it raises DumpError."""

    has_requests = False

    def __init__(self, path: Path, given: Mapping[str, str]) -> None:
        self._path, self._sessions = path, sessions_given(given)
        self._raw_max_bytes = replay_config(given).quarantine_raw_max_bytes
        self.size_bytes = about_bytes_of(files_of(path))
        self.found = SpilledDump()
        self._seconds = 0.0

    @property
    def is_understood(self) -> bool:
        return self.found.records > 0

    def files(self, work: Work) -> Files:
        started, found = time.monotonic(), self.found
        found.read(self._path, self.size_bytes, work)
        bad, out = [Quarantined(*line) for line in found.bad], RowFiles(work.folder / "unfit-records")
        out.write("quarantine", quarantine_of_lines(bad))
        yield 0, out.files
        shares = ((bucket, found.bucket(bucket), self._sessions, self._raw_max_bytes) for bucket in range(work.buckets))
        show = partial(work.show, f"folding records of {len(found.groups)} groups", total=found.records)
        yield from work.pool.each(fold_into_files, shares, show)
        self._seconds = time.monotonic() - started

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
        say(console, f"{found.records} records of {len(found.groups)} groups read in {self._seconds:.1f} s")
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
