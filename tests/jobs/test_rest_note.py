"""The job's note in its status: when a source trusts it, and how it says that it has looked."""

from __future__ import annotations

import os
import time
from functools import partial
from pathlib import Path

import pytest

from rollcall.coordinator_udfs.settings import LATEST_MS
from rollcall.jobs.stream.sources.pace import Pace
from rollcall.tables.job_status import STATUS_FILE, StatusWriter, read_status


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
