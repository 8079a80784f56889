"""Prints the answer to a query: as a table for people, as JSON or CSV for programs. Times are in UTC.

Knows the three forms. Must not know which query was asked.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Sequence
from typing import TextIO

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from jobs.shown.terminal import Terminal, text_of
from programs.visible import visible, visible_json

ROWS_SHOWN = 1000
_MACHINE_TIME = "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"
_HUMAN_TIME = "yyyy-MM-dd HH:mm:ss.SSS"
# Wide enough that a line sent to a file or a pipe is never broken.
_UNBROKEN_WIDTH = 100_000


def write_answer(answer: DataFrame, form: str, out: TextIO | None = None) -> None:
    """Prints an answer in one of FORMATS, on standard output if out is None."""
    FORMATS[form](answer, sys.stdout if out is None else out)


def write_json(answer: DataFrame, out: TextIO) -> None:
    """One object a line, columns that are null included; timestamps as ISO 8601 with their zone."""
    options = {"ignoreNullFields": "false", "timestampFormat": _MACHINE_TIME}
    rows = answer.select(F.to_json(F.struct("*"), options).alias("row"))
    for (row,) in rows.toLocalIterator():
        out.write(visible_json(row) + "\n")


def write_csv(answer: DataFrame, out: TextIO) -> None:
    """A header, then a line a row; null is empty, nested values are JSON, timestamps as in write_json.

    The values are exact in a file or a pipe; on a terminal what would act on it is written out.
    """
    writer = csv.writer(out, lineterminator="\n")
    shown = _visible if out.isatty() else list
    writer.writerow(shown(answer.columns))
    for row in _as_texts(answer, _MACHINE_TIME).toLocalIterator():
        writer.writerow(shown(row))


def write_table(answer: DataFrame, out: TextIO) -> None:
    """A table, or one block a row where the terminal is too narrow for it; the first ROWS_SHOWN rows."""
    console = Terminal(file=out, highlight=False)
    if not console.is_terminal:
        console.width = _UNBROKEN_WIDTH
    show_table(answer, console)


def show_table(answer: DataFrame, console: Console) -> None:
    """As write_table, on a console of any width."""
    rows = _as_texts(answer, _HUMAN_TIME).limit(ROWS_SHOWN + 1).collect()
    table = _table(answer, rows[:ROWS_SHOWN])
    if _width_of(table, console) <= console.width:
        console.print(table)
    else:
        for number, row in enumerate(rows[:ROWS_SHOWN], 1):
            console.print(_record(f"row {number}", answer.columns, row))
    console.print(_caption(len(rows)))


FORMATS: dict[str, Callable[[DataFrame, TextIO], None]] = {
    "table": write_table,
    "json": write_json,
    "csv": write_csv,
}


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


def _table(answer: DataFrame, rows: Sequence[Sequence[str | None]]) -> Table:
    table = Table()
    for field in answer.schema.fields:
        is_number = isinstance(field.dataType, T.NumericType)
        table.add_column(text_of(field.name), justify="right" if is_number else "left", no_wrap=True)
    for row in rows:
        table.add_row(*map(_cell, row))
    return table


def _width_of(table: Table, console: Console) -> int:
    return Measurement.get(console, console.options.update(max_width=_UNBROKEN_WIDTH), table).maximum


def _record(title: str, names: Sequence[str], row: Sequence[str | None]) -> Table:
    """One row as a block: a line a column."""
    record = Table(title=title, title_justify="left", show_header=False)
    record.add_column(no_wrap=True, style="bold")
    record.add_column(overflow="fold")
    for name, value in zip(names, row, strict=True):
        record.add_row(text_of(name), _cell(value))
    return record


def _cell(value: str | None) -> Text:
    return Text("null", style="dim") if value is None else text_of(value)


def _visible(row: Sequence[str | None]) -> list[str | None]:
    return [None if value is None else visible(value) for value in row]


def _caption(count: int) -> str:
    if count > ROWS_SHOWN:
        return f"the first {ROWS_SHOWN} rows, times in UTC; FORMAT=csv or FORMAT=json gives all"
    return f"{count} {'row' if count == 1 else 'rows'}, times in UTC"
