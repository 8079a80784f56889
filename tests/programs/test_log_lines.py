"""A log line is one line that acts on no terminal, whoever wrote what is in it."""

from __future__ import annotations

import json
import logging
import re

import pytest

from rollcall.programs.log_lines import FORMAT, VisibleFormatter, log_to_standard_error, tell
from rollcall.programs.running import run_program
from tests.source_tree import source_files

HOSTILE = "g\n2026-03-01 00:00:00,000 gateway: all is well\r\x1b[2A\u202e\u2028\x85\ud800"
SHOWN = r"g\n2026-03-01 00:00:00,000 gateway: all is well\r\x1b[2A\u202e\u2028\x85\ud800"


def line_of(record: logging.LogRecord) -> str:
    return VisibleFormatter("%(name)s: %(message)s").format(record)


def record(text: str, *values: object, error: BaseException | None = None) -> logging.LogRecord:
    caught = None if error is None else (type(error), error, error.__traceback__)
    return logging.LogRecord("gateway", logging.INFO, "file", 1, text, values, caught)


def test_what_others_wrote_is_written_out() -> None:
    assert line_of(record("%s: closed", HOSTILE)) == f"gateway: {SHOWN}: closed"


def test_a_traceback_stands_below_its_line_and_no_line_of_it_looks_like_another() -> None:
    try:
        raise ValueError(HOSTILE)
    except ValueError as error:
        lines = line_of(record("it failed", error=error)).split("\n")
    assert lines[0] == "gateway: it failed"
    assert all(line.startswith("  ") and line.isprintable() for line in lines[1:])
    assert lines[-1] == "  " + SHOWN.split(r"\n")[1]


def test_a_process_writes_such_lines_alone(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    log_to_standard_error(logging.WARNING)
    logging.getLogger("any").warning("%s", HOSTILE)
    logging.getLogger("any").info("not printed")
    said = capsys.readouterr().err
    assert re.fullmatch(r"\d{4}-\d\d-\d\d [\d:,]+ any: " + re.escape(SHOWN) + "\n", said)
    assert FORMAT.startswith("%(asctime)s")


def test_lines_for_programs_are_json_whatever_is_in_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    log_to_standard_error(logging.WARNING, "json")
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        logging.getLogger("any").warning("%s", HOSTILE, exc_info=True)
    logging.getLogger("any").info("not printed")
    tell("all is well")
    tell("it failed: 100%s", is_error=True)
    out, said = capsys.readouterr()
    assert out == ""
    assert said.isascii()
    lines = [json.loads(line) for line in said.splitlines()]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z", line.pop("at")) for line in lines)
    assert "ValueError" in lines[0].pop("trace")
    assert lines == [
        {"level": "WARNING", "logger": "any", "message": HOSTILE},
        {"level": "INFO", "logger": "rollcall", "message": "all is well"},
        {"level": "ERROR", "logger": "rollcall", "message": "it failed: 100%s"},
    ]


def test_a_sentence_for_people_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    log_to_standard_error(logging.WARNING)
    tell("all is well")
    tell(HOSTILE, is_error=True)
    assert capsys.readouterr() == ("rollcall: all is well\n", f"rollcall: {SHOWN}\n")


def test_a_traceback_that_ends_a_program_acts_on_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    def main() -> None:
        raise ValueError("\x1b[2A\u202e")

    assert run_program(main) == 1
    said = capsys.readouterr().err
    assert said.endswith("ValueError: \\x1b[2A\\u202e\n")
    assert said.isascii()


def test_no_program_sets_its_log_up_in_another_way() -> None:
    assert [path.stem for path in source_files() if "basicConfig" in path.read_text()] == ["log_lines"]
