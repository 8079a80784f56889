"""An explanation on a terminal: its sections one after the other, tables with their columns aligned.

Knows how a section is laid out in text. Must not know what any section is about.
"""

from __future__ import annotations

from rich.console import Console
from rich.style import StyleType

from rollcall.answers.why.explanation import Explanation
from rollcall.answers.why.sections import At, Cell, Named, Section, account_of
from rollcall.history.words import clock
from rollcall.programs.columns import aligned, wrapped
from rollcall.programs.terminal import say, width_of
from rollcall.programs.visible import visible


def show_page(e: Explanation, console: Console, *, shows_evidence: bool = False) -> None:
    """Prints all of it. shows_evidence: with what shows it."""
    page = account_of(e, shows_evidence=shows_evidence)
    _say(console, page.title, style="bold")
    console.print()
    for sentence in (page.headline, *page.remarks):
        _say(console, sentence)
    for section in page.sections:
        _show(section, console)
    if page.following is not None:
        console.print()
        _say(console, page.following)


def _say(console: Console, text: str, style: StyleType = "") -> None:
    """Prints a text, on a terminal in lines of its width."""
    for line in wrapped(visible(text), width_of(console)):
        say(console, line, style)


def _show(section: Section, console: Console) -> None:
    console.print()
    say(console, section.title.upper(), style="bold")
    if section.hint:
        _say(console, f"  {section.hint}")
    rows = section.rows[: section.shown or None]
    cells = [[visible(_text(cell)) for cell in row.cells] for row in rows]
    has_head = any(section.columns)
    if has_head and rows:
        cells.insert(0, list(section.columns))
    width = width_of(console)
    lines = [one[0] for one in cells]
    if section.columns:
        lines = aligned(cells, None if width is None else width - 2, has_head=has_head)
    if len(rows) < len(section.rows):
        lines.append(section.rest)
    lines += section.sentences
    if not section.rows and section.if_none:
        lines.append(section.if_none)
    for line in lines:
        _say(console, f"  {line}")


def _text(cell: Cell) -> str:
    match cell:
        case At(ms):
            return clock(ms)
        case Named(words, key):
            return words if words == key else f"{words} ({key})"
        case _:
            return cell
