"""Work is repeated until it is stopped, whatever it raises, and each row of errors is reported once."""

from __future__ import annotations

import itertools
import threading

import pytest

from rollcall.programs.repeated import Repeated
from tests.waiting import until


def test_of_each_row_of_errors_the_first_is_reported_and_the_work_continues() -> None:
    heard, turns = list[str](), itertools.count()

    def work() -> None:
        turn = next(turns)
        if turn in (1, 2, 5):
            raise OSError(f"turn {turn}")
        if repeated.is_failing:
            heard.append("works")

    repeated = Repeated("test", 0.001, work, lambda error: heard.append(str(error)))
    repeated.start()
    until(lambda: heard[3:], "the end of the second row")
    assert repeated.stop()
    assert heard == ["turn 1", "works", "turn 5", "works"]
    assert not repeated.is_failing


def test_an_error_that_nobody_takes_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    repeated = Repeated("test", 0.001, lambda: 1 // 0)
    repeated.start()
    until(lambda: caplog.records, "the error is logged")
    assert repeated.stop()
    assert caplog.records[0].exc_info
    assert [one.getMessage() for one in caplog.records] == ["test: an error, so it is tried again"]


def test_the_first_wait_may_be_another() -> None:
    did = threading.Event()
    repeated = Repeated("test", 3600, did.set, is_at_once=True)
    repeated.start()
    assert did.wait(30)
    assert repeated.stop()


def test_a_stop_waits_no_longer_than_it_may_and_an_error_after_it_is_not_reported() -> None:
    begun, may_end, heard = threading.Event(), threading.Event(), list[Exception]()

    def work() -> None:
        begun.set()
        may_end.wait(30)
        raise OSError

    repeated = Repeated("test", 0.0, work, heard.append)
    repeated.start()
    assert begun.wait(30)
    assert not repeated.stop(0.01)
    may_end.set()
    assert repeated.stop()
    assert heard == []


def test_what_was_not_started_is_stopped_at_once() -> None:
    assert Repeated("test", 0.0, lambda: None).stop()
