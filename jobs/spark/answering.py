"""A query about a home that Spark answers, in a session that is started for it: as a frame, a table or printed.

It is printed as a table for people, as JSON or CSV for programs; times are in UTC. Knows what a session for one query
needs. Must not know why DuckDB did not answer.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from typing import Any, TextIO

import pandas as pd
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from rich.console import Console

from rollcall.answers.queries import ROWS_SHOWN
from rollcall.answers.sql.written import csv_of_texts
from rollcall.answers.views.catalog import names_in
from rollcall.jobs.spark.session import spark_session
from rollcall.jobs.spark.views import ask, refusals_named, register_views
from rollcall.programs.visible import visible_json
from rollcall.shown.tables import console_of, show_texts
from rollcall.tables.home import Home

_MACHINE_TIME = "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"
_HUMAN_TIME = "yyyy-MM-dd HH:mm:ss.SSS"


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


def write_answer(answer: DataFrame, form: str, out: TextIO | None = None) -> None:
    """Prints an answer in one of `plain_answers.FORMATS`, on standard output if out is None."""
    out = sys.stdout if out is None else out
    match form:
        case "json":
            # One object a line, columns that are null included; timestamps as ISO 8601 with their zone.
            options = {"ignoreNullFields": "false", "timestampFormat": _MACHINE_TIME}
            for (row,) in answer.select(F.to_json(F.struct("*"), options)).toLocalIterator():
                out.write(visible_json(row) + "\n")
        case "csv" | "csv-raw":
            texts = [form == "csv" and not isinstance(field.dataType, T.NumericType) for field in answer.schema.fields]
            rows = _as_texts(answer, _MACHINE_TIME).toLocalIterator()
            out.writelines(csv_of_texts(answer.columns, rows, texts, is_terminal=out.isatty()))
        case _:
            show_table(answer, console_of(out))


def show_table(answer: DataFrame, console: Console) -> None:
    """A table, or one block a row where the console is too narrow for it; the first ROWS_SHOWN rows."""
    rows = _as_texts(answer, _HUMAN_TIME).limit(ROWS_SHOWN + 1).collect()
    are_numbers = [isinstance(field.dataType, T.NumericType) for field in answer.schema.fields]
    show_texts(console, answer.columns, are_numbers, rows)


def _as_texts(answer: DataFrame, time_format: str) -> DataFrame:
    """Every column as text, by its place, since two columns may have one name."""
    numbered = answer.toDF(*(f"c{place}" for place in range(len(answer.columns))))
    return numbered.select(*(_as_text(field, time_format) for field in numbered.schema.fields))


def _as_text(field: T.StructField, time_format: str) -> Column:
    column = F.col(field.name)
    match field.dataType:
        case T.TimestampType():
            return F.date_format(column, time_format)
        case T.TimestampNTZType():
            return F.date_format(column, time_format.removesuffix("XXX"))
        case T.ArrayType(elementType=T.StringType()) if time_format == _HUMAN_TIME:
            return F.array_join(column, ", ")
        case T.ArrayType() | T.MapType() | T.StructType():
            return F.to_json(column, {"ignoreNullFields": "false", "timestampFormat": _MACHINE_TIME})
        case T.VariantType():
            return F.to_json(column)
        case T.BinaryType():
            return F.base64(column)
        case _:
            return column.cast("string")
