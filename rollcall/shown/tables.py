"""Rows of texts as a table for people, or as a block a row where the terminal is too narrow for it.

Knows terminals. Must not know where the texts come from: both engines' answers are shown by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TextIO

from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.segment import Segments
from rich.table import Table
from rich.text import Text

from rollcall.answers.queries import ROWS_SHOWN
from rollcall.programs.terminal import Terminal, text_of

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
    table = Table()
    for name, is_number in zip(names, are_numbers, strict=True):
        table.add_column(text_of(name), justify="right" if is_number else "left", no_wrap=True)
    for row in rows[:ROWS_SHOWN]:
        table.add_row(*map(_cell, row))
    show_table(console, table)
    console.print(_caption(len(rows)))


def show_table(console: Console, table: Table) -> None:
    """Prints a table, or its title and one block a row where the terminal is too narrow for it."""
    width = Measurement.get(console, console.options.update(max_width=_UNBROKEN_WIDTH), table).maximum
    if not console.is_terminal or width <= console.width:
        console.print(Segments(console.render(table, console.options.update(max_width=width))), soft_wrap=True)
        return
    if table.title:
        console.print(table.title, style="table.title")
    names = [str(column.header).replace("-\n", "").replace("\n", " ") for column in table.columns]
    for number, row in enumerate(zip(*(column.cells for column in table.columns), strict=True), 1):
        console.print(_record(f"row {number}", names, row))


def _record(title: str, names: Sequence[str], row: Iterable[RenderableType]) -> Table:
    """One row as a block: a line a column."""
    record = Table(title=title, title_justify="left", show_header=False)
    record.add_column(no_wrap=True, style="bold")
    record.add_column(overflow="fold")
    for name, value in zip(names, row, strict=True):
        record.add_row(text_of(name), value)
    return record


def _cell(value: str | None) -> Text:
    return Text("null", style="dim") if value is None else text_of(value)


def _caption(count: int) -> str:
    if count > ROWS_SHOWN:
        return f"the first {ROWS_SHOWN} rows, times in UTC; --format csv or json gives all"
    return f"{count} {'row' if count == 1 else 'rows'}, times in UTC"
