"""A recorded log through the stream: the story that the pure core tells of it, and that the broker's truth has."""

from __future__ import annotations

import json
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from rich.console import Console

from jobs.home import Home
from jobs.replay.command import Replay, clear, replay_config, settings_of
from jobs.replay.report import Told, tell
from jobs.rollcall.__main__ import main
from jobs.sql import register_views
from programs.errors import ConfigError
from request_log.core_replay import Replay as PureReplay
from request_log.importer import LogImport
from schemas.effects import RebalanceEnded
from tests.source_tree import ROOT

CAPTURE = ROOT / "tests/captures/d-kill"
LOG = CAPTURE / "requests.log.gz"


@pytest.fixture(scope="module")
def replayed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Home, Replay]:
    home = Home(tmp_path_factory.mktemp("replay"))
    work = Replay(home, {}, LOG, "UTC", Console(quiet=True))
    work.run(spark)
    return home, work


def test_every_recorded_answer_is_equal(replayed: tuple[Home, Replay]) -> None:
    _, work = replayed
    assert work.parity.compared > 400
    assert work.parity.share == 1.0
    tally = work.tally
    assert tally.used + tally.skipped.total() + tally.quarantined.total() == tally.read


def test_rebalances_are_the_truths(spark: SparkSession, replayed: tuple[Home, Replay]) -> None:
    home, _ = replayed
    register_views(spark, home)
    truth = json.loads((CAPTURE / "truth.json").read_text())["groups"]
    for group_id, told in truth.items():
        rows = spark.sql(f"select * from rebalances where group_id = '{group_id}' order by started_at").collect()
        assert [(r.from_generation_id, r.to_generation_id, r.cause, r.cause_member_id) for r in rows] == [
            (t["from_generation"], t["to_generation"], t["cause"], t["trigger"]["member_id"])
            for t in told["rebalances"]
        ]
        members = {r.member_id for r in spark.sql(f"select * from members where group_id = '{group_id}'").collect()}
        assert members == {member["member_id"] for member in told["final"]["members"]}


def test_the_stream_and_the_pure_core_tell_the_same_story(replayed: tuple[Home, Replay]) -> None:
    home, _ = replayed
    log = LogImport(LOG, ZoneInfo("UTC"), replay_config({}).group)
    pure = PureReplay(log.config)
    rows = list(log)
    theirs = {
        (group_id, e.at_ms, e.to_generation_id, str(e.cause.kind))
        for group_id, e in pure.run(rows, log.tally.last_at_ms)
        if isinstance(e, RebalanceEnded)
    }
    effects = DeltaTable(home.effects).to_pyarrow_table().to_pylist()
    ours = {
        (e["group_id"], e["at_ms"], e["generation_id"], e["cause"]) for e in effects if e["effect"] == "rebalance_ended"
    }
    assert ours == theirs


def test_the_report_names_lines_parity_and_culprits(replayed: tuple[Home, Replay], tmp_path: Path) -> None:
    home, work = replayed
    with (tmp_path / "report").open("w") as out:
        told = Told(work.tally, work.parity, {"group.max.size": "3"}, 1.0)
        tell(Console(file=out, width=200), home, told)
    report = (tmp_path / "report").read_text()
    assert "parity: 100.000% of" in report
    assert "views-agg: session_expired by views-agg-1 on 127.0.1.14, generation 1 -> 2, 4 -> 3 members" in report
    assert "the broker had group.max.size=3" in report
    assert "UTC" in report


def test_fresh_clears_a_replay_and_nothing_else(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.settle("live", "driver")
    with pytest.raises(Exception, match="holds a live"):
        clear(home)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["{tmp}/nothing.log"], "there is no such file"),
        ([str(LOG), "--zone", "Mars/Olympus"], "ZONE=Mars/Olympus"),
        ([str(LOG), "--set", "group.max.sice=3"], "group.max.sice"),
        ([str(LOG), "--set", "group.max.size"], "not of the form key=value"),
    ],
)
def test_a_mistake_is_one_sentence(
    arguments: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], spark: SparkSession
) -> None:
    words = [word.replace("{tmp}", str(tmp_path)) for word in arguments]
    assert main(["replay", *words, "--home", str(tmp_path / "home")]) == 2
    complaint = capsys.readouterr().err
    assert says in complaint
    assert "Traceback" not in complaint


def test_settings_may_stand_in_one_text() -> None:
    assert settings_of(["a=1 b=2", "c=3"]) == {"a": "1", "b": "2", "c": "3"}
    with pytest.raises(ConfigError, match="SET=a"):
        settings_of(["a"])
