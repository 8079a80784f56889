"""A home's tables and views in a Spark session, and queries that Spark answers or refuses.

A view is read anew at every query, so a session sees what the running job has committed last. Knows where tables lie
and how Spark words a refusal; the views themselves stand in `rollcall.answers.views`. Must not write to any table: only
the job does.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rollcall.answers.moments import Moments
from rollcall.answers.queries import QueryError, check_query
from rollcall.answers.views.catalog import NAMES, views_of, with_foundations
from rollcall.answers.views.view import View
from rollcall.schemas.tables import TABLES, Table
from rollcall.tables import in_spark
from rollcall.tables.home import Home, HomeError
from rollcall.tables.versions import is_table

_KEEPS_PLANS = "spark.sql.legacy.storeAnalyzedPlanForView"
_POSITION = re.compile(r"\(?line (?P<line>\d+),? pos(?P<is_from_one>ition)? (?P<position>\d+)")


def register_views(
    spark: SparkSession, home: str | Path | Home, names: Collection[str] = (), at: str | None = None
) -> None:
    """Makes a home's tables and views known to a session, in place of another home's.

    names: only these and what they stand on; none means all. at: as they were at the end of this moment's first
    millisecond, from what had happened by then; None: as they are. Raises, in this order: MomentError; HomeError for no
    such home, one without any table, a session that cannot read Delta. A table that is not there yet, as the effects
    before the first batch, is empty until views are registered again.
    """
    place = home if isinstance(home, Home) else Home(home)
    until_ms = None if at is None else Moments(place).read(at).from_ms
    place.check_tables()
    wanted = with_foundations(names or NAMES)
    for table in TABLES:
        if table.name in wanted:
            rows = _until(_read(spark, place, table), table, until_ms)
            times = (f"timestamp_millis({of_ms}) AS {name}" for name, of_ms in table.times)
            rows.selectExpr(*table.names, *times).createOrReplaceTempView(table.name)
    with _analyzed_once(spark):
        for view in views_of(wanted):
            spark.sql(definition_of(view))


@contextmanager
def _analyzed_once(spark: SparkSession) -> Iterator[None]:
    """Keeps a view's plan, where Spark keeps its text and analyzes that again for whatever names the view."""
    before = str(spark.conf.get(_KEEPS_PLANS))
    spark.conf.set(_KEEPS_PLANS, "true")
    try:
        yield
    finally:
        spark.conf.set(_KEEPS_PLANS, before)


def definition_of(view: View) -> str:
    """The statement that registers a view; each column carries what it holds, for `describe` to tell."""
    columns = ", ".join(f"{column.name} COMMENT {_quoted(column.holds)}" for column in view.columns)
    about = _quoted(f"One row is {view.row}. {view.rule}")
    return f"CREATE OR REPLACE TEMPORARY VIEW {view.name} ({columns}) COMMENT {about} AS {view.sql}"


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


def _read(spark: SparkSession, home: Home, table: Table) -> DataFrame:
    if home.is_local and not is_table(home.place_of(table)):
        return spark.createDataFrame([], table.ddl)
    try:
        found = spark.read.format(in_spark.FORMAT).load(home.place_of(table))
        missing = {name: F.lit(None).cast("string") for name in table.added if name not in found.columns}
        return found.withColumns(missing) if missing else found
    except (AnalysisException, Py4JJavaError) as error:
        text = str(error)
        if any(name in text for name in in_spark.NOT_SET_UP):
            advice = (
                "make it by rollcall.jobs.spark.session.spark_session, or give it the settings of conf/spark-local.conf"
            )
            raise HomeError(f"this Spark session cannot read Delta tables: {advice}.") from None
        if not home.is_local and any(name in text for name in in_spark.NO_TABLE):
            return spark.createDataFrame([], table.ddl)
        raise HomeError(f"{home.shown}: its {table.name} cannot be read: {reason_of(text)}") from None


def _until(rows: DataFrame, table: Table, until_ms: int | None) -> DataFrame:
    """The rows that had come to be by then, all for None; files of later days are not read."""
    if until_ms is None:
        return rows
    rows = rows.where(F.col(table.moment) <= until_ms)
    if not table.partition_by:
        return rows
    return rows.where(F.col("at_date") <= F.to_date(F.timestamp_millis(F.lit(until_ms))))


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
