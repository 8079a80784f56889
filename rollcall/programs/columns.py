"""Rows of texts in aligned columns, within the width of a terminal.

Knows how texts are laid out. Must not know a console, nor what the texts are about.
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Sequence

LEAST_WRAPPED = 24
"""Characters that a column needs to be worth wrapping."""


def aligned(
    rows: Sequence[Sequence[str]],
    width: int | None = None,
    *,
    gap: str = "   ",
    has_head: bool = True,
    numbers: Collection[int] = (),
) -> list[str]:
    """Return rows as lines, each column as wide as its widest cell.

    width: maximum length of a line; None: any. If the columns are wider, the last one is wrapped. If that does not
    suffice, each row becomes lines of one column each. numbers: the columns that are aligned on the right.
    """
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    last = len(widths) - 1
    before = sum(widths[:last]) + last * len(gap)
    if width is not None and before + widths[last] > width:
        if width - before < LEAST_WRAPPED or last in numbers:
            return _one_below_the_other(rows, width, has_head=has_head)
        widths[last] = width - before
    lines = []
    for row in rows:
        cells = [
            cell.rjust(size) if place in numbers else cell.ljust(size)
            for place, (cell, size) in enumerate(zip(row[:last], widths, strict=False))
        ]
        first, *more = [row[last]] if len(row[last]) <= widths[last] else wrapped(row[last], widths[last])
        cells.append(first.rjust(widths[last]) if last in numbers else first)
        lines.append(gap.join(cells).rstrip())
        lines += [" " * before + line for line in more]
    return lines


def wrapped(text: str, width: int | None) -> list[str]:
    """Return a text as lines of at most a width, broken between words; a longer word is a line of its own.

    The lines of an indented text hang by two more characters.
    """
    if width is None or len(text) <= width:
        return [text]
    own = text[: len(text) - len(text.lstrip())]
    hanging = f"{own}  " if own else ""
    return textwrap.wrap(text, width, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False)


def _one_below_the_other(rows: Sequence[Sequence[str]], width: int, *, has_head: bool) -> list[str]:
    head, *others = rows if has_head else ([""] * len(rows[0]), *rows)
    lines = []
    for row in others:
        for place, (name, cell) in enumerate(zip(head, row, strict=True)):
            if cell:
                lines += wrapped("  " * (place > 0) + (f"{name}: {cell}" if name else cell), width)
    return lines
