"""An answer, printed: as a table for people, as JSON or CSV for programs, letter for letter as Spark's.

Knows how Spark writes a value of each type as text. Must not know which engine answered, nor any query.
"""

from __future__ import annotations

import csv
import datetime
import json
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from duck_sql.engine import Answer
from duck_sql.literals import shown_interval
from duck_sql.types import STRING, Type
from programs.visible import visible, visible_json

FORMATS = ("table", "json", "csv")
_PLAIN_FROM, _PLAIN_TO = 1e-3, 1e7

Write = Callable[[Any], str]


def write_answer(answer: Answer, form: str, out: TextIO) -> None:
    """Prints an answer in one of FORMATS."""
    match form:
        case "json":
            _write_json(answer, out)
        case "csv":
            _write_csv(answer, out)
        case _:
            names = [column.name for column in answer.columns]
            writers = [_human(column.type) for column in answer.columns]
            rows = [_texts(writers, row) for row in answer.rows]
            # What draws tables takes as long to load as an answer takes.
            from jobs.shown.tables import console_of, show_texts

            show_texts(console_of(out), names, [column.type.is_number for column in answer.columns], rows)


def _write_json(answer: Answer, out: TextIO) -> None:
    keys = [f"{_json_text(column.name)}:" for column in answer.columns]
    writers = [_json(column.type) for column in answer.columns]
    for row in answer.rows:
        values = ("null" if value is None else write(value) for write, value in zip(writers, row, strict=True))
        line = "{" + ",".join(key + value for key, value in zip(keys, values, strict=True)) + "}"
        out.write(visible_json(line) + "\n")


def _write_csv(answer: Answer, out: TextIO) -> None:
    writer = csv.writer(out, lineterminator="\n")
    shown = _visible if out.isatty() else list
    writer.writerow(shown([column.name for column in answer.columns]))
    writers = [_machine(column.type) for column in answer.columns]
    for row in answer.rows:
        writer.writerow(shown(_texts(writers, row)))


def _visible(row: Sequence[str | None]) -> list[str | None]:
    return [None if value is None else visible(value) for value in row]


def _texts(writers: Sequence[Write], row: Sequence[Any]) -> list[str | None]:
    return [None if value is None else write(value) for write, value in zip(writers, row, strict=True)]


# ---------------------------------------------------------------- values


def _human(kind: Type) -> Write:
    if kind.name == "timestamp":
        return _human_time
    if kind.name == "array" and kind.item == STRING:
        return lambda value: ", ".join(one for one in value if one is not None)
    return _machine(kind)


def _machine(kind: Type) -> Write:
    match kind.name:
        case "timestamp":
            return _machine_time
        case "array" | "struct":
            return _json(kind)
        case "boolean":
            return lambda value: "true" if value else "false"
        case "double":
            return java_double
        case "decimal":
            return lambda value: format(value, "f")
        case "interval day to second":
            return shown_interval
    return str


def _json(kind: Type) -> Write:
    match kind.name:
        case "array":
            write = _json(kind.item)
            return lambda value: "[" + ",".join("null" if one is None else write(one) for one in value) + "]"
        case "struct":
            fields = [(name, f"{_json_text(name)}:", _json(of)) for name, of in kind.fields]
            return lambda value: (
                "{"
                + ",".join(key + ("null" if value[name] is None else of(value[name])) for name, key, of in fields)
                + "}"
            )
        case "int" | "bigint" | "boolean" | "double" | "decimal":
            return _machine(kind)
    machine = _machine(kind)
    return lambda value: _json_text(machine(value))


def _json_text(value: str) -> str:
    text = json.dumps(value, ensure_ascii=False)
    # Spark writes such a character's number in capitals.
    return text if "\\u00" not in text else _capitals(text)


def _capitals(text: str) -> str:
    parts = text.split("\\u00")
    return parts[0] + "".join(f"\\u00{part[:2].upper()}{part[2:]}" for part in parts[1:])


def _human_time(value: datetime.datetime) -> str:
    return value.isoformat(sep=" ", timespec="milliseconds")


def _machine_time(value: datetime.datetime) -> str:
    return value.isoformat(timespec="milliseconds") + "Z"


def java_double(value: float) -> str:
    """A double as Java writes it: 1.0E7 from ten million on, and below a thousandth."""
    if value != value or value in (float("inf"), float("-inf")):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if value == 0 or _PLAIN_FROM <= abs(value) < _PLAIN_TO:
        return _plain(value)
    digits, _, exponent = f"{value!r}e0".partition("e") if "e" not in repr(value) else repr(value).partition("e")
    shift = int(exponent.split("e")[0])
    sign, digits = ("-" if digits.startswith("-") else ""), digits.lstrip("-")
    before, _, after = digits.partition(".")
    figures = (before + after).lstrip("0")
    leading = len(before + after) - len((before + after).lstrip("0"))
    power = shift + len(before) - 1 - leading
    figures = figures.rstrip("0") or "0"
    return f"{sign}{figures[0]}.{figures[1:] or '0'}E{power}"


def _plain(value: float) -> str:
    text = repr(value)
    return text if "." in text and "e" not in text else format(value, ".20f").rstrip("0")
