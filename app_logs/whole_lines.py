"""Physical lines as the records that they were: JSON broken over lines is put together, an array is taken apart.

Knows only where a record of JSON ends. A record keeps the number of its first line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

MOST_LINES = 200
LONGEST = 64_000
"""Characters of a record that is put together: what does not end within them is taken line by line."""
_ENDS = ("}", "},", "}]")


def whole_lines(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Each record with the number of its first line."""
    parts: list[tuple[int, str]] = []
    for number, line in lines:
        if not parts and ("{" not in line or not line.lstrip().startswith(("{", "[{"))):
            yield number, line
            continue
        parts.append((number, line))
        if line.rstrip().endswith(_ENDS):
            yield from _records(parts)
            parts = []
        elif len(parts) >= MOST_LINES or sum(len(text) for _, text in parts) > LONGEST:
            yield from parts
            parts = []
    yield from parts


def _records(parts: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    number, text = parts[0][0], "".join(text for _, text in parts)
    if not text.lstrip().startswith("["):
        yield number, text
        return
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        yield number, text.lstrip(" [")
        return
    for one in found:
        yield number, json.dumps(one)
