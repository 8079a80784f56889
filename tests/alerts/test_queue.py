"""The queue of a receiver is bounded: what says least goes first, and what is being sent stays."""

from __future__ import annotations

from typing import get_args

import pytest

from rollcall.answers.views.view import Severity
from rollcall.serve.alerts import queue
from rollcall.serve.alerts.alarm import Alarm, DueMessage, Event
from rollcall.serve.alerts.queue import surplus


def due(alarm_id: str, event: Event, severity: Severity = "warning", receiver: str = "r") -> DueMessage:
    alarm = Alarm(alarm_id, "g", "storms", 1, 2, "s", "l", severity=severity)
    return DueMessage(receiver, event, alarm, 1, 1)


def ids(gone: list[DueMessage]) -> list[tuple[str, Event]]:
    return [(one.alarm.id, one.event) for one in gone]


@pytest.fixture
def two_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "MOST_DUE", 2)


def test_a_queue_that_is_not_full_loses_nothing(two_wait: None) -> None:
    assert surplus([due("1", "opened"), due("2", "opened"), due("3", "opened", receiver="other")], "r", None) == []


def test_alarms_that_are_over_go_first_the_oldest_of_them_before_others(two_wait: None) -> None:
    waits = [due("1", "opened", "info")]
    waits += [due(alarm_id, event) for alarm_id in ("2", "3") for event in ("opened", "closed")]
    assert ids(surplus(waits, "r", None)) == [("2", "opened"), ("2", "closed"), ("3", "opened"), ("3", "closed")]
    assert ids(surplus(waits[:3], "r", None)) == [("2", "opened"), ("2", "closed")]


def test_the_least_severe_alarm_goes_before_the_end_of_one_that_the_receiver_knows(two_wait: None) -> None:
    waits = [due("known", "closed", "info"), *(due(severity, "opened", severity) for severity in get_args(Severity))]
    assert ids(surplus(waits, "r", None)) == [("info", "opened"), ("warning", "opened")]


def test_what_is_being_sent_stays(two_wait: None) -> None:
    waits = [due(alarm_id, "opened") for alarm_id in ("1", "2", "3")]
    assert ids(surplus(waits, "r", waits[0])) == [("2", "opened")]
