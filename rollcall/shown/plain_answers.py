"""An answer of DuckDB, printed: as a table for people, as JSON or CSV for programs."""

from __future__ import annotations

from typing import TextIO

from rollcall.answers.sql.engine import Answer
from rollcall.answers.sql.written import csv_lines, for_people, is_number, json_lines, texts

FORMATS = ("table", "json", "csv", "csv-raw")
"""Only csv-raw leaves the text of a formula as it is in a CSV cell."""


def write_answer(answer: Answer, form: str, out: TextIO) -> None:
    """Prints an answer in one of FORMATS."""
    match form:
        case "json":
            out.writelines(json_lines(answer))
        case "csv" | "csv-raw":
            out.writelines(csv_lines(answer, is_guarded=form == "csv", is_terminal=out.isatty()))
        case _:
            names, rows = [column.name for column in answer.columns], list(texts(answer, for_people))
            # What draws tables takes as long to load as an answer takes.
            from rollcall.shown.tables import console_of, show_texts

            show_texts(console_of(out), names, [is_number(column.type) for column in answer.columns], rows)
