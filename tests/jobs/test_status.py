"""`rollcall status` says of each home who works in it and what is in trouble; `rollcall doctor` what is lacking."""

from __future__ import annotations

import json
import os
import shutil
import socket
import time
from functools import partial
from pathlib import Path

import pytest

from rollcall.__main__ import main
from rollcall.cli import doctor
from rollcall.coordinator_udfs.settings import LATEST_MS
from rollcall.jobs.stream.sources.pace import Pace
from rollcall.programs.errors import UserError
from rollcall.programs.version import VERSION
from rollcall.serve.listeners.addresses import Address
from rollcall.tables.home import Home
from rollcall.tables.job_status import STATUS_FILE, StatusWriter, read_status
from tests.source_tree import ROOT
from tests.streaming.earlier_homes import JOB, unpacked

LOG = ROOT / "tests" / "captures" / "d-kill" / "requests.log.gz"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the homes of a finished replay and of a job that ended."""
    folder = tmp_path_factory.mktemp("homes")
    assert main(["replay", str(LOG), "--home", str(folder / ".rollcall-d-kill")]) == 0
    shutil.copytree(unpacked(VERSION, folder / "unpacked").home(JOB), folder / "job")
    return folder


def test_each_home_of_the_folder_has_its_paragraph(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    capsys.readouterr()
    assert main(["status"]) == 0
    said = capsys.readouterr().out
    assert said.count(".rollcall-d-kill: replay history") == 1
    assert ".rollcall-d-kill: replay history, no job is running\n  latest fact: 2026-11-21 05:39:51" in said
    assert "job: live history, no job is running" in said
    assert "  3 of 3 groups had trouble in this recording: audit-trail: a member, " in said


def test_a_folder_with_a_file_named_like_the_note_of_a_home_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "home.json").write_text('{"title": "Welcome"}')
    monkeypatch.chdir(tmp_path)
    assert main(["status"]) == 0
    assert "no home was found here" in capsys.readouterr().out


def test_who_works_in_a_home_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = Home(folder / "job")
    with home.locked("the coordinator"):
        capsys.readouterr()
        assert main(["status", home.shown, "--format", "json"]) == 0
        found = json.loads(capsys.readouterr().out)
    assert (found["kind"], found["worker"]) == ("live", f"the coordinator (process {os.getpid()})")
    assert found["groups"] > 0
    assert home.worker() == ""


def test_who_died_in_a_home_works_there_no_more(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("the coordinator (process 4194305)\n")
    assert Home(tmp_path).worker() == ""


def test_what_is_no_home_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"rollcall: {tmp_path} is not a home: it has no home.json.\n"


# ---------------------------------------------------------------- the doctor


def lines(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, tuple[str, str]]:
    """Whether each thing is as it should be, and the sentence on it, by what it is."""
    capsys.readouterr()
    main(["doctor", *words])
    found = {}
    for line in capsys.readouterr().out.splitlines():
        what, _, sentence = line[6:].partition(": ")
        found[what] = (line[:4].strip(), sentence)
    return found


def test_a_machine_that_has_all_is_reported_as_such(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = lines(capsys, "--home", str(folder / "job"))
    assert {"Python", "Java", "JARs", "home", "disk", "clock"} <= found.keys()
    assert found["clock"] == ("ok", f"no fact in {folder / 'job'} is from the future.")
    assert found["home"] == ("ok", f"{folder / 'job'} is writable; no program is using it.")


def test_what_lacks_is_said_with_what_to_do(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(doctor, "missing_jars", lambda: ["delta.jar"])
    monkeypatch.setattr(doctor, "FREE_BYTES", 1 << 62)
    monkeypatch.setattr(time, "time", lambda: 1.0)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr(doctor, "DEFAULT_ADDRESS", Address("127.0.0.1", taken.getsockname()[1]))
        found = lines(capsys, "--home", str(folder / "job"))
    failed = {what: sentence for what, (state, sentence) in found.items() if state == "FAIL"}
    assert failed["Java"].startswith("Java was not found: install Java 17 or newer")
    assert "run `make jars`" in failed["JARs"]
    assert "`rollcall maintain` removes expired rows" in failed["disk"]
    assert failed["clock"].endswith("set this machine's clock, or the broker's.")
    assert "name another place with --page host:port" in failed["port of the page"]


def test_a_port_in_use_is_no_fault_while_somebody_works_in_the_home(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(folder / "job")
    with socket.create_server(("127.0.0.1", 0)) as taken, home.locked("make run"):
        address = Address("127.0.0.1", taken.getsockname()[1])
        monkeypatch.setattr(doctor, "DEFAULT_ADDRESS", address)
        found = lines(capsys, "--home", home.shown)
    worker = f"make run (process {os.getpid()})"
    assert found["port of the page"] == (
        "ok",
        f"{address} is in use, probably by {worker}, which serves the page.",
    )


def test_without_a_checkout_jars_are_fetched_when_they_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "missing_jars", lambda: ["delta.jar"])
    monkeypatch.setattr(doctor, "IS_CHECKOUT", False)
    assert doctor._jars().endswith(" at its first start.")


def test_a_home_that_is_not_there_can_be_made(tmp_path: Path) -> None:
    assert doctor._home(Home(tmp_path / "new")) == f"{tmp_path / 'new'} does not exist yet and can be created."


def test_a_home_that_may_not_be_written_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(UserError, match="this user cannot write to "):
        doctor._home(Home(tmp_path / "home"))


def test_a_cluster_that_does_not_answer_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "WITHIN_S", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
    found = lines(capsys, f"kafka://{address}")
    assert found["cluster"][0] == found["__consumer_offsets"][0] == "FAIL"
    assert found["cluster"][1].startswith(f"{address} does not answer (")


def test_an_address_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "broker"]) == 2
    assert "rollcall: broker: is not of the form kafka://host:port" in capsys.readouterr().err


# ---------------------------------------------------------------- the note of the job in its status


def looked_at_ms(home: Path) -> int:
    status = read_status(home)
    assert status is not None
    assert status.looked_at_ms is not None
    return status.looked_at_ms


def age(home: Path, seconds: float) -> int:
    """Makes the status as old as this; returns its time of change, in ms."""
    at_ms = int((time.time() - seconds) * 1000)
    os.utime(home / STATUS_FILE, ns=(at_ms * 1_000_000, at_ms * 1_000_000))
    return at_ms


def test_a_run_ticks_until_its_first_note_and_a_note_of_an_earlier_run_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    StatusWriter(tmp_path).batch_done(7, 0, 0, LATEST_MS)
    status = StatusWriter(tmp_path)
    pace = Pace(1000, str(tmp_path / STATUS_FILE))

    def ticks_at(now_s: float) -> bool:
        monkeypatch.setattr("time.time", partial(float, now_s))
        return pace.tick(7) != 7

    assert [ticks_at(now_s) for now_s in (1000.0, 1000.9, 1001.0, 1002.0)] == [True, False, True, True]
    status.batch_done(8, 0, 0, LATEST_MS)
    assert not ticks_at(1003.0)
    status.batch_done(9, 0, 0, 1_003_500)
    assert [ticks_at(now_s) for now_s in (1003.5, 1003.501, 1003.6)] == [False, True, False]
    status.batch_done(10, 0, 0)
    assert [ticks_at(now_s) for now_s in (1003.7, 1004.0)] == [False, True]


@pytest.mark.parametrize("text", [None, "", "{", '{"rests_until_ms": "soon"}'])
def test_without_a_readable_note_it_ticks(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / STATUS_FILE).write_text(text)
    assert Pace(1000, str(tmp_path / STATUS_FILE)).tick(5) != 5


def test_a_source_at_rest_says_that_it_has_looked_and_makes_no_file(tmp_path: Path) -> None:
    status = StatusWriter(tmp_path)
    status.running("query", 1)
    status.batch_done(7, 0, 0, LATEST_MS)
    before, old_ms = (tmp_path / STATUS_FILE).read_bytes(), age(tmp_path, 60)
    pace = Pace(1000, str(tmp_path / STATUS_FILE))
    assert pace.tick(3) == 3
    assert looked_at_ms(tmp_path) >= old_ms + 59_000
    assert [path.name for path in tmp_path.iterdir()] == [STATUS_FILE]
    assert (tmp_path / STATUS_FILE).read_bytes() == before
    again_ms = age(tmp_path, 60)
    assert pace.tick(3) == 3
    assert (tmp_path / STATUS_FILE).stat().st_mtime_ns // 1_000_000 == again_ms, "not at every look"


def test_only_a_running_job_at_rest_has_looked_after_its_last_batch(tmp_path: Path) -> None:
    status = StatusWriter(tmp_path)
    status.running("query", 1)
    status.batch_done(7, 0, 0)
    found = read_status(tmp_path)
    assert found is not None
    later_ms = age(tmp_path, -60)
    assert found.looked_at_ms == found.batch_at_ms == looked_at_ms(tmp_path)
    status.batch_done(8, 0, 0, LATEST_MS)
    later_ms = age(tmp_path, -60)
    assert looked_at_ms(tmp_path) == later_ms
    status.stopped()
    age(tmp_path, -60)
    assert looked_at_ms(tmp_path) < later_ms
