"""The command line: exit statuses, what goes where, and what is written before a line that cannot be used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.source_tree import ROOT
from tests.trace.lines import command, heartbeat, join, text_of, tick

AT_ONCE = ("--config", "group.initial.rebalance.delay.ms=0")


def test_answers_go_to_stdout_one_a_line_and_the_status_is_0() -> None:
    run = command(text_of([join(0, "j"), heartbeat(1, "h", "nobody")]), *AT_ONCE)
    assert (run.status, run.errors) == (0, "")
    assert [(line["request_id"], line["error_code"]) for line in run.lines] == [
        ("j", "NONE"),
        ("h", "UNKNOWN_MEMBER_ID"),
    ]


def test_no_input_is_no_answer_and_blank_lines_are_passed_over() -> None:
    assert command(b"") == (0, [], "")
    run = command(b"\n   \n" + text_of([heartbeat(1, "h", "nobody")]) + b"\n")
    assert (run.status, len(run.lines)) == (0, 1)


def test_a_malformed_line_is_named_by_its_number_and_what_was_answered_before_stays_written() -> None:
    run = command(text_of([join(0, "j"), b"", b"{nonsense", join(5, "k")]), *AT_ONCE)
    assert run.status == 2
    assert [line["request_id"] for line in run.lines] == ["j"]
    assert run.errors.startswith("rollcall: line 3: ")
    assert len(run.errors.splitlines()) == 1


def test_what_was_due_before_a_malformed_line_is_answered_too() -> None:
    run = command(text_of([join(0, "j"), {"at_ms": 9000, "api": "Nonsense"}]))
    assert run.status == 2
    assert [(line["request_id"], line["at_ms"]) for line in run.lines] == [("j", 3000)]
    assert run.errors.startswith("rollcall: line 2: api: 'Nonsense' is not one of ")


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("group.max.size", "--config group.max.size: is not of the form key=value"),
        ("group.max.sice=2", "group.max.sice: is not a setting; did you mean group.max.size?"),
        ("group.max.size=two", "group.max.size=two: is not a whole number"),
        ("group.max.size=0", "group.max.size=0: must be at least 1"),
        ("group.min.session.timeout.ms=9999999", "is above group.max.session.timeout.ms"),
        ("topics=t1", "topics=t1: 't1' is not of the form topic:partitions"),
    ],
)
def test_a_bad_setting_is_named_before_anything_is_read(setting: str, says: str) -> None:
    run = command(text_of([heartbeat(1, "h", "nobody")]), "--config", setting)
    assert (run.status, run.lines) == (2, [])
    assert says in run.errors
    assert "Traceback" not in run.errors


def test_an_unknown_option_ends_with_status_2_and_help_with_0() -> None:
    assert command(b"", "--effect-less").status == 2
    done = subprocess.run(
        [sys.executable, "-m", "rollcall.coordinator_udfs.trace", "--help"], capture_output=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0
    assert b"--config" in done.stdout


def test_a_reader_that_stops_reading_is_no_error(tmp_path: Path) -> None:
    requests = tmp_path / "requests.jsonl"
    requests.write_bytes(text_of(heartbeat(n, f"h{n}", "nobody") for n in range(5000)))
    with (
        requests.open("rb") as stdin,
        subprocess.Popen(
            [sys.executable, "-m", "rollcall.coordinator_udfs.trace"],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
        ) as trace,
    ):
        assert trace.stdout is not None
        assert trace.stderr is not None
        trace.stdout.close()
        errors = trace.stderr.read()
    assert (trace.returncode, errors) == (0, b"")


def test_settings_hold_and_of_one_given_twice_the_last_counts() -> None:
    lines = text_of([join(0, "j"), join(1, "k"), tick(9000)])
    run = command(lines, *AT_ONCE, "--config", "group.max.size=5", "--config", "group.max.size=1")
    assert [line["error_code"] for line in run.lines] == ["NONE", "GROUP_MAX_SIZE_REACHED"]
