"""An answer as text: the rows of a table for people, JSON or CSV for programs, letter for letter as Spark's.

Knows how Spark writes a value of each type as text. Must not know which engine answered, any query, or who reads it.
"""

from __future__ import annotations

import base64
import csv
import datetime
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from duckdb.sqltypes import DuckDBPyType

from rollcall.answers.sql.engine import Answer
from rollcall.programs.visible import spreadsheet_text, visible, visible_json

_PLAIN_FROM, _PLAIN_TO = 1e-3, 1e7

Write = Callable[[Any], str]
_NUMBERS = {"tinyint", "smallint", "integer", "bigint", "hugeint", "float", "double", "decimal"}
_MOMENTS = ("timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns", "timestamp with time zone")


def texts(answer: Answer, writer_of: Callable[[DuckDBPyType], Write]) -> Iterator[list[str | None]]:
    """Each row, by what writes a type's values; null is None."""
    writers = [writer_of(column.type) for column in answer.columns]
    for row in answer.rows:
        yield [None if value is None else write(value) for write, value in zip(writers, row, strict=True)]


def json_lines(answer: Answer) -> Iterator[str]:
    """One object a row, columns that are null included."""
    write = _object([column.name for column in answer.columns], [column.type for column in answer.columns])
    for row in answer.rows:
        yield visible_json(write(row)) + "\n"


def csv_lines(answer: Answer, *, is_guarded: bool = True, is_terminal: bool = False) -> Iterator[str]:
    """The head and each row. is_guarded: in no column of text a spreadsheet finds a formula."""
    names = [column.name for column in answer.columns]
    guarded = [is_guarded and not is_number(column.type) for column in answer.columns]
    return csv_of_texts(names, texts(answer, _machine), guarded, is_terminal=is_terminal)


def csv_of_texts(
    names: Sequence[str], rows: Iterable[Sequence[str | None]], are_guarded: Sequence[bool], *, is_terminal: bool
) -> Iterator[str]:
    """Exact in a file or a pipe; on a terminal what would act on it is written out.

    are_guarded: the columns of text in which no spreadsheet is to find a formula, and the head with them.
    """
    guards = [spreadsheet_text if is_guarded else str for is_guarded in are_guarded]
    head = spreadsheet_text if any(are_guarded) else str
    shown = visible if is_terminal else str
    writer = csv.writer(_Row())
    yield writer.writerow([shown(head(name)) for name in names])
    for row in rows:
        yield writer.writerow(
            [None if value is None else shown(guard(value)) for guard, value in zip(guards, row, strict=True)]
        )


class _Row:
    """Ends a row with a line feed. Python quotes a lone carriage return only in rows that end with one."""

    def write(self, row: str) -> str:
        return row.removesuffix("\r\n") + "\n"


# ---------------------------------------------------------------- values


def for_people(kind: DuckDBPyType) -> Write:
    """How a value of a type that is not null stands in a table."""
    if kind.id in _MOMENTS:
        return _moment(" ", "")
    if kind.id == "list" and _child(kind).id == "varchar":
        return lambda value: ", ".join(one for one in value if one is not None)
    return _machine(kind)


def is_number(kind: DuckDBPyType) -> bool:
    """Whether a type is one of numbers."""
    return kind.id.removeprefix("u") in _NUMBERS


def _machine(kind: DuckDBPyType) -> Write:
    if kind.id in _MOMENTS:
        return _moment("T", "Z")
    match kind.id:
        case "list" | "array" | "struct" | "tuple" | "map":
            return _json_value(kind)
        case "boolean":
            return lambda value: "true" if value else "false"
        case "double" | "float":
            return java_double
        case "decimal":
            return lambda value: format(value, "f")
        case "interval":
            return shown_interval
        case "blob":
            return lambda value: base64.b64encode(value).decode()
    return str


def _moment(between: str, zone: str) -> Write:
    def write(value: datetime.datetime | str) -> str:
        if isinstance(value, str):
            return value  # beyond Python's years
        at = value if value.tzinfo is None else value.astimezone(datetime.UTC).replace(tzinfo=None)
        return at.isoformat(sep=between, timespec="milliseconds") + zone

    return write


def _child(kind: DuckDBPyType, name: str = "child") -> DuckDBPyType:
    return dict(kind.children)[name]  # type: ignore[return-value]


def _json(kind: DuckDBPyType) -> Write:
    write = _json_value(kind)
    return lambda value: "null" if value is None else write(value)


def _json_value(kind: DuckDBPyType) -> Write:
    match kind.id:
        case "list" | "array":
            item = _json(_child(kind))
            return lambda value: f"[{','.join(map(item, value))}]"
        case "struct" | "tuple":
            # Spark names what has no name so.
            names = [name or f"col{place}" for place, (name, _) in enumerate(kind.children, 1)]
            write = _object(names, [of for _, of in kind.children])  # type: ignore[misc]
            return lambda value: write(value.values() if isinstance(value, dict) else value)
        case "map":
            key, of = _machine(_child(kind, "key")), _json(_child(kind, "value"))
            return lambda value: f"{{{','.join(f'{_json_text(key(one))}:{of(its)}' for one, its in value.items())}}}"
        case "double" | "float":
            return lambda value: text if (text := java_double(value))[-1].isdigit() else f'"{text}"'
    machine = _machine(kind)
    return machine if is_number(kind) or kind.id == "boolean" else lambda value: _json_text(machine(value))


def _object(names: Sequence[str], kinds: Sequence[DuckDBPyType]) -> Callable[[Iterable[Any]], str]:
    fields = [(f"{_json_text(name)}:", _json(kind)) for name, kind in zip(names, kinds, strict=True)]
    return lambda values: (
        "{" + ",".join([key + write(value) for (key, write), value in zip(fields, values, strict=True)]) + "}"
    )


def _json_text(value: str) -> str:
    text = json.dumps(value, ensure_ascii=False)
    if "\\u00" not in text:
        return text
    # Spark writes such a character's number in capitals.
    first, *parts = text.split("\\u00")
    return first + "".join(f"\\u00{part[:2].upper()}{part[2:]}" for part in parts)


def shown_interval(length: datetime.timedelta) -> str:
    """As Spark prints an interval of days to seconds."""
    sign, length = ("-" if length < datetime.timedelta(0) else ""), abs(length)
    hours, rest = divmod(length.seconds, 3600)
    seconds = f"{rest % 60:02}" + (f".{length.microseconds:06}".rstrip("0") if length.microseconds else "")
    return f"INTERVAL '{sign}{length.days} {hours:02}:{rest // 60:02}:{seconds}' DAY TO SECOND"


def java_double(value: float) -> str:
    """A double as Java writes it: 1.0E7 from ten million on, and below a thousandth."""
    if value != value or value in (float("inf"), float("-inf")):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if value == 0 or _PLAIN_FROM <= abs(value) < _PLAIN_TO:
        return repr(value)
    shortest = Decimal(repr(value)).normalize()
    figures = "".join(map(str, shortest.as_tuple().digits))
    return f"{'-' if value < 0 else ''}{figures[0]}.{figures[1:] or '0'}E{shortest.adjusted()}"
