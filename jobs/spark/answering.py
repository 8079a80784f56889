"""A query about a home that Spark answers, in a session that is started for it.

Knows what a session for one query needs. Must not know why DuckDB did not answer.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, TextIO

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from rollcall.answers.views.catalog import names_in
from rollcall.jobs.spark.session import spark_session
from rollcall.jobs.spark.shown_answers import write_answer
from rollcall.jobs.spark.views import ask, refusals_named, register_views
from rollcall.tables.home import Home


def frame(home: Home, query: str, at: str | None) -> pd.DataFrame:
    """The answer to a query as a pandas frame. Raises QueryError, MomentError, HomeError, Missing."""
    found = _asked(home, query, at)
    with refusals_named():
        return found.toPandas()


def table(home: Home, query: str, at: str | None) -> pa.Table:
    """As frame, but an Arrow table. Times are UTC without a zone, as DuckDB has them."""
    found = _asked(home, query, at)
    with refusals_named():
        made = found.toArrow()
    kinds = [pa.timestamp("us") if pa.types.is_timestamp(field.type) else field.type for field in made.schema]
    return made.cast(pa.schema([field.with_type(kind) for field, kind in zip(made.schema, kinds, strict=True)]))


def answer(home: Home, query: str, at: str | None, form: str, out: TextIO) -> None:
    """Prints the answer to a query. Raises QueryError, MomentError, HomeError, Missing."""
    found = _asked(home, query, at)
    with refusals_named():
        write_answer(found, form, out)


def rows_each(home: Home, queries: Sequence[str], limit: int) -> list[list[dict[str, Any]]]:
    """The first rows of each query's answer. Raises QueryError, HomeError, Missing."""
    spark = _session()
    register_views(spark, home, {name for query in queries for name in names_in(query)})
    with refusals_named():
        return [[row.asDict(recursive=True) for row in ask(spark, query).take(limit)] for query in queries]


def _asked(home: Home, query: str, at: str | None) -> DataFrame:
    spark = _session()
    register_views(spark, home, names_in(query), at)
    return ask(spark, query)


def _session() -> SparkSession:
    spark = spark_session("rollcall sql", is_brief=True)
    spark.sparkContext.setLogLevel("OFF")
    # Python's half of Spark would print every refusal a second time, as JSON with its trace.
    logging.getLogger("SQLQueryContextLogger").disabled = True
    return spark
