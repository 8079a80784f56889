"""Physical lines as the records that they were: JSON broken over lines is put together, an array is taken apart.

Knows only where a record of JSON ends, and that brod prints its message in the line behind its heading. A record keeps
the number of its first line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from rollcall.inputs.printed.lines.csv_lines import whole_rows

MOST_LINES = 200
LONGEST = 64_000
"""Characters of a record that is put together: what does not end within them is taken line by line."""
LONGEST_ROW = 1 << 20
"""Characters of an export's row. Further fields of it are another row."""
_ENDS = ("}", "},", "}]", "}.")
_TEXT = r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9A-Fa-f]{4}){0,64000}"'
_FIELD = re.compile(rf'\{{\s*"field": ?{_TEXT},\s*"value": ?{_TEXT}\s*\}}[, ]*')
_HEADING_ENDS = "):"
_REASON_FOLLOWS = "failed to join group"


def whole_lines(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Each record with the number of its first line."""
    yield from _rows(_records_in(whole_rows(lines)))


def _records_in(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    parts: list[tuple[int, str]] = []
    is_export, characters, braces = False, 0, 0
    for number, line in _with_their_headings(lines):
        if not parts and ("{" not in line or not line.lstrip().startswith(("{", "[{"))):
            yield number, line.lstrip() if is_export and line.lstrip().startswith(('"', "]", "}")) else line
            continue
        if parts and line.strip() == "{":
            yield from parts  # The export's frame; no record continues there.
            parts, is_export = [], True
        if not parts:
            characters = braces = 0
        parts.append((number, line))
        characters += len(line)
        braces += line.count("{") - line.count("}")
        if line.rstrip().endswith(_ENDS) and (len(parts) == 1 or braces <= 0):
            yield from _records(parts)
            parts = []
        elif len(parts) >= MOST_LINES or characters > LONGEST:
            yield from parts
            parts = []
    yield from parts


def _rows(records: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The same, where each field of a row of CloudWatch Insights' is a record."""
    row: dict[str, str] = {}
    first = characters = 0
    for number, line in records:
        found = _FIELD.fullmatch(line) if line.startswith("{") else None
        field = None if found is None else json.loads(line.rstrip(", "))
        if row and (field is None or field["field"] in row or characters > LONGEST_ROW):
            yield first, json.dumps(row)
            row, characters = {}, 0
        if field is None:
            yield number, line
        else:
            first = first if row else number
            row[field["field"]] = field["value"]
            characters += len(line)
    if row:
        yield first, json.dumps(row)


def _with_their_headings(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The same, where a line that is a heading of brod's alone has its message behind it."""
    heading: tuple[int, str] | None = None
    for number, line in lines:
        if heading is None and line.endswith(_HEADING_ENDS) and "generation=" in line:
            heading = number, line
        elif heading is None:
            yield number, line
        elif line == _REASON_FOLLOWS and heading[1].endswith(_HEADING_ENDS):
            heading = heading[0], f"{heading[1]} {line}"
        else:
            yield heading[0], f"{heading[1]} {line}"
            heading = None
    if heading is not None:
        yield heading


def _records(parts: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    number, text = parts[0][0], "".join(text for _, text in parts)
    if not text.lstrip().startswith("["):
        yield number, text.lstrip()
        return
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        yield number, text.lstrip(" [")
        return
    for one in found:
        yield number, json.dumps(one)
