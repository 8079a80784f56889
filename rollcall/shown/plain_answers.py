"""An answer, printed: as a table for people, as JSON or CSV for programs, letter for letter as Spark's.

Knows how Spark writes a value of each type as text. Must not know which engine answered, nor any query.
"""

from __future__ import annotations

import csv
import datetime
import json
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any, TextIO

from duckdb.sqltypes import DuckDBPyType

from rollcall.answers.sql.engine import Answer
from rollcall.programs.visible import spreadsheet_text, visible, visible_json

FORMATS = ("table", "json", "csv", "csv-raw")
"""Only csv-raw leaves the text of a formula as it is in a CSV cell."""
_PLAIN_FROM, _PLAIN_TO = 1e-3, 1e7

Write = Callable[[Any], str]
_NUMBERS = {"tinyint", "smallint", "integer", "bigint", "hugeint", "float", "double", "decimal"}
_MOMENTS = ("timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns", "timestamp with time zone")


def write_answer(answer: Answer, form: str, out: TextIO) -> None:
    """Prints an answer in one of FORMATS."""
    names = [column.name for column in answer.columns]
    match form:
        case "json":
            _write_json(answer, out)
        case "csv" | "csv-raw":
            writers = [_machine(column.type) for column in answer.columns]
            texts = [form == "csv" and not _is_number(column.type) for column in answer.columns]
            write_csv(names, (_texts(writers, row) for row in answer.rows), out, texts)
        case _:
            writers = [_human(column.type) for column in answer.columns]
            rows = [_texts(writers, row) for row in answer.rows]
            # What draws tables takes as long to load as an answer takes.
            from rollcall.shown.tables import console_of, show_texts

            show_texts(console_of(out), names, [_is_number(column.type) for column in answer.columns], rows)


def _write_json(answer: Answer, out: TextIO) -> None:
    keys = [f"{_json_text(column.name)}:" for column in answer.columns]
    writers = [_json(column.type) for column in answer.columns]
    for row in answer.rows:
        values = ("null" if value is None else write(value) for write, value in zip(writers, row, strict=True))
        line = "{" + ",".join(key + value for key, value in zip(keys, values, strict=True)) + "}"
        out.write(visible_json(line) + "\n")


def write_csv(
    names: Sequence[str], rows: Iterable[Sequence[str | None]], out: TextIO, are_guarded: Sequence[bool]
) -> None:
    """Exact in a file or a pipe; on a terminal what would act on it is written out.

    are_guarded: the columns of text in which no spreadsheet is to find a formula, and the head with them.
    """
    guards = [spreadsheet_text if is_guarded else str for is_guarded in are_guarded]
    head = spreadsheet_text if any(are_guarded) else str
    shown = visible if out.isatty() else str
    writer = csv.writer(_Rows(out))
    writer.writerow([shown(head(name)) for name in names])
    for row in rows:
        writer.writerow(
            [None if value is None else shown(guard(value)) for guard, value in zip(guards, row, strict=True)]
        )


class _Rows:
    """Ends rows with a line feed. Python quotes a lone carriage return only in rows that end with one."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def write(self, row: str) -> None:
        self._out.write(row.removesuffix("\r\n") + "\n")


def _texts(writers: Sequence[Write], row: Sequence[Any]) -> list[str | None]:
    return [None if value is None else write(value) for write, value in zip(writers, row, strict=True)]


# ---------------------------------------------------------------- values


def _human(kind: DuckDBPyType) -> Write:
    if kind.id in _MOMENTS:
        return lambda value: value.isoformat(sep=" ", timespec="milliseconds")
    if kind.id == "list" and _item(kind).id == "varchar":
        return lambda value: ", ".join(one for one in value if one is not None)
    return _machine(kind)


def _machine(kind: DuckDBPyType) -> Write:
    if kind.id in _MOMENTS:
        return lambda value: value.isoformat(timespec="milliseconds") + "Z"
    match kind.id:
        case "list" | "array" | "struct":
            return _json(kind)
        case "boolean":
            return lambda value: "true" if value else "false"
        case "double" | "float":
            return java_double
        case "decimal":
            return lambda value: format(value, "f")
        case "interval":
            return shown_interval
    return str


def _is_number(kind: DuckDBPyType) -> bool:
    return kind.id.removeprefix("u") in _NUMBERS


def _item(kind: DuckDBPyType) -> DuckDBPyType:
    return dict(kind.children)["child"]  # type: ignore[return-value]


def _json(kind: DuckDBPyType) -> Write:
    match kind.id:
        case "list" | "array":
            write = _json(_item(kind))
            return lambda value: "[" + ",".join("null" if one is None else write(one) for one in value) + "]"
        case "struct":
            fields = [(name, f"{_json_text(name)}:", _json(of)) for name, of in kind.children]  # type: ignore[arg-type]
            return lambda value: (
                "{"
                + ",".join(key + ("null" if value[name] is None else of(value[name])) for name, key, of in fields)
                + "}"
            )
        case "boolean":
            return _machine(kind)
    if _is_number(kind):
        return _machine(kind)
    machine = _machine(kind)
    return lambda value: _json_text(machine(value))


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
