"""A recorded log replayed: the broker's answers, and the facts that the stream reports of the same requests.

By processes of this machine or by Spark's tasks, the tables are the same.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from rich.console import Console

from rollcall.__main__ import main
from rollcall.cli.replay import clear
from rollcall.inputs.request_log.lines.files import files_in_order
from rollcall.jobs.log_config import replay_config
from rollcall.jobs.replay_on_spark import replay_on_spark
from rollcall.jobs.stream.query import failure_of, start
from rollcall.programs.errors import ConfigError
from rollcall.programs.settings import read_words
from rollcall.shown.replay_report import Replayed, say_log, tell_home
from rollcall.tables.home import Home
from rollcall.tables.home_tables import open_requests
from tests.engines.replays import assert_same_tables
from tests.replayed import QUIET, UTC, replay_log
from tests.source_tree import ROOT
from tests.streaming.live import read_rows

CAPTURE = ROOT / "tests/captures/d-kill"
LOG = CAPTURE / "requests.log.gz"


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Home, Replayed]:
    home = Home(tmp_path_factory.mktemp("replay"))
    return home, replay_log(home, LOG)


def test_every_recorded_answer_is_equal(replayed: tuple[Home, Replayed]) -> None:
    _, reported = replayed
    assert reported.parity.compared > 400
    assert reported.parity.share == 1.0
    tally = reported.tally
    assert tally.used + tally.skipped.total() + tally.quarantined.total() == tally.read


def test_the_stream_reports_the_same_of_the_requests(
    spark: SparkSession, replayed: tuple[Home, Replayed], tmp_path: Path
) -> None:
    """The one place where a replay and the stream meet: the same core, asked the same, in one batch."""
    home, reported = replayed
    again = Home(tmp_path / "again")
    shutil.copytree(home.requests, again.requests)
    config = replay_config(reported.inferred)
    open_requests(again)
    query = start(spark, again, config, until_drained=True).query
    query.awaitTermination()
    assert failure_of(query) is None
    ours, theirs = (_facts(read_rows(each.effects), reported.tally.last_at_ms or 0) for each in (again, home))
    assert ours == theirs


def _facts(rows: list[dict[str, object]], end_ms: int) -> list[str]:
    """Facts of which the stream has heard by its last request, but for their numbers and how heartbeats are packed."""
    facts = [row for row in rows if row["effect"] != "heartbeats_taken" and row["api"] != "Heartbeat"]
    return sorted(json.dumps({key: str(value) for key, value in row.items() if key != "seq"}) for row in facts)


def test_spark_leaves_the_tables_that_processes_leave(spark: SparkSession, tmp_path: Path) -> None:
    """Of two files: one is a part of the other, so that lines stand in both."""
    logs = tmp_path / "logs"
    logs.mkdir()
    shutil.copy(LOG, logs / "requests.log.gz")
    shutil.copy(ROOT / "tests/request_log/incidents/failover.log.gz", logs / "another.log.gz")
    ours, theirs = Home(tmp_path / "processes"), Home(tmp_path / "spark")
    report = replay_log(ours, logs)
    also = replay_on_spark(spark, theirs, files_in_order(logs, UTC), {}, UTC, QUIET)
    assert_same_tables(ours, report, theirs, also)


def test_the_report_names_lines_parity_and_culprits(replayed: tuple[Home, Replayed], tmp_path: Path) -> None:
    home, found = replayed
    with (tmp_path / "report").open("w") as out:
        reported = Replayed(found.tally, found.parity, {"group.max.size": "3"}, 1.0)
        console = Console(file=out, width=200)
        say_log(console, reported)
        tell_home(console, home)
    report = (tmp_path / "report").read_text()
    assert "parity: 100.000% (" in report
    assert (
        "views-agg: rebalance, generation 1 -> 2: session expired, by views-agg-1 on 127.0.1.14; completed in 13 ms"
        in report
    )
    assert "the broker had group.max.size=3" in report
    assert "UTC" in report


def test_fresh_clears_a_replay_and_nothing_else(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.check_kind("live", "driver")
    with pytest.raises(Exception, match="holds a live"):
        clear(home)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["{tmp}/nothing.log"], "there is no such file"),
        ([str(LOG), "--zone", "Mars/Olympus"], "--zone Mars/Olympus"),
        ([str(LOG), "--set", "group.max.sice=3"], "group.max.sice"),
        ([str(LOG), "--set", "group.max.size"], "not of the form key=value"),
    ],
)
def test_a_mistake_is_one_sentence(
    arguments: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [word.replace("{tmp}", str(tmp_path)) for word in arguments]
    assert main(["replay", *words, "--home", str(tmp_path / "home")]) == 2
    complaint = capsys.readouterr().err
    assert says in complaint
    assert "Traceback" not in complaint


def test_settings_may_stand_in_one_text() -> None:
    assert read_words(["a=1 b=2", "c=3"]) == {"a": "1", "b": "2", "c": "3"}
    with pytest.raises(ConfigError, match="--set a"):
        read_words(["a"])
