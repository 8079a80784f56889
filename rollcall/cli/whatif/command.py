"""`make whatif LOG=... SET=...`: what would have happened with other settings, compared with what happened.

    rollcall whatif LOG --set "session.timeout.ms=30000" [--was key=value] [--zone Asia/Kolkata]
                    [--format table|json] [--out FILE]

The log is read once. Then a pool of processes plays each group under each setting. Must not know how a schedule is
inferred or a group played.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec
from rich.console import Console

from rollcall.answers.whatif.answer import WhatIfAnswer, refuse_unfit
from rollcall.answers.whatif.changes import BASELINE, Setting, Trial, trial_of
from rollcall.answers.whatif.outcome import Outcome
from rollcall.answers.whatif.play import play
from rollcall.answers.whatif.recording import GroupRecorder, GroupRecording, Recording, rates_of
from rollcall.answers.whatif.schedules import GroupSchedules
from rollcall.cli.whatif.report import Report, tell
from rollcall.inputs.replay.building import Shown
from rollcall.inputs.replay.spill import Work, buckets_for
from rollcall.inputs.replay.spilled_log import LogBucket, read_log
from rollcall.inputs.request_log.lines.clock import zone_of
from rollcall.inputs.request_log.lines.files import about_bytes_of, files_in_order
from rollcall.inputs.request_log.log_ends import lag_of
from rollcall.inputs.request_log.recorded import Tally
from rollcall.jobs.log_config import replay_config
from rollcall.jobs.spark.machine import this_machine
from rollcall.programs.errors import UserError
from rollcall.programs.processes import Processes, note_done
from rollcall.programs.terminal import Terminal


class WhatIfError(UserError):
    """A what-if that cannot be done; the text says why."""


def read_recording(
    path: Path, zone: str, was: Mapping[str, str], pool: Processes, shown: Shown
) -> tuple[Recording, dict[str, str], int]:
    """Reads a log: (the recording, the broker settings that it shows, the lines read). was: settings that are known.

    Raises LogFileError, ZoneError, ConfigError.
    """
    log_zone = zone_of(zone)
    replay_config(was)
    with TemporaryDirectory(prefix="rollcall-whatif-") as folder:
        files = files_in_order(path, log_zone)
        size_bytes = about_bytes_of(file.path for file in files)
        work = Work(pool, shown.show, Path(folder), buckets_for(size_bytes))
        log = read_log(files, log_zone, work, was)
        tally = log.tally
        found = Recording(tally.first_at_ms or 0, tally.last_at_ms or 0)
        if tally.of_lag:
            lag = lag_of(files, log_zone, log.survey.topic_names)
            found.rates = rates_of(end for rows in lag for end in rows.ends)
        buckets = ((log.bucket(number), found.from_ms, log.settings) for number in range(work.buckets))
        show = partial(shown.show, "following groups", total=log.requests)
        recorded = pool.each(record_bucket, buckets, show)
        for group in sorted((group for bucket in recorded for group in bucket), key=lambda group: group.group_id):
            found.add(group)
    return found, log.survey.inferred(was), tally.read


def record_bucket(bucket: LogBucket, from_ms: int, broker: dict[str, str]) -> list[GroupRecording]:
    """Follows the groups of a bucket; returns their members' schedules and outcomes."""
    recorders: dict[str, GroupRecorder] = {}

    def listener_of(group_id: str) -> GroupRecorder:
        recorders[group_id] = GroupRecorder(group_id)
        return recorders[group_id]

    for more in bucket.follow(Tally(), listener_of):
        note_done(more)
    return [recorder.recording(from_ms, bucket.found.end_ms, broker) for recorder in recorders.values()]


def answer(recording: Recording, trial: Trial, pool: Processes, shown: Shown) -> WhatIfAnswer:
    """Plays the baseline and every setting. Raises SettingError before it plays any."""
    refuse_unfit(recording, trial)
    settings = [BASELINE, *trial.settings]
    played: list[dict[str, Outcome]] = [{} for _ in settings]
    plays = (
        (group_id, schedules, place, setting)
        for group_id, schedules in recording.schedules.items()
        for place, setting in enumerate(settings)
    )
    what = f"playing {len(recording.schedules)} groups under {len(settings)} settings"
    total = len(recording.schedules) * len(settings)
    for group_id, place, outcome in pool.each(play_one, plays, partial(shown.show, what, total=total)):
        played[place][group_id] = outcome
    in_order = [{group_id: outcomes[group_id] for group_id in recording.schedules} for outcomes in played]
    return WhatIfAnswer(recording, trial, in_order[0], tuple(in_order[1:]))


def play_one(group_id: str, schedules: GroupSchedules, place: int, setting: Setting) -> tuple[str, int, Outcome]:
    """One group under one setting."""
    outcome = play(schedules, setting)
    note_done(1)
    return group_id, place, outcome


def write_rows(found: WhatIfAnswer, out: Path) -> None:
    """Writes the answer's rows, one JSON object a line. Raises WhatIfError."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in found.rows()))
    except OSError as error:
        raise WhatIfError(f"--out {out}: cannot be written: {error.strerror}.") from None


class WhatIfQuestion(NamedTuple):
    """A what-if's question."""

    log: Path
    settings: Sequence[str]
    """The changes, as `key=value` words: see `rollcall.answers.whatif.changes`."""
    was: Mapping[str, str]
    """Settings that the broker had, by Kafka's keys."""
    zone: str
    """The zone of the log's timestamps."""
    form: str
    """The report's form, table or json."""
    out: Path
    """The file for the rows."""


def whatif(asked: WhatIfQuestion, console: Console) -> None:
    """Reads the log, plays its groups and prints the report. Raises UserError."""
    trial = trial_of(asked.settings)
    shown = Shown(Terminal(stderr=True))
    with Processes(this_machine().cores) as pool, shown.progress:
        recording, inferred, lines = read_recording(asked.log, asked.zone, asked.was, pool, shown)
        refuse_unfit(recording, trial)
        if not recording.schedules:
            raise WhatIfError(f"{asked.log}: no group of consumers joins in this log, so there is nothing to play.")
        started = time.monotonic()
        found = answer(recording, trial, pool, shown)
    seconds = time.monotonic() - started
    write_rows(found, asked.out)
    if asked.form == "json":
        sys.stdout.writelines(f"{msgspec.json.encode(row).decode()}\n" for row in found.rows())
    else:
        tell(console, Report(found, inferred, lines, seconds, str(asked.out)))
