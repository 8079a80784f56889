"""Rows of texts as a table for people, or as a block a row where the terminal is too narrow for it.

Knows terminals. Must not know where the texts come from: both engines' answers are shown by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from duck_sql.engine import ROWS_SHOWN
from jobs.shown.terminal import Terminal, text_of
from programs.typed import as_typed

# Wide enough that a line sent to a file or a pipe is never broken.
_UNBROKEN_WIDTH = 100_000


def console_of(out: TextIO) -> Console:
    """A console that writes there, as wide as its terminal, or without bounds where it is none."""
    console = Terminal(file=out, highlight=False)
    if not console.is_terminal:
        console.width = _UNBROKEN_WIDTH
    return console


def show_texts(
    console: Console, names: Sequence[str], are_numbers: Sequence[bool], rows: Sequence[Sequence[str | None]]
) -> None:
    """A table, or one block a row where the terminal is too narrow for it; the first ROWS_SHOWN rows."""
    table = _table(names, are_numbers, rows[:ROWS_SHOWN])
    if _width_of(table, console) <= console.width:
        console.print(table)
    else:
        for number, row in enumerate(rows[:ROWS_SHOWN], 1):
            console.print(_record(f"row {number}", names, row))
    console.print(_caption(len(rows)))


def _table(names: Sequence[str], are_numbers: Sequence[bool], rows: Sequence[Sequence[str | None]]) -> Table:
    table = Table()
    for name, is_number in zip(names, are_numbers, strict=True):
        table.add_column(text_of(name), justify="right" if is_number else "left", no_wrap=True)
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


def _caption(count: int) -> str:
    if count > ROWS_SHOWN:
        return f"the first {ROWS_SHOWN} rows, times in UTC; {as_typed('FORMAT=', '--format ')}csv or json gives all"
    return f"{count} {'row' if count == 1 else 'rows'}, times in UTC"
