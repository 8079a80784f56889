"""`make whatif LOG=... SET=...`: what would have happened with other settings, compared with what happened.

    rollcall whatif LOG --set "session.timeout.ms=30000" [--was key=value] [--zone Asia/Kolkata]
                    [--format table|json] [--out FILE]

The log is read once, here; every group under every setting is then played on its own, in parallel on Spark. Knows how
the parts go together; must not know how a life is inferred or a group played.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import pandas as pd
from pyspark.sql import SparkSession
from rich.console import Console

from jobs.replay.command import replay_config
from jobs.shown.terminal import Terminal
from jobs.spark.session import spark_session
from jobs.whatif.report import Told, tell
from programs.errors import UserError
from request_log.importer import LogImport
from request_log.lines.clock import zone_of
from whatif.answer import Answer, refuse_unfit
from whatif.changes import BASELINE, Setting, Trial, trial_of
from whatif.lives import GroupLives
from whatif.outcome import Outcome
from whatif.play import play
from whatif.recording import Recording, recording_of

TASKS_A_CORE = 4
"""Groups differ in size, and small tasks share the work more evenly."""
_PLAYED = "group_id string, setting int, outcome string"

Player = Callable[[Mapping[str, GroupLives], Sequence[Setting]], Iterable[tuple[str, int, Outcome]]]
"""Plays every group's lives under every setting: (group id, the setting's place, outcome), in any order."""


class WhatIfError(UserError):
    """A what-if that cannot be done; the text says why."""


def read_log(path: Path, zone: str, was: Mapping[str, str]) -> tuple[Recording, dict[str, str], int]:
    """Reads a log: (the recording, the broker settings that it shows, the lines read). was: settings that are known.

    Raises LogFileError, ZoneError, ConfigError.
    """
    log = LogImport(path, zone_of(zone))
    replay_config(was)
    inferred = {key: value for key, value in log.look_over().settings.items() if key not in was}
    recording = recording_of(log, {**inferred, **was})
    return recording, inferred, log.tally.read


def answer(recording: Recording, trial: Trial, player: Player) -> Answer:
    """Plays the baseline and every setting. Raises SettingError before it plays any."""
    refuse_unfit(recording, trial)
    settings = [BASELINE, *trial.settings]
    played: list[dict[str, Outcome]] = [{} for _ in settings]
    for group_id, place, outcome in player(recording.lives, settings):
        played[place][group_id] = outcome
    return Answer(recording, trial, played[0], tuple(played[1:]))


def on_spark(spark: SparkSession) -> Player:
    """A player on Spark: a task plays a few groups under a few settings."""

    def run(lives: Mapping[str, GroupLives], settings: Sequence[Setting]) -> Iterator[tuple[str, int, Outcome]]:
        if not lives:
            return
        groups = [(group_id, msgspec.json.encode(group_lives).decode()) for group_id, group_lives in lives.items()]
        tried = [(place, msgspec.json.encode(setting).decode()) for place, setting in enumerate(settings)]
        left = spark.createDataFrame(groups, "group_id string, lives string")
        right = spark.createDataFrame(tried, "setting int, text string")
        tasks = min(len(groups) * len(tried), spark.sparkContext.defaultParallelism * TASKS_A_CORE)
        runs = left.crossJoin(right).repartition(tasks, "group_id", "setting")
        for row in runs.mapInPandas(_play_all, _PLAYED).collect():
            yield row.group_id, row.setting, msgspec.json.decode(row.outcome, type=Outcome)

    return run


def _play_all(batches: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for batch in batches:
        outcomes = [
            msgspec.json.encode(
                play(msgspec.json.decode(group_lives, type=GroupLives), msgspec.json.decode(text, type=Setting))
            ).decode()
            for group_lives, text in zip(batch["lives"], batch["text"], strict=True)
        ]
        yield pd.DataFrame({"group_id": batch["group_id"], "setting": batch["setting"], "outcome": outcomes})


def write_rows(found: Answer, out: Path) -> None:
    """Writes the answer's rows, one JSON object a line. Raises WhatIfError."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in found.rows()))
    except OSError as error:
        raise WhatIfError(f"OUT={out}: cannot be written: {error.strerror}.") from None


class Asked(NamedTuple):
    """A what-if's question."""

    log: Path
    settings: Sequence[str]
    """Words that say what to change: see `whatif.changes`."""
    was: Mapping[str, str]
    """Settings that the broker had, by Kafka's keys."""
    zone: str
    """The zone of the log's timestamps."""
    form: str
    """The report's form, table or json."""
    out: Path
    """The file for the rows."""


def whatif(asked: Asked, console: Console) -> None:
    """Reads the log, plays its groups and prints the report. Raises UserError."""
    trial = trial_of(asked.settings)
    status = Terminal(stderr=True)
    with status.status("reading the log and inferring lives"):
        recording, inferred, lines = read_log(asked.log, asked.zone, asked.was)
    refuse_unfit(recording, trial)
    if not recording.lives:
        raise WhatIfError(f"{asked.log}: no group of consumers joins in this log, so there is nothing to play.")
    with status.status("starting Spark"):
        spark = spark_session("rollcall whatif", is_brief=True)
    started = time.monotonic()
    with status.status(f"playing {len(recording.lives)} groups under {len(trial.settings) + 1} settings"):
        found = answer(recording, trial, on_spark(spark))
    seconds = time.monotonic() - started
    write_rows(found, asked.out)
    if asked.form == "json":
        sys.stdout.writelines(f"{msgspec.json.encode(row).decode()}\n" for row in found.rows())
    else:
        tell(console, Told(found, inferred, lines, seconds, str(asked.out)))
