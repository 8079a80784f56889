"""`rollcall formats`: which programs' lines are read, and whether each file reads its own samples.

Knows how formats are listed; what is wrong in one is found in `rollcall.inputs.printed.dialects`.
"""

from __future__ import annotations

from collections.abc import Iterator

from rollcall.history.words import count
from rollcall.inputs.printed.dialects.catalog import DIALECTS, FOLDER, FORMATS
from rollcall.inputs.printed.dialects.checks import problems
from rollcall.programs.errors import UserError


def listed() -> Iterator[str]:
    """Yield a line for each format: its name, who prints it, its number of wordings, and a file of the user's own."""
    longest = max(len(dialect.name) for dialect in DIALECTS)
    for dialect in DIALECTS:
        file = FORMATS[dialect.name]
        place = "" if (FOLDER / file.name) == file else f", {file}"
        yield f"{dialect.name:{longest}}  {dialect.title}, {count(len(dialect.templates.all), 'wording')}{place}"


def check() -> Iterator[str]:
    """Yield one sentence if all formats are right. Raise UserError with all problems."""
    found = [problem for file in FORMATS.values() for problem in problems(file, DIALECTS)]
    if found:
        raise UserError(*found)
    wordings = sum(len(dialect.templates.all) for dialect in DIALECTS)
    yield f"{count(len(DIALECTS), 'format')} with {count(wordings, 'wording')}: each reads only its own samples."
