"""An explanation on a terminal: its sections one after the other, tables with their columns aligned.

Knows how a section is laid out in text. Must not know what any section is about.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from jobs.shown.terminal import say
from programs.visible import visible
from why.explanation import Explanation
from why.sections import At, Cell, Named, Section, account_of
from why.words import clock


def show_page(e: Explanation, console: Console) -> None:
    """Prints all of it."""
    page = account_of(e)
    say(console, page.title, style="bold")
    console.print()
    for sentence in (page.headline, *page.remarks):
        say(console, sentence)
    for section in page.sections:
        _show(section, console)
    if page.following is not None:
        console.print()
        say(console, page.following)


def _show(section: Section, console: Console) -> None:
    console.print()
    say(console, section.title.upper(), style="bold")
    if section.hint:
        say(console, f"  {section.hint}")
    rows = section.rows[: section.shown or None]
    cells = [[_text(cell) for cell in row.cells] for row in rows]
    if any(section.columns) and rows:
        cells.insert(0, list(section.columns))
    for line in _aligned(cells) if section.columns and rows else (one[0] for one in cells):
        say(console, f"  {line}")
    if len(rows) < len(section.rows):
        say(console, f"  {section.rest}")
    for sentence in section.sentences:
        say(console, f"  {sentence}")
    if not section.rows and section.if_none:
        say(console, f"  {section.if_none}")


def _text(cell: Cell) -> str:
    match cell:
        case At(ms):
            return clock(ms)
        case Named(words, key):
            return words if words == key else f"{words} ({key})"
        case _:
            return cell


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as lines, each column as wide as its widest cell; a last column of texts, as any, is never cut."""
    shown = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return ["   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in shown]
