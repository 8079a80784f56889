"""A line of an export as comma-separated values: the field that is a log line, and the one that is its time.

Knows quotes and commas. Columns are found by what stands in them, for each export names them otherwise.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator

from rollcall.inputs.printed.lines.stamps import Stamp, stamp_at

MOST_LINES = 200
"""Of a row that is put together. One that does not end within them is taken line by line."""
_FIELD_BELOW = re.compile(
    r'\s{0,40}(?:(?:"")?(?P<key>[A-Za-z_][\w.-]{0,60})(?:"")?(?:: ?|=)(?:"")?(?P<value>[^"]{0,4000}?)(?:"")?,?|\{|\}|)'
    r'\s{0,40}"?\s{0,40}'
)
_NAME = re.compile(r"[@\w. -]{1,60}")
_OBJECT = ',"{""'
"""How a field that is an object begins."""
_OF_SOURCES = ("host", "hostname", "pod", "pod_name", "pod name", "container", "instance", "@logstream", "logstream")


def whole_rows(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Each line. A row whose message has fields below it is one line, with these as `; key: value, key: value`."""
    parts: list[tuple[int, str]] = []
    pairs: list[str] = []
    for number, line in lines:
        pair = _FIELD_BELOW.fullmatch(line) if parts and len(parts) < MOST_LINES else None
        if pair is None:
            yield from parts
            parts, pairs = [], []
            if not _opens(line):
                yield number, line
                continue
        else:
            pairs += [f"{pair['key']}: {pair['value']}"] if pair["key"] else []
        parts.append((number, line))
        if pair is not None and line.count('"') % 2:
            message = parts[0][1].replace('"""', '"').removesuffix(" {").removesuffix('""')
            yield parts[0][0], f'{message}; {", ".join(pairs)}"'
            parts, pairs = [], []
    yield from parts


def _opens(line: str) -> bool:
    """Whether a row's last field is quoted, and does not end in its line."""
    return ',"' in line and line.count('"') % 2 == 1 and _may_be_one(line)


def csv_line(text: str) -> tuple[str, Stamp | None] | None:
    """The longest field, of those with blanks if any are, and the first one that is a time; None: no such line.

    A message has blanks; a time may have one.
    """
    if not _may_be_one(text):
        return None
    try:
        fields = [field.strip() for field in next(csv.reader([text]))]
    except (csv.Error, StopIteration):
        return None
    if len(fields) < 2:
        return None
    stamps = [stamp_at(field) for field in fields]
    times = {field: stamp for field, stamp in zip(fields, stamps, strict=True) if stamp and stamp.length == len(field)}
    messages = [field for field in fields if " " in field and field not in times] or fields
    return max(messages, key=len), next(iter(times.values()), None)


def source_columns(header: str) -> tuple[int, ...]:
    """The places of the columns that name a program's machine or pod, by an export's first line; empty: it has none."""
    names = [name.strip().strip('"').lower() for name in header.split(",")]
    if not all(map(_NAME.fullmatch, names)):
        return ()
    return tuple(place for place, name in enumerate(names) if name in _OF_SOURCES)


def csv_source(text: str, columns: tuple[int, ...]) -> str:
    """What a line has in these columns."""
    try:
        fields = next(csv.reader([text]), [])
    except csv.Error:
        return ""
    return "/".join(fields[place] for place in columns) if len(fields) > max(columns) else ""


def _may_be_one(text: str) -> bool:
    if text.startswith('"'):
        return '","' in text or '",' in text
    if _OBJECT in text:
        return True
    stamp = stamp_at(text)
    return stamp is not None and text[stamp.length : stamp.length + 1] == ","
