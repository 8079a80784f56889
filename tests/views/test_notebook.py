"""`import rollcall` in a notebook: what it loads, and that its answers are those of the commands."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import rollcall
from rollcall.__main__ import main
from rollcall.jobs.spark import answering
from rollcall.programs.extras import MissingExtra
from tests.source_tree import ROOT
from tests.views.histories import one_expires, two_members
from tests.views.story import write_effects

HOSTILE = 'it\'s a "group" -- ;'
PRINTED = ROOT / "tests" / "printed" / "brokers" / "d-kill.log.gz"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write_effects(tmp_path, {"expired": one_expires().rows, HOSTILE: two_members(HOSTILE).rows})
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(words) == 0
    return capsys.readouterr().out


def test_importing_it_loads_nothing() -> None:
    program = "import sys; before = {*sys.modules}; import rollcall; print(*{*sys.modules} - before)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert {name.partition(".")[0] for name in done.stdout.split()} - sys.stdlib_module_names == {"rollcall"}
    assert {name for name in rollcall.__all__ if not getattr(rollcall, name).__doc__} == set()
    with pytest.raises(AttributeError, match="no attribute 'close'"):
        _ = rollcall.close


def test_sql_answers_with_a_frame_or_an_arrow_table(home: Path) -> None:
    opened = rollcall.open(home)
    query = "select client_id, joined_at, group_instance_id from members where group_id = 'expired' order by client_id"
    frame, table = opened.sql(query), opened.sql(query, form="arrow")
    assert frame["client_id"].tolist() == table["client_id"].to_pylist() == ["a"]
    assert table.schema.types == [pa.string(), pa.timestamp("us"), pa.string()]
    assert frame["joined_at"].tolist() == table["joined_at"].to_pandas().tolist()
    assert opened.sql("select count(*) as n from members", at="1970-01-01 00:00:02", form="arrow")["n"].to_pylist() == [
        2
    ]
    with pytest.raises(rollcall.UserError, match="there are"):
        opened.sql("select nobody from members", form="arrow")
    assert repr(opened) == f"rollcall.open({str(home)!r})"


def test_spark_answers_with_the_same_types(spark: SparkSession, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "_session", lambda: spark)
    opened, query = (
        rollcall.open(home),
        "select {} as letter, joined_at, topics, is_inferred from sessions order by joined_at",
    )
    by_duckdb = opened.sql(query.format("'A'"), form="arrow")
    by_spark = opened.sql(query.format("chr(65)"), form="arrow", engine="spark")
    assert by_spark.to_pylist() == by_duckdb.to_pylist()
    assert by_spark.schema.types[:2] == by_duckdb.schema.types[:2] == [pa.string(), pa.timestamp("us")]


def test_a_session_has_the_views(spark: SparkSession, home: Path) -> None:
    rollcall.open(home).register_views(spark, ["groups"])
    assert spark.table("groups").count() == 2


def test_rebalances_of_a_group_since_a_moment(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rollcall.jobs.spark.answering", None)
    opened = rollcall.open(home)
    every = opened.rebalances("expired")
    assert every["cause"].tolist()[-1] == "session_expired"
    assert every["to_generation_id"].tolist() == [1, 2, 3]
    late = opened.rebalances("expired", since="1970-01-01 00:00:10", form="arrow")
    assert late["to_generation_id"].to_pylist() == [3]
    assert {*opened.rebalances(HOSTILE)["group_id"]} == {HOSTILE}
    assert len(opened.rebalances()) == len(every) + 2


def test_why_is_what_the_command_prints(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = rollcall.open(home).why("expired", generation_id=3)
    assert f"{found}\n" == f"{found!r}\n" == printed(capsys, "why", "expired", "--generation", "3", "--home", str(home))
    assert {line.part for line in found.lines} >= {"what", "who", "timeline"}


def test_explain_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    words: dict[str, Any] = {"group_id": "clicks-agg", "evidence": True}
    found = rollcall.explain(PRINTED, **words)
    command = ["explain", str(PRINTED), "--group", "clicks-agg"]
    assert f"{found}\n" == printed(capsys, *command, "--evidence")
    assert found.answer == json.loads(printed(capsys, *command, "--format", "json"))
    assert rollcall.explain([PRINTED], **words) == found


def test_what_is_not_installed_is_named_with_the_line_that_installs_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = rollcall.open(home)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match=r'pip install pandas, or form="arrow"$'):
        opened.sql("select 1")
    assert opened.sql("select 1 as one", form="arrow")["one"].to_pylist() == [1]
