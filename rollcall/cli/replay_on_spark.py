"""`rollcall replay --engine spark`: a log replayed by Spark, on this machine or submitted to a cluster, and its report.

Knows how the program is started and what a home may hold already. Must not know how the replay works.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from rich.console import Console

from rollcall.cli.replay import replay_home
from rollcall.inputs.not_understood import not_understood, tell_ignored
from rollcall.inputs.printed.lines.files import comes_once
from rollcall.inputs.replay.inputs import InputError, input_of
from rollcall.inputs.request_log.lines.clock import zone_of
from rollcall.jobs.replay_on_spark import replay_on_spark
from rollcall.jobs.spark.session import spark_session
from rollcall.jobs.spark.store_folder import held
from rollcall.shown.replay_report import say_log, tell_home
from rollcall.tables import in_spark
from rollcall.tables.home import Home, HomeError

_APP = "rollcall replay"


def replay_by_spark(
    home: Home, paths: Sequence[Path], given: Mapping[str, str], zone: str, console: Console, *, is_fresh: bool = False
) -> None:
    """As `rollcall.cli.replay.replay`, for a log; the home may be in an object store. Raises UserError."""
    log_zone = zone_of(zone)
    for path in filter(comes_once, map(str, paths)):
        raise InputError(f"{path}: Spark cannot read it. Write it to a file, and name that.")
    made_of = input_of(paths, given, log_zone)
    if made_of.log is None or made_of.topic or made_of.printed:
        named = " ".join(map(str, paths))
        raise InputError(f"{named}: --engine spark replays one request log, --engine processes a dump as well.")
    if home.is_local:
        with replay_home(home, is_fresh=is_fresh):
            replayed = replay_on_spark(spark_session(_APP), home, made_of.log.files, given, log_zone, console)
            if not replayed.tally.is_of_requests:
                raise not_understood(paths)
    else:
        spark = spark_session(_APP)
        with held(spark, home, "a replay"):
            if not is_fresh and _holds_facts(spark, home):
                raise HomeError(f"{home.shown} holds a history already: --fresh clears it, or name another home.")
            replayed = replay_on_spark(spark, home, made_of.log.files, given, log_zone, console)
    say_log(console, replayed)
    tell_home(console, home)
    tell_ignored(made_of.ignored)


def _holds_facts(spark: SparkSession, home: Home) -> bool:
    try:
        return bool(spark.read.format(in_spark.FORMAT).load(home.effects).take(1))
    except AnalysisException as error:
        if any(name in str(error) for name in in_spark.NO_TABLE):
            return False
        raise
