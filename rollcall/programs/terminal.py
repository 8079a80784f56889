"""Prints text on a terminal: names that others chose are plain text, never markup or control characters.

Knows rich. Must not know what is printed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from io import TextIOWrapper
from itertools import chain
from typing import Any, NamedTuple

from rich.console import Console
from rich.segment import Segment, Segments
from rich.style import StyleType
from rich.table import Table
from rich.text import Text

from rollcall.programs.columns import wrapped
from rollcall.programs.visible import visible

ROLLCALL = ".venv/bin/rollcall" if "MAKELEVEL" in os.environ else "rollcall"
"""The command in lines to be copied: who uses make need not have it on the PATH."""


class Terminal(Console):
    """A console that shows any text: a character that its encoding lacks is written out.

    Once its reader has gone it raises BrokenPipeError, and then is quiet; rich would end the program.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        if isinstance(self.file, TextIOWrapper):
            self.file.reconfigure(errors="backslashreplace")

    def on_broken_pipe(self) -> None:
        self.quiet = True
        raise BrokenPipeError("nobody reads any more")


def width_of(console: Console) -> int | None:
    """Return the width of a terminal; None if it is none, where a line may be of any length."""
    return console.width if console.is_terminal else None


def text_of(text: str, style: StyleType = "") -> Text:
    """A text as it stands, in one style; what would act on a terminal is written out."""
    return Text(visible(text), style=style)


def say(console: Console, line: str = "", style: StyleType = "") -> None:
    """Prints a line, which is never broken."""
    console.print(text_of(line, style), soft_wrap=True)


class Line(NamedTuple):
    """A line, which only a terminal breaks."""

    text: str = ""
    style: str = ""


def say_all(console: Console, lines: Iterable[Line]) -> None:
    """Prints lines in one piece: rich takes as long for the layout of each as it takes to find them."""
    width = width_of(console)
    shown = ((text, line.style) for line in lines for text in wrapped(visible(line.text), width) or [""])
    if console.color_system is None:
        segments = [Segment("".join(f"{text}\n" for text, _ in shown))]
    else:
        styled = ((Segment(text, console.get_style(style) if style else None), Segment.line()) for text, style in shown)
        segments = [*chain.from_iterable(styled)]
    console.print(Segments(segments), soft_wrap=True)


def add_row(table: Table, *cells: str | Text) -> None:
    table.add_row(*(cell if isinstance(cell, Text) else text_of(cell) for cell in cells))


class Teller:
    """Prints lines while a program serves. A line that cannot be printed is skipped and does not end the program."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._has_failed = False

    def say(self, line: str) -> None:
        """Prints a line, if it can be."""
        self.attempt(lambda: say(self._console, line))

    def attempt(self, show: Callable[[], None]) -> None:
        """Shows something. Only the first failure is printed on standard error, with its kind."""
        try:
            show()
        except Exception as error:
            if not self._has_failed:
                self._has_failed = True
                why = visible(f"{type(error).__name__}: {error}")
                with suppress(Exception):
                    print(
                        f"rollcall: some output cannot be shown ({why}); the program continues.",
                        file=sys.stderr,
                        flush=True,
                    )
