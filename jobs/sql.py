"""SQL over a home: registers its tables and views, runs one query, prints the answer.

    from jobs.sql import register_views
    register_views(spark, ".rollcall")          then spark.sql("select * from members"), as often as one likes

    register_views(spark, ".rollcall", at="2026-03-01 03:12")          everything as it was at that moment

    rollcall sql [--home FOLDER] [--format table|json|csv] [--at MOMENT] "select ..."

A view is read anew at every query, so a session sees what the running job has committed last. Knows where tables lie
and how a query is refused; the views themselves stand in `views`. Must not write to any table: only the job does.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.home import Home, HomeError
from jobs.shown.answers import FORMATS, write_answer
from jobs.spark.session import spark_session
from jobs.timestamps import read_moment
from programs.errors import UserError
from views.catalog import VIEWS
from views.tables import TABLE_VIEWS, TableView
from views.view import View

READS = ("select", "with", "values", "table", "show", "describe", "desc", "explain")
WRITES = ("insert", "update", "delete", "merge", "create", "replace", "drop", "alter", "truncate", "optimize", "vacuum")
NAMES = (*(table.name for table in TABLE_VIEWS), *(view.name for view in VIEWS))

_COMMENTS = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_INSERTS = re.compile(r"\binsert\s+(into|overwrite)\b", re.IGNORECASE)
_POSITION = re.compile(r"\(?line (?P<line>\d+),? pos(?P<is_from_one>ition)? (?P<position>\d+)")


class QueryError(UserError):
    """A query that cannot be answered; the text is the sentence for the user."""


def register_views(
    spark: SparkSession, home: str | Path | Home, names: Collection[str] = (), at: str | None = None
) -> None:
    """Makes a home's tables and views known to a session, in place of another home's.

    names: only these and what they stand on; none means all. at: as they were at the end of this moment's first
    millisecond, from what had happened by then; None: as they are. Raises, in this order: MomentError; HomeError for no
    such home, one without any table, a session that cannot read Delta. A table that is not there yet, as the effects
    before the first batch, is empty until views are registered again.
    """
    until_ms = None if at is None else read_moment(at).from_ms
    place = home if isinstance(home, Home) else Home(home)
    check_home(place)
    wanted = with_foundations(names or NAMES)
    for table in TABLE_VIEWS:
        if table.name in wanted:
            rows = _until(_read(spark, place, table), table, until_ms)
            rows.selectExpr(*table.selects).createOrReplaceTempView(table.name)
    for view in VIEWS:
        if view.name in wanted:
            spark.sql(definition_of(view))


def with_foundations(names: Collection[str]) -> set[str]:
    """The names and those of every view and table that their SQL stands on."""
    found = {name for name in NAMES if name in names}
    for view in reversed(VIEWS):
        if view.name in found:
            found |= names_in(view.sql)
    return found


def names_in(query: str) -> set[str]:
    """The views and tables that a query names."""
    return set(re.findall(r"\w+", query.lower())) & set(NAMES)


def check_home(home: Home) -> None:
    """Raises HomeError: the home is no folder, or holds no table. One in an object store is found out by reading it."""
    if not home.is_local:
        return
    if not home.path.is_dir():
        raise HomeError(f"{home.shown} is no home: there is no such folder; ROLLCALL_HOME names another.")
    if not any(_is_there(home, table) for table in TABLE_VIEWS):
        raise HomeError(f"{home.shown} holds no tables yet: `make run` or `make replay` makes them.")


def definition_of(view: View) -> str:
    """The statement that registers a view; each column carries what it holds, for `describe` to tell."""
    columns = ", ".join(f"{column.name} COMMENT {_quoted(column.holds)}" for column in view.columns)
    about = _quoted(f"One row is {view.row}. {view.rule}")
    return f"CREATE OR REPLACE TEMPORARY VIEW {view.name} ({columns}) COMMENT {about} AS {view.sql}"


def check_query(query: str) -> None:
    """Raises QueryError: there is none, or it would write."""
    words = _COMMENTS.sub(" ", query).lower().strip(" \n\t(;").split(None, 1)
    if not words:
        raise QueryError('there is no query: make sql Q="select * from groups".')
    if words[0] in WRITES or _INSERTS.search(query):
        raise QueryError(f"query: {words[0]} is refused, for only the job writes; it may be {', '.join(READS)}.")


def ask(spark: SparkSession, query: str) -> DataFrame:
    """The answer to a query, not computed yet. Raises QueryError: as check_query, or Spark refuses it."""
    check_query(query)
    with refusals_named():
        return spark.sql(query)


@contextmanager
def refusals_named() -> Iterator[None]:
    """What Spark raises becomes QueryError: its message without the trace, and where in the query."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        raise QueryError(f"query: {reason_of(str(error))}") from None


def reason_of(text: str) -> str:
    """Spark's own words out of an exception's text: the first message with an error class, and its place from 1."""
    found = re.search(r"\[(?P<name>[A-Z][A-Z0-9_.]+)\]\s+(?P<message>[^\n]+)", text)
    message = found["message"] if found else text.strip().partition("\n")[0]
    message = re.sub(r"\s*SQLSTATE: \w+.*$", "", message).strip().rstrip(".;")
    if found and found["name"] == "TABLE_OR_VIEW_NOT_FOUND":
        message = f"{message.partition('. ')[0]}; there are {', '.join(sorted(NAMES))}"
    where = _POSITION.search(text)
    if where is None:
        return f"{message}."
    position = int(where["position"]) + (0 if where["is_from_one"] else 1)
    return f"{message} (line {where['line']}, position {position})."


def _read(spark: SparkSession, home: Home, table: TableView) -> DataFrame:
    if home.is_local and not _is_there(home, table):
        return spark.createDataFrame([], table.table.ddl)
    try:
        return spark.read.format("delta").load(f"{home.location}/{table.folder}")
    except (AnalysisException, Py4JJavaError) as error:
        text = str(error)
        if "DELTA_CONFIGURE_SPARK_SESSION" in text or "DATA_SOURCE_NOT_FOUND" in text:
            advice = "make it by jobs.spark.session.spark_session, or give it the settings of conf/spark-local.conf"
            raise HomeError(f"this Spark session cannot read Delta tables: {advice}.") from None
        if not home.is_local and re.search(r"PATH_NOT_FOUND|DELTA_MISSING_DELTA_TABLE|DELTA_TABLE_NOT_FOUND", text):
            return spark.createDataFrame([], table.table.ddl)
        raise HomeError(f"{home.shown}: its {table.name} cannot be read: {reason_of(text)}") from None


def _until(rows: DataFrame, table: TableView, until_ms: int | None) -> DataFrame:
    """The rows that had come to be by then, all for None; files of later days are not read."""
    if until_ms is None:
        return rows
    rows = rows.where(F.col(table.moment) <= until_ms)
    is_parted = "at_date" in table.table.names
    return rows.where(F.col("at_date") <= F.to_date(F.timestamp_millis(F.lit(until_ms)))) if is_parted else rows


def _is_there(home: Home, table: TableView) -> bool:
    return (home.path / table.folder / "_delta_log").is_dir()


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def answer(home: Home, query: str, form: str, at: str | None = None) -> None:
    """Answers one query about a home on standard output, as of a moment if one is named.

    Raises QueryError, MomentError, HomeError, Missing.
    """
    if form not in FORMATS:
        raise QueryError(f"FORMAT={form}: is none of {', '.join(FORMATS)}.")
    check_query(query)
    moment = None if at is None else read_moment(at)
    check_home(home)
    spark = spark_session("rollcall sql", is_brief=True)
    spark.sparkContext.setLogLevel("OFF")
    # Python's half of Spark would print every refusal a second time, as JSON with its trace.
    logging.getLogger("SQLQueryContextLogger").disabled = True
    register_views(spark, home, names_in(query), at)
    found = ask(spark, query)
    with refusals_named():
        write_answer(found, form)
    if moment is not None and form == "table":
        print(f"as it was at {moment.shown}")
