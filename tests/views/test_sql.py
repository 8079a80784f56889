"""Asking a home: how an answer is printed, what is refused and with which sentence, and that an answer is never old."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from deltalake import write_deltalake
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console

from rollcall.__main__ import main
from rollcall.answers.queries import QueryError, check_query
from rollcall.answers.views.catalog import NAMES
from rollcall.cli.sql import register_views
from rollcall.jobs.spark.answering import show_table, write_answer
from rollcall.jobs.spark.views import ask, refusals_named
from rollcall.schemas.tables import REQUESTS
from rollcall.tables.home import HomeError
from tests.views.histories import deleted, two_members
from tests.views.story import write_effects

ODD = """
SELECT timestamp'2026-03-01 03:12:00.5' AS at, 'a "b",\nc' AS text, array('x', 'y') AS names,
  named_struct('at', timestamp'2026-03-01 03:12:00', 'n', CAST(NULL AS INT)) AS nested, X'00ff' AS bytes,
  CAST(NULL AS STRING) AS missing, 1.50 AS price, true AS yes, date'2026-03-01' AS day, 7 AS n, 8 AS n
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write_effects(tmp_path, {"two": two_members().rows})
    return tmp_path


def printed(spark: SparkSession, query: str, form: str) -> str:
    out = io.StringIO()
    write_answer(spark.sql(query), form, out)
    return out.getvalue()


# ---------------------------------------------------------------- forms


def test_json_is_one_object_a_line_with_nulls_and_times_that_name_their_zone(spark: SparkSession) -> None:
    lines = printed(spark, "SELECT id, nullif(id, 1) AS maybe FROM range(2) ORDER BY id", "json").splitlines()
    assert [json.loads(line) for line in lines] == [{"id": 0, "maybe": 0}, {"id": 1, "maybe": None}]
    (line,) = printed(spark, ODD, "json").splitlines()
    row = json.loads(line)
    assert (row["at"], row["names"], row["missing"], row["n"]) == ("2026-03-01T03:12:00.500Z", ["x", "y"], None, 8)
    assert row["nested"] == {"at": "2026-03-01T03:12:00.000Z", "n": None}
    assert (row["text"], row["price"], row["yes"], row["day"]) == ('a "b",\nc', 1.5, True, "2026-03-01")


def test_csv_has_a_header_quotes_what_needs_it_and_leaves_null_empty(spark: SparkSession) -> None:
    header, row = csv.reader(io.StringIO(printed(spark, ODD, "csv")))
    assert header == ["at", "text", "names", "nested", "bytes", "missing", "price", "yes", "day", "n", "n"]
    assert row[:3] == ["2026-03-01T03:12:00.500Z", 'a "b",\nc', '["x","y"]']
    assert json.loads(row[3]) == {"at": "2026-03-01T03:12:00.000Z", "n": None}
    assert row[4:] == ["AP8=", "", "1.50", "true", "2026-03-01", "7", "8"]


def test_a_table_says_its_zone_and_is_not_broken_in_a_pipe(spark: SparkSession) -> None:
    text = printed(
        spark, "SELECT timestamp'2026-03-01 03:12:00' AS at, repeat('x', 300) AS long, NULL AS none", "table"
    )
    assert re.search(r"│ 2026-03-01 03:12:00.000 │ x{300} │ null │", text)
    assert text.endswith("1 row, times in UTC\n")


def test_an_answer_too_wide_for_the_terminal_is_shown_row_by_row(spark: SparkSession) -> None:
    out = io.StringIO()
    answer = spark.sql("SELECT repeat('x', 30) AS one, repeat('y', 30) AS two FROM range(2)")
    show_table(answer, Console(file=out, width=50, force_terminal=True, color_system=None))
    assert "row 2" in out.getvalue()
    assert re.search(r"│ two │ y{30} │", out.getvalue())


def test_a_long_answer_is_cut_and_says_how_to_get_it_whole(spark: SparkSession) -> None:
    text = printed(spark, "SELECT id FROM range(2000)", "table")
    assert text.count("│") == 2 * 1000 + 2 - 2
    assert text.endswith("the first 1000 rows, times in UTC; --format csv or json gives all\n")
    assert len(printed(spark, "SELECT id FROM range(2000)", "csv").splitlines()) == 2001


HOSTILE = "a[/x]\x1b[2J\nb\u202ec\x9b"


class Screen(io.StringIO):
    """Standard output that is a terminal."""

    def isatty(self) -> bool:
        return True


def named(spark: SparkSession) -> DataFrame:
    """One row with a name that would act on a terminal, by itself and in a list."""
    return spark.createDataFrame([(HOSTILE, [HOSTILE])], "name STRING, names ARRAY<STRING>")


@pytest.mark.parametrize("width", [400, 20])
def test_a_name_in_a_table_is_text(spark: SparkSession, width: int) -> None:
    out = io.StringIO()
    show_table(named(spark), Console(file=out, width=width))
    assert all(line.isprintable() for line in out.getvalue().split("\n"))
    assert width < 400 or out.getvalue().count("a[/x]\\x1b[2J\\nb\\u202ec\\x9b") == 2


def test_json_and_csv_stay_exact_and_do_nothing_to_a_terminal(spark: SparkSession) -> None:
    out = io.StringIO()
    write_answer(named(spark), "json", out)
    (line,) = out.getvalue().splitlines()
    assert line.isprintable()
    assert json.loads(line) == {"name": HOSTILE, "names": [HOSTILE]}
    out, screen = io.StringIO(newline=""), Screen()
    write_answer(named(spark), "csv", out)
    assert list(csv.reader(io.StringIO(out.getvalue(), newline="")))[1][0] == HOSTILE
    write_answer(named(spark), "csv", screen)
    assert all(line.isprintable() for line in screen.getvalue().split("\n"))
    assert len(screen.getvalue().splitlines()) == 2


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("selec 1", "query: Syntax error at or near 'selec' (line 1, position 1)."),
        (
            "select *\nfrom nowhere",
            f"query: The table or view `nowhere` cannot be found; there are {', '.join(sorted(NAMES))} "
            "(line 2, position 6).",
        ),
        ("select from_json('x', 'a')", 'query: Unsupported data type "A" (line 1, position 8).'),
    ],
)
def test_a_query_that_spark_refuses_is_one_sentence_with_its_place(
    spark: SparkSession, query: str, sentence: str
) -> None:
    with pytest.raises(QueryError) as refused:
        ask(spark, query)
    assert str(refused.value) == sentence


@pytest.mark.parametrize(
    ("query", "begins", "ends"),
    [
        ("select 1 / 0", "query: Division by zero", "(line 1, position 8)."),
        ("select id from range(1) where id < (select id from range(3))", "query: More than one row", "36)."),
        ("select raise_error('ü')", "query: ü", "ü."),
    ],
)
def test_a_query_that_fails_while_it_runs_is_one_sentence_too(
    spark: SparkSession, query: str, begins: str, ends: str
) -> None:
    answer = ask(spark, query)
    with pytest.raises(QueryError) as refused, refusals_named():
        answer.collect()
    sentence = str(refused.value)
    assert sentence.startswith(begins)
    assert sentence.endswith(ends)
    assert "\n" not in sentence


@pytest.mark.parametrize(
    "query",
    ["drop table x", "-- hm\nDELETE FROM effects", "with a as (select 1) insert into x select * from a", "vacuum x"],
)
def test_a_query_that_would_write_is_refused(query: str) -> None:
    with pytest.raises(
        QueryError,
        match=r"^query: only queries that read are allowed, not (drop|delete|insert|vacuum) \(allowed: select, ",
    ):
        check_query(query)


@pytest.mark.parametrize("query", ["", " \n", "-- nothing", ";"])
def test_no_query_is_no_query(query: str) -> None:
    with pytest.raises(QueryError, match="there is no query"):
        check_query(query)


def test_a_mistake_on_the_command_line_is_one_sentence_and_status_2(
    home: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path_factory.mktemp("empty")
    for arguments, sentence in (
        (["--home", str(home), "--format", "xml", "select 1"], "--format xml: is not one of table, json, csv"),
        (["--home", str(home / "none"), "select 1"], f"{home}/none does not exist"),
        (["--home", str(empty), "select 1"], f"{empty} holds no tables yet"),
        (["--home", str(home), " "], "there is no query"),
    ):
        assert main(["sql", *arguments]) == 2
        printed = capsys.readouterr()
        assert printed.err.startswith(f"rollcall: {sentence}")
        assert printed.err.count("\n") == 1
        assert printed.out == ""


# ---------------------------------------------------------------- homes


def test_a_home_can_be_asked_before_its_first_batch(spark: SparkSession, tmp_path: Path) -> None:
    write_deltalake(str(tmp_path / "requests"), REQUESTS.arrow.empty_table())
    register_views(spark, tmp_path, ["groups", "members", "replies"])
    assert spark.table("groups").count() == spark.table("members").count() == spark.table("replies").count() == 0


def test_a_view_shows_what_was_committed_after_it_was_registered(spark: SparkSession, home: Path) -> None:
    register_views(spark, str(home), ["groups"])
    assert [row.group_id for row in spark.sql("SELECT group_id FROM groups").collect()] == ["two"]
    write_effects(home, {"more": two_members("more").rows, "gone": deleted("gone").rows})
    assert {row.group_id for row in spark.sql("SELECT group_id FROM groups").collect()} == {"two", "more"}


def test_another_homes_views_take_the_place_of_the_first_ones(
    spark: SparkSession, home: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    write_effects(other, {"other": two_members("other").rows})
    register_views(spark, home, ["members"])
    register_views(spark, other, ["members"])
    assert [row.group_id for row in spark.sql("SELECT DISTINCT group_id FROM members").collect()] == ["other"]


def test_a_folder_that_is_no_home_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(HomeError, match="does not exist"):
        register_views(spark, tmp_path / "none")
    with pytest.raises(HomeError, match="holds no tables yet"):
        register_views(spark, tmp_path)
