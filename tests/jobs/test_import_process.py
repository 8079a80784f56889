"""A log's import in a process of its own: what goes wrong there reaches the user, and it ends with its driver."""

from __future__ import annotations

import gzip
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from zoneinfo import ZoneInfo

import psutil
import pytest

from jobs.home import Home
from jobs.replay.command import replay_config
from jobs.replay.import_process import ImportProcess, ImportProcessError
from jobs.replay.importing import ToImport, import_log
from jobs.stream.home_tables import open_requests
from request_log.importer import LogImport
from request_log.lines.files import LogFileError
from tests.source_tree import ROOT
from tests.waiting import WITHIN_S

RECORDED = ROOT / "tests/captures/d-kill/requests.log.gz"


def nothing_to_show() -> None:
    return None


def copied(folder: Path) -> Path:
    log = folder / "requests.log"
    log.write_bytes(gzip.decompress(RECORDED.read_bytes()))
    return log


@contextmanager
def importing(folder: Path, path: Path, *, read: Path | None = None) -> Iterator[ImportProcess]:
    """An import of a log into a home without a stream. read: what is there when the log is read again."""
    home, config = Home(folder / "home"), replay_config({})
    open_requests(home, config)
    found = LogImport(path, ZoneInfo("UTC")).look_over()
    with ImportProcess(ToImport(read or path, ZoneInfo("UTC"), config.group, found, home)) as process:
        yield process


def test_a_whole_log_is_written_before_any_of_it_is_applied(tmp_path: Path) -> None:
    with importing(tmp_path, RECORDED) as process:
        process.wait_for_work(nothing_to_show)
        assert process.is_all_written
        assert process.written > 400
        assert process.share_read == 1.0


def test_what_goes_wrong_there_is_raised_here(tmp_path: Path) -> None:
    gone = tmp_path / "gone.log"
    with importing(tmp_path, copied(tmp_path), read=gone) as process, pytest.raises(LogFileError, match=r"gone\.log"):
        process.wait_for_work(nothing_to_show)


def test_an_import_that_is_killed_is_one_sentence(tmp_path: Path) -> None:
    with importing(tmp_path, RECORDED) as process:
        psutil.Process(process.pid).kill()
        with pytest.raises(ImportProcessError, match="the process that read the log ended with status -9"):
            process.wait_for_work(nothing_to_show)


def test_it_ends_with_its_driver_and_says_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    home, config = Home(tmp_path / "home"), replay_config({})
    open_requests(home, config)
    found = LogImport(RECORDED, ZoneInfo("UTC")).look_over()
    spawning = multiprocessing.get_context("spawn")
    ours, theirs = spawning.Pipe()
    work = ToImport(RECORDED, ZoneInfo("UTC"), config.group, found, home)
    process = spawning.Process(target=import_log, args=(work, theirs))
    process.start()
    theirs.close()
    ours.close()
    process.join(WITHIN_S)
    assert process.exitcode == 0
    assert capfd.readouterr().err == ""
