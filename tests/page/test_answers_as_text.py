"""An answer is the same text in the page's files as in what the command prints: see `rollcall.answers.sql.written`."""

from __future__ import annotations

import csv
import io
import json
from functools import partial
from pathlib import Path

import pytest

from rollcall.answers.sql.engine import ask
from rollcall.serve.page import queries
from rollcall.shown.plain_answers import write_answer
from tests.page.asking import Page
from tests.page.homes import recorded

VALUES = {
    "true": ("true", "true"),
    "1e20::double": ("1.0E20", "1.0E20"),
    "1.50::decimal(5, 2)": ("1.50", "1.50"),
    "'nan'::double": ("NaN", '"NaN"'),
    "-7": ("-7", "-7"),
    "'ab'::blob": ("YWI=", '"YWI="'),
    "['ab'::blob, null]": ('["YWI=",null]', '["YWI=",null]'),
    "timestamp '2026-01-02 03:04:05.678'": (
        *("2026-01-02T03:04:05.678Z", '"2026-01-02T03:04:05.678Z"', "2026-01-02 03:04:05.678"),
    ),
    "timestamptz '2026-01-02 05:04:05.678+02'": (
        *("2026-01-02T03:04:05.678Z", '"2026-01-02T03:04:05.678Z"', "2026-01-02 03:04:05.678"),
    ),
    "timestamp '290000-01-01 00:00:00'": ("290000-01-01 00:00:00", '"290000-01-01 00:00:00"'),
    "date '2026-01-02'": ("2026-01-02", '"2026-01-02"'),
    "interval 90 second": ("INTERVAL '0 00:01:30' DAY TO SECOND", "\"INTERVAL '0 00:01:30' DAY TO SECOND\""),
    "['x', null]": ('["x",null]', '["x",null]', "x"),
    "[true, null]": ("[true,null]", "[true,null]"),
    "row(1, 'x')": ('{"col1":1,"col2":"x"}', '{"col1":1,"col2":"x"}'),
    "{'a': 1.50, 'b': null}": ('{"a":1.50,"b":null}', '{"a":1.50,"b":null}'),
    "map {date '2026-01-02': 'x'::blob}": ('{"2026-01-02":"eA=="}', '{"2026-01-02":"eA=="}'),
    "map {'k': null}": ('{"k":null}', '{"k":null}'),
    "null": ("", "null", "null"),
    "chr(27) || chr(7) || 'ü'": ("\x1b\x07ü", '"\\u001B\\u0007ü"', "\\x1b\\x07ü"),
    "chr(8238) || chr(13)": ("\u202e\r", '"\\u202e\\r"', "\\u202e\\r"),
    "'=1+1'": ("'=1+1", '"=1+1"', "=1+1"),
}
"""Of an expression in DuckDB's SQL: the cell in CSV, the value in JSON, the cell of a table where it is another."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("home"), "d-kill")


def in_page(monkeypatch: pytest.MonkeyPatch, home: Path, query: str, form: str) -> str:
    monkeypatch.setattr(queries, "ask", partial(ask, is_duckdbs=True))
    return queries.answer(home, query, None, form).body.decode()


def printed(home: Path, query: str, form: str) -> str:
    out = io.StringIO(newline="")
    write_answer(ask(home, query, is_duckdbs=True), form, out)
    return out.getvalue()


@pytest.mark.parametrize("what", VALUES)
def test_a_value_is_the_same_text_wherever_it_is_written(
    home: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    as_csv, as_json, *others = VALUES[what]
    as_cell = others[0] if others else as_csv
    query = f"select {what} as v, 1 as one"
    for text in (in_page(monkeypatch, home, query, "csv"), printed(home, query, "csv")):
        assert list(csv.reader(io.StringIO(text, newline=""))) == [["v", "one"], [as_csv, "1"]]
    for line in (in_page(monkeypatch, home, query, "json"), printed(home, query, "json")):
        assert line == f'{{"v":{as_json},"one":1}}\n'
        json.loads(line)
    html = in_page(monkeypatch, home, query, "html")
    assert Page(f'<table id="answer">{html}</table>').tables["answer"][1] == [as_cell, "1"]


def test_the_pages_files_are_what_the_command_prints(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = ", ".join(f"{what} as '{name}'" for what, name in zip(VALUES, "a=bcdefghijklmnopqrstuvw", strict=False))
    for query in (f"select {columns} from range(3)", "select * from effects", "select 1 as a, 2 as a, '' as b"):
        for form in ("csv", "json"):
            assert in_page(monkeypatch, home, query, form) == printed(home, query, form), form
