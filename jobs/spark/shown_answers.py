"""Prints the answer to a query: as a table for people, as JSON or CSV for programs. Times are in UTC.

Knows the three forms. Must not know which query was asked.
"""

from __future__ import annotations

import sys
from typing import TextIO

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from rich.console import Console

from rollcall.answers.queries import ROWS_SHOWN
from rollcall.programs.visible import visible_json
from rollcall.shown.plain_answers import write_csv
from rollcall.shown.tables import console_of, show_texts

_MACHINE_TIME = "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"
_HUMAN_TIME = "yyyy-MM-dd HH:mm:ss.SSS"


def write_answer(answer: DataFrame, form: str, out: TextIO | None = None) -> None:
    """Prints an answer in one of `plain_answers.FORMATS`, on standard output if out is None."""
    out = sys.stdout if out is None else out
    match form:
        case "json":
            _write_json(answer, out)
        case "csv" | "csv-raw":
            texts = [form == "csv" and not isinstance(field.dataType, T.NumericType) for field in answer.schema.fields]
            write_csv(answer.columns, _as_texts(answer, _MACHINE_TIME).toLocalIterator(), out, texts)
        case _:
            show_table(answer, console_of(out))


def _write_json(answer: DataFrame, out: TextIO) -> None:
    """One object a line, columns that are null included; timestamps as ISO 8601 with their zone."""
    options = {"ignoreNullFields": "false", "timestampFormat": _MACHINE_TIME}
    rows = answer.select(F.to_json(F.struct("*"), options).alias("row"))
    for (row,) in rows.toLocalIterator():
        out.write(visible_json(row) + "\n")


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
