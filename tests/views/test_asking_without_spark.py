"""Asking a home by DuckDB alone: what is loaded, printed and refused, and which files are read."""

from __future__ import annotations

import csv
import datetime
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest
from deltalake import DeltaTable, write_deltalake

from rollcall.__main__ import main
from rollcall.answers.queries import QueryError
from rollcall.answers.sql import engine
from rollcall.answers.sql.engine import NotEqual, ask
from rollcall.answers.sql.written import java_double, shown_interval
from rollcall.answers.views.catalog import NAMES
from rollcall.cli.sql import answer_query, frame_of, table_of
from rollcall.schemas.tables import REQUESTS
from rollcall.shown.plain_answers import write_answer
from rollcall.tables.duck_database import open_database
from rollcall.tables.home import Home
from tests.source_tree import ROOT
from tests.views.histories import deleted, one_expires, one_leaves, two_members
from tests.views.story import write_effects


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write_effects(tmp_path, {"two": two_members().rows})
    return tmp_path


def answered(home: Path, query: str, form: str = "json", at: str = "") -> str:
    out = io.StringIO()
    assert answer_query(Home(home), query, at, form, "", out) == 0
    return out.getvalue()


def test_an_answer_loads_neither_spark_nor_arrow(home: Path) -> None:
    program = (
        "import sys; from rollcall.__main__ import main\n"
        f"main(['sql', '--home', {str(home)!r}, 'select state, count(*) from groups group by state'])\n"
        f"main(['why', '--home', {str(home)!r}, 'two'])\n"
        "heavy = ('pyspark', 'pyarrow', 'pandas', 'numpy', 'deltalake')\n"
        "print(*(name for name in heavy if name in sys.modules), 'end')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "end"
    assert "│ Stable │        1 │" in done.stdout


def test_an_answer_for_a_program_loads_nothing_that_draws(home: Path) -> None:
    program = (
        "import sys; from rollcall.__main__ import main\n"
        f"main(['sql', '--home', {str(home)!r}, '--format', 'csv', 'select count(*) as n from groups'])\n"
        "print('rich' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.splitlines() == ["n", "1", "False"]


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("selec 1", 'syntax error at "selec" (line 1, column 1). Did you mean SELECT?'),
        ("-- all\n ;(slect * from groups)", 'syntax error at "slect" (line 2, column 4). Did you mean SELECT?'),
        ("xyz", 'syntax error at "xyz" (line 1, column 1). Expected SELECT, '),
        ("select *\n form groups", 'syntax error at "groups" (line 2, column 7).'),
        ("select 1 from groups wher state = 'x'", 'syntax error at "state" (line 1, column 27).'),
        ("select *\nfrom groups group by", 'syntax error at "by" (line 2, column 19).'),
        ("select 'abc", "syntax error: a quote or a comment does not end."),
    ],
)
def test_a_syntax_error_says_its_place_and_starts_no_spark(
    home: Path, monkeypatch: pytest.MonkeyPatch, query: str, says: str
) -> None:
    monkeypatch.setitem(sys.modules, "rollcall.jobs.spark.answering", None)
    with pytest.raises(QueryError, match=re.escape(f"query: {says}")) as refused:
        answer_query(Home(home), query)
    assert str(refused.value).endswith(" If Spark knows this syntax, use --engine spark.")
    with pytest.raises(QueryError, match=re.escape(f"query: {says}")):
        frame_of(home, query)


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("select chr(65)", "chr()"),
        ("explain select 1", "a statement that is not a SELECT"),
        ("select date_trunc('HOUR', 1.5 * 2) from groups", "the decimal number 1.5"),
        ("select date_trunc('HOUR', 3 / 2) as hour", "a timestamp from a DOUBLE"),
    ],
)
def test_spark_never_starts_unasked(home: Path, monkeypatch: pytest.MonkeyPatch, query: str, why: str) -> None:
    monkeypatch.setitem(sys.modules, "rollcall.jobs.spark.answering", None)
    sentence = re.escape(f"query: this needs Spark, because of {why}: use ")
    with pytest.raises(QueryError, match=rf"^{sentence}--engine spark\.$"):
        answer_query(Home(home), query)
    for answer in (frame_of, table_of):
        with pytest.raises(QueryError, match=rf'^{sentence}engine="spark"\.$'):
            answer(home, query)
    with pytest.raises(QueryError, match=r'^engine="presto": is not "spark"\.$'):
        frame_of(home, query, engine="presto")


def test_what_is_too_much_for_several_threads_is_answered_by_one(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each thread holds a part of a file, so a day of commits each minute took more than there is."""
    first_rows = engine._first_rows

    def too_much(connection: duckdb.DuckDBPyConnection, *of_query: Any) -> list[Any]:
        if connection.execute("SELECT current_setting('threads')").fetchone() != (1,):
            raise duckdb.OutOfMemoryException("more than there is")
        return first_rows(connection, *of_query)

    monkeypatch.setattr(engine, "_first_rows", too_much)
    monkeypatch.setattr(engine, "open_database", lambda: open_database_of_threads(2))
    assert [tuple(row) for row in ask(home, "select group_id, state from groups").rows] == [("two", "Stable")]


def open_database_of_threads(threads: int) -> duckdb.DuckDBPyConnection:
    database = open_database()
    database.execute(f"SET threads = {threads}")
    return database


def test_every_form(home: Path) -> None:
    query = (
        "select client_id, joined_at, assigned_partitions, session_timeout_ms / 4 as quarter_ms from members order by 1"
    )
    assert answered(home, query).splitlines()[0] == (
        '{"client_id":"a","joined_at":"1970-01-01T00:00:01.000Z","assigned_partitions":["t-0"],"quarter_ms":2500.0}'
    )
    assert answered(home, query, "csv").splitlines() == [
        "client_id,joined_at,assigned_partitions,quarter_ms",
        'a,1970-01-01T00:00:01.000Z,"[""t-0""]",2500.0',
        'b,1970-01-01T00:00:03.000Z,"[""t-1""]",2500.0',
    ]
    table = answered(home, query, "table", at="1970-01-01 00:00:02")
    assert "│ a         │ 1970-01-01 00:00:01.000 │ t-0, t-1            │     2500.0 │" in table
    assert table.endswith("1 row, times in UTC\nas it was at 1970-01-01 00:00:02.000 UTC\n")


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        (
            "select *\nfrom nowhere",
            f"query: The table or view `nowhere` cannot be found; there are {', '.join(sorted(NAMES))} "
            "(line 2, position 6).",
        ),
        (
            "select topic, size from offsets",
            "query: The column `size` cannot be found; there are group_id, topic, partition, committed_offset, "
            "leader_epoch, metadata, committed_at, member_id (line 1, position 15).",
        ),
        ("select o.size from offsets o", "query: The column `o.size` cannot be found; there are group_id, topic, "),
        (
            "select members from groups",
            "query: The column `members` cannot be found; there are group_id, group_type, state, generation_id, "
            "protocol_type, protocol_name, leader_id, member_count, pending_member_count, next_deadline_at, "
            "state_since, created_at, found_at, updated_at (line 1, position 8).",
        ),
    ],
)
def test_a_name_that_is_not_there_is_reported_at_once_with_those_that_are(
    home: Path, query: str, sentence: str
) -> None:
    with pytest.raises(QueryError) as refused:
        answered(home, query)
    assert str(refused.value).startswith(sentence)


def test_one_engine_alone_says_so_where_it_cannot_answer(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["sql", "--home", str(home), "--engine"]
    assert main([*arguments, "duckdb", "select no_such('a') as h"]) == 2
    assert capsys.readouterr().err.startswith(
        "rollcall: --engine duckdb: Catalog Error: Scalar Function with name no_such"
    )
    assert main([*arguments, "duckdb", "--format", "csv", "from groups select group_id, len([1, 2]) as n"]) == 0
    assert capsys.readouterr().out == "group_id,n\ntwo,2\n"
    with pytest.raises(QueryError, match=r"^--engine presto: is not one of duckdb, spark\.$"):
        answer_query(Home(home), "select 1", engine="presto")


@pytest.mark.parametrize("statement", ["describe members", "desc members", "show views", "SHOW COLUMNS IN members;"])
def test_what_there_is_needs_no_query(home: Path, statement: str) -> None:
    rows = [json.loads(line) for line in answered(home, statement).splitlines()]
    names = [next(row[key] for key in ("col_name", "viewName") if key in row) for row in rows]
    assert "assigned_partitions" in names or names == sorted(NAMES)


@pytest.mark.parametrize("name", ["rebalances", "lag", "effects"])
def test_what_a_view_has_needs_not_the_view(home: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    as_selected = list(ask(home, f"describe select * from {name}", is_duckdbs=True).rows)
    monkeypatch.setattr(engine, "macros_and_view", None)
    assert list(ask(home, f"describe {name}", is_duckdbs=True).rows) == as_selected
    assert [row[0] for row in ask(home, f"describe {name}").rows] == [row[0] for row in as_selected]


def test_a_home_without_effects_is_empty(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path / "requests"), REQUESTS.arrow.empty_table())
    for name in NAMES:
        assert answered(tmp_path, f"select * from {name}") == ""


def test_the_files_are_those_of_the_latest_version(home: Path) -> None:
    for number in range(6):
        write_effects(home, {f"left {number}": one_leaves().rows, f"gone {number}": deleted(f"gone {number}").rows})
    table = DeltaTable(str(home / "effects"))
    table.optimize.compact()
    table.create_checkpoint()
    write_effects(home, {"late": one_expires().rows})
    expected = sorted(str(one) for one in DeltaTable(str(home / "effects")).to_pyarrow_table()["group_id"].to_pylist())
    found = [json.loads(line)["group_id"] for line in answered(home, "select group_id from effects").splitlines()]
    assert sorted(found) == expected
    for file in (home / "effects" / "_delta_log").glob("*.checkpoint.parquet"):
        file.write_bytes(b"broken")
    with pytest.raises(NotEqual):
        ask(home, "select count(*) from effects")


def test_a_frame_for_notebooks(home: Path) -> None:
    frame = frame_of(home, "select client_id, joined_at from members order by client_id")
    assert list(frame.columns) == ["client_id", "joined_at"]
    assert frame["client_id"].tolist() == ["a", "b"]
    assert str(frame["joined_at"].dtype).startswith("datetime64")
    assert frame_of(home, "select count(*) as n from members", at="1970-01-01 00:00:02")["n"].tolist() == [1]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (0.1, "0.1"),
        (0.001, "0.001"),
        (0.00099, "9.9E-4"),
        (1.5e-7, "1.5E-7"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (12345678.25, "1.234567825E7"),
        (-1.5e300, "-1.5E300"),
        (123456789012345680.0, "1.2345678901234568E17"),
        (1 / 3, "0.3333333333333333"),
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
    ],
)
def test_a_double_is_written_as_java_writes_it(value: float, text: str) -> None:
    assert java_double(value) == text


@pytest.mark.parametrize(
    ("length_us", "text"),
    [
        (0, "INTERVAL '0 00:00:00' DAY TO SECOND"),
        (1_500_000, "INTERVAL '0 00:00:01.5' DAY TO SECOND"),
        (-90_061_000_001, "INTERVAL '-1 01:01:01.000001' DAY TO SECOND"),
    ],
)
def test_an_interval_is_written_as_spark_writes_it(length_us: int, text: str) -> None:
    assert shown_interval(datetime.timedelta(microseconds=length_us)) == text


def test_a_string_is_quoted_as_json_quotes_it(home: Path) -> None:
    out = io.StringIO()
    write_answer(ask(home, "select 'a\"b' as x, 'ü' as y, concat('a', 'b') as `ö\"`"), "json", out)
    assert json.loads(out.getvalue()) == {"x": 'a"b', "y": "ü", 'ö"': "ab"}


FORMULAS = ("=1+1", "+1", "-1", "@a", "\t=1", "\r=1", "\n=1", "\uff1d1", "\uff0b1", "\uff0d1", "\uff201")


@pytest.mark.parametrize("form", ["csv", "csv-raw"])
def test_a_csv_cell_of_text_is_no_formula_unless_it_is_asked_for_raw(home: Path, form: str) -> None:
    texts = ", ".join(f"('{text}')" for text in (*FORMULAS, "a=1"))
    query = (
        'select t as "=head", -1 as whole, -1.5 as dec, cast(-2 as double) as dbl, [t] as l '
        f"from (values {texts}) as v(t)"
    )
    out = io.StringIO(newline="")
    write_answer(ask(home, query, is_duckdbs=True), form, out)
    mark = "'" if form == "csv" else ""
    head, *rows = csv.reader(io.StringIO(out.getvalue(), newline=""))
    assert head[0] == f"{mark}=head"
    assert [row[0] for row in rows] == [*(mark + text for text in FORMULAS), "a=1"]
    assert {tuple(row[1:4]) for row in rows} == {("-1", "-1.5", "-2.0")}
    assert [json.loads(row[4]) for row in rows] == [[text] for text in (*FORMULAS, "a=1")]
