"""`make whatif` from a log to its report: what processes play is what one plays, and what is refused."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from rollcall.__main__ import main
from rollcall.answers.whatif.answer import WhatIfAnswer
from rollcall.answers.whatif.changes import trial_of
from rollcall.answers.whatif.recording import Recording
from rollcall.cli.whatif.command import answer, read_recording, write_rows
from rollcall.cli.whatif.report import Report, tell
from rollcall.inputs.replay.building import Shown
from rollcall.programs.processes import Processes
from tests.command_run import ran
from tests.source_tree import ROOT

CAPTURES = ROOT / "tests" / "captures"
HERE = Processes(1)


QUIET = Shown(Console(quiet=True))


def recording(capture: str, pool: Processes = HERE) -> Recording:
    return read_recording(CAPTURES / capture, "UTC", {}, pool, QUIET)[0]


def played(found: Recording, settings: list[str], pool: Processes = HERE) -> WhatIfAnswer:
    return answer(found, trial_of(settings), pool, QUIET)


def report(found: WhatIfAnswer) -> str:
    text = StringIO()
    tell(Console(width=120, file=text), Report(found, {"group.max.size": "3"}, 485, 2.5, "build/whatif.jsonl"))
    return text.getvalue()


def test_what_two_processes_read_and_play_is_what_one_does() -> None:
    settings = ["session.timeout.ms=6000,30000 static=true"]
    with Processes(2) as pool:
        found = recording("b-rolling-dynamic", pool)
        shared = played(found, settings, pool)
    assert found == recording("b-rolling-dynamic")
    assert shared == played(found, settings)


def test_the_command_leaves_its_rows_and_prints_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "rows.jsonl"
    log = str(CAPTURES / "d-kill" / "requests.log.gz")
    settings = ["--set", "session.timeout.ms=6000..45000/2", "--format", "json", "--out", str(out)]
    assert main(["whatif", log, *settings]) == 0
    printed = capsys.readouterr().out
    assert printed == out.read_text()
    rows = [json.loads(line) for line in printed.splitlines()]
    whole = [row for row in rows if row["group_id"] is None]
    assert [(row["run"], row["value"]) for row in whole] == [
        ("recorded", None),
        ("baseline", None),
        ("whatif", 6000),
        ("whatif", 45000),
    ]
    assert len(rows) == len(whole) * 4
    # In sessions of 45 s a newcomer comes first to two of three groups, and its rebalance finds the dead.
    assert [(row["rebalances"], row["detected"]) for row in whole] == [(9, 3), (9, 3), (9, 3), (7, 3)]
    assert [row["fidelity"] for row in whole] == [None, 1.0, 1.0, 1.0]
    assert whole[2]["mean_detection_s"] < whole[0]["mean_detection_s"] < whole[3]["mean_detection_s"]
    assert whole[0]["causes"] == {"member_joined": 6, "session_expired": 3}
    assert {row["swept"] for row in rows} == {"session.timeout.ms"}


def test_processes_that_end_print_no_leaks(tmp_path: Path) -> None:
    log = CAPTURES / "d-kill" / "requests.log.gz"
    status, _, errors = ran("whatif", str(log), "--set", "static=true", "--out", str(tmp_path / "rows.jsonl"))
    assert status == 0
    assert [line for line in errors.splitlines() if "100%" not in line] == []


def test_one_setting_is_shown_beside_what_was_recorded_and_its_baseline() -> None:
    text = report(played(recording("b-rolling-dynamic"), ["static=true"]))
    assert "2 groups, 16 processes" in text
    assert "(UTC)" in text
    assert "the log shows that the broker had group.max.size=3" in text
    assert "fidelity of the baseline: 100.0% of rebalances are reproduced with their causes; 2 of 2 groups" in text
    cells = [line.replace("│", " ").split() for line in text.splitlines()]
    assert ["rebalances", "18", "18", "2"] in cells
    assert ["partitions", "moved", "52", "48", "0"] in cells
    assert ["member_left", "8", "8", "0"] in cells
    assert "static=true: a process that starts after another of its client id has ended is its restart" in text


def test_a_sweep_is_shown_as_a_curve_and_groups_that_part_are_named() -> None:
    text = report(played(recording("g-coop-vs-range"), ["session.timeout.ms=6000,30000"]))
    assert "session.timeout.ms swept" in text
    rows = [line.replace("│", " ").split() for line in text.splitlines()]
    assert [row[0] for row in rows if row[:1] and row[0] in ("recorded", "baseline", "6000", "30000")] == [
        "recorded",
        "baseline",
        "6000",
        "30000",
    ]
    assert any(row[:4] == ["stock-rdk-coop", "8", "->", "7"] for row in rows)


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        (["nowhere.log", "--set", "static=true"], "nowhere.log"),
        (["{log}"], "--set names nothing to try"),
        (["{log}", "--set", "sesion=1"], "sesion=1: is not a setting that can be tried"),
        (["{log}", "--set", "session.timeout.ms=1999 group.min.session.timeout.ms=1"], "would beat every"),
        (["{log}", "--set", "static=true", "--was", "group.max.size=0"], "group.max.size=0: must be at least 1"),
        (["{log}", "--set", "static=true", "--zone", "Mars"], "--zone Mars: is not a time zone's name"),
        (["{log}", "--set", "static=true", "--format", "xml"], "--format xml: is not one of table, json."),
        (["{empty}", "--set", "static=true"], "no group of consumers joins in this log"),
    ],
)
def test_what_a_person_can_put_right_is_one_sentence(
    arguments: list[str], refusal: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "empty.log"
    empty.write_text("\n")
    log = CAPTURES / "d-kill" / "requests.log.gz"
    assert main(["whatif", *(each.format(log=log, empty=empty) for each in arguments)]) == 2
    said = capsys.readouterr()
    assert refusal in said.err
    assert "Traceback" not in said.err
    assert said.out == ""


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    found = played(recording("raw-sample"), ["static=true"])
    with pytest.raises(Exception, match="cannot be written"):
        write_rows(found, blocked / "rows.jsonl")
