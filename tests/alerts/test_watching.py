"""An alarm is opened once and closed once, whatever happens between, and is sent in order until it is taken."""

from __future__ import annotations

import errno
import json
import os
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from rollcall.answers.sql.engine import ask
from rollcall.answers.views.rebalance_goes_on import REBALANCING_MS
from rollcall.answers.views.view import Severity
from rollcall.answers.views.went_empty import EMPTY_MS, NEWS_MS
from rollcall.programs.errors import UserError
from rollcall.serve.alerts import queue, watching
from rollcall.serve.alerts.alarm import (
    NAME_BYTES,
    Alarm,
    AlarmsFile,
    DueMessage,
    Event,
    Sent,
    bounded,
    id_of,
    key_of,
    read_kept,
)
from rollcall.serve.alerts.kinds import BEHIND_MS
from rollcall.serve.alerts.quiet import QuietTimes
from rollcall.serve.alerts.receivers import Receiver
from rollcall.serve.alerts.sending import NotTaken
from rollcall.serve.alerts.settings import AlertSettings
from rollcall.serve.alerts.watching import GIVEN_UP_MS, Alarms
from rollcall.serve.exporter.settings import Pattern
from rollcall.serve.page.lists import TROUBLE_MS
from tests.alerts.homes import STOOD_STILL_MS, standstill, write_home
from tests.views.story import one_member, write_effects

HEADLINE = "a on 10.0.0.1, a member already, joined again: 1 -> 1 members, nobody consumed for 12 s."


class Reported(Receiver):
    """A receiver in memory, which takes what it is sent, but of the groups that it refuses."""

    taken: list[tuple[Event, str, str]]
    refused: dict[str, NotTaken]

    def __init__(self, name: str = "r", repeats_ms: int = 0, least: Severity = "info") -> None:
        super().__init__(name, self._take, repeats_ms, least)
        self.__dict__.update(taken=[], refused={})

    def _take(self, event: Event, alarm: Alarm, now_ms: int) -> str:
        if alarm.group_id in self.refused:
            raise self.refused[alarm.group_id]
        self.taken.append((event, alarm.group_id, alarm.id))
        return "200 ok"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write_home(tmp_path, [standstill("orders")])
    return tmp_path


def write_stuck(home: Path) -> None:
    """A group in which nobody holds a partition from 3 s on, for hours."""
    story = one_member(session_timeout_ms=1_800_000, rebalance_timeout_ms=60_000_000)
    story.join(3_000, "a")
    write_home(home, [story])


def drained(alarms: Alarms, now_ms: int, name: str = "r") -> None:
    while alarms.send_one(name, now_ms):
        pass


def test_an_alarm_is_opened_and_closed_once_over_restarts(home: Path) -> None:
    reported = Reported()
    for now_ms in (5_000, 6_000, STOOD_STILL_MS + TROUBLE_MS + 1, STOOD_STILL_MS + TROUBLE_MS + 9_000):
        with closing(Alarms(home, AlertSettings(), [reported])) as alarms:
            alarms.look(now_ms)
            alarms.look(now_ms)
            drained(alarms, now_ms)
    (opened, closed) = reported.taken
    assert (opened[:2], closed[:2]) == (("opened", "orders"), ("closed", "orders"))
    assert opened[2] == closed[2]
    sent = read_kept(home).sent
    assert [(one.event, one.receiver, one.answer) for one in sent] == [
        (event, "r", "200 ok") for event in ("opened", "closed")
    ]
    alarm = sent[0].alarm
    assert (alarm.sentence, alarm.severity, alarm.who) == ("nobody held a partition for 12 s", "warning", "a")
    assert alarm.why == HEADLINE
    assert alarm.link == f"http://127.0.0.1:8080/group?group=orders&at={STOOD_STILL_MS}"


def test_killed_after_it_was_kept_it_is_sent_by_the_next(home: Path) -> None:
    reported = Reported()
    with closing(Alarms(home, AlertSettings(), [reported])) as alarms:
        alarms.look(5_000)
    kept = read_kept(home)
    assert [(due.event, due.alarm.group_id) for due in kept.due] == [("opened", "orders")]
    with closing(Alarms(home, AlertSettings(), [reported])) as alarms:
        alarms.look(6_000)
        drained(alarms, 6_000)
    assert reported.taken == [("opened", "orders", kept.due[0].alarm.id)]


def test_killed_before_it_was_kept_it_is_opened_with_the_same_id(home: Path) -> None:
    ids = set()
    for now_ms in (5_000, 7_000):
        with closing(Alarms(home, AlertSettings(), [Reported()])) as alarms:
            alarms.look(now_ms)
            ids |= {alarm.id for alarm in alarms.kept.open.values()}
        (home / "alerts.json").unlink()
    assert len(ids) == 1


def test_what_is_not_taken_is_sent_again_in_order_at_longer_distances_for_a_day(home: Path) -> None:
    reported, other = Reported(), Reported("other")
    reported.refused["orders"] = NotTaken("answered 500")
    with closing(Alarms(home, AlertSettings(), [reported, other])) as alarms:
        alarms.look(5_000)
        assert alarms.send_one("r", 5_000)
        assert not alarms.send_one("r", 5_500)
        assert alarms.send_one("r", 6_000)
        assert not alarms.send_one("r", 7_500)
        drained(alarms, 7_500, "other")
        assert len(other.taken) == 1
        over_ms = STOOD_STILL_MS + TROUBLE_MS + 1
        alarms.look(over_ms)
        reported.refused.clear()
        drained(alarms, over_ms)
        assert [event for event, *_ in reported.taken] == ["opened", "closed"]


@pytest.mark.parametrize("is_final", [True, False])
def test_an_alarm_that_a_receiver_does_not_take_holds_up_no_other(tmp_path: Path, is_final: bool) -> None:
    write_home(tmp_path, [standstill(group_id) for group_id in ("a", "b", "c")])
    reported, registry = Reported(), CollectorRegistry()
    reported.refused["a"] = NotTaken("answered 400 too long", is_final=is_final)
    with closing(Alarms(tmp_path, AlertSettings(), [reported], registry=registry)) as alarms:
        alarms.look(5_000)
        for now_ms in range(5_000, 8_000, 100):
            alarms.send_one("r", now_ms)
        assert [group_id for _, group_id, _ in reported.taken] == ["b", "c"]
        assert [due.alarm.group_id for due in alarms.kept.due] == ["a"] * (not is_final)
        given_up = [one.answer for one in read_kept(tmp_path).sent if one.alarm.group_id == "a"]
        assert given_up == ["given up: answered 400 too long"] * is_final
    assert registry.get_sample_value("rollcall_alerts_refused_total", {"receiver": "r"}) == float(is_final)


def test_an_alarm_is_over_for_a_receiver_only_after_it_was_opened_there(tmp_path: Path) -> None:
    write_home(tmp_path, [standstill(group_id) for group_id in ("a", "b")])
    reported, over_ms = Reported(), STOOD_STILL_MS + TROUBLE_MS + 1
    reported.refused["a"] = NotTaken("answered 500")
    with closing(Alarms(tmp_path, AlertSettings(), [reported])) as alarms:
        for now_ms in (5_000, over_ms):
            alarms.look(now_ms)
            for later_ms in range(0, 30_000, 1_000):
                alarms.send_one("r", now_ms + later_ms)
        reported.refused.clear()
        drained(alarms, over_ms + 1_200_000)
    events = ("opened", "closed")
    assert [one[:2] for one in reported.taken] == [(event, group_id) for group_id in "ba" for event in events]


def test_what_an_earlier_version_remembered_is_read_and_closed(home: Path) -> None:
    alarm = {"id": "0123", "group_id": "gone", "kind": "storms", "since_ms": 1, "opened_ms": 2}
    alarm |= {"sentence": "s", "link": "l"}
    due = {"receiver": "left", "event": "opened", "alarm": alarm, "since_ms": 2, "next_ms": 2}
    (home / "alerts.json").write_text(json.dumps({"open": {"storms gone": alarm}, "due": [due], "sent": []}))
    reported = Reported()
    with closing(Alarms(home, AlertSettings(kinds=("storms",)), [reported])) as alarms:
        alarms.look(5_000)
        drained(alarms, 5_000)
    assert reported.taken == [("closed", "gone", "0123")]
    assert read_kept(home).due == []


LONG = "\u6f22" * 5_000
"""Half of a name that a group may have: 30 kB in UTF-8."""


def test_groups_whose_shortened_names_are_equal_have_alarms_of_their_own(tmp_path: Path) -> None:
    write_home(tmp_path, [standstill(f"{LONG}{number}{LONG}") for number in range(2)])
    reported, over_ms = Reported(), STOOD_STILL_MS + TROUBLE_MS + 1
    for now_ms in (5_000, 6_000, over_ms, over_ms + 1):
        with closing(Alarms(tmp_path, AlertSettings(), [reported])) as alarms:
            alarms.look(now_ms)
            drained(alarms, now_ms)
            links = {alarm.link for alarm in alarms.kept.open.values()}
            assert links == ({"http://127.0.0.1:8080"} if now_ms < over_ms else set())
    events = [(event, alarm_id) for event, _, alarm_id in reported.taken]
    assert [event for event, _ in events] == ["opened", "opened", "closed", "closed"]
    assert len(set(events)) == 4
    (name,) = {group_id for _, group_id, _ in reported.taken}
    assert len(name.encode()) <= NAME_BYTES
    assert name.strip("\u6f22") == "\u2026"


def test_the_alarm_of_a_long_name_that_an_earlier_version_kept_whole_stays_open(tmp_path: Path) -> None:
    write_home(tmp_path, [standstill(LONG)])
    reported = Reported()
    with closing(Alarms(tmp_path, AlertSettings(), [reported])) as alarms:
        alarms.look(5_000)
        (alarm,) = alarms.kept.open.values()
    whole = json.loads(msgspec.json.encode(alarm)) | {"group_id": LONG, "link": f"http://p/group?group={LONG}&at=1"}
    sent = {"at_ms": 1, "receiver": "r", "event": "opened", "alarm": whole, "answer": "200"}
    due = {"receiver": "r", "event": "opened", "alarm": whole, "since_ms": 1, "next_ms": 1}
    kept = {"open": {f"standstills {LONG}": whole}, "due": [due], "sent": [sent]}
    (tmp_path / "alerts.json").write_text(json.dumps(kept))
    with closing(Alarms(tmp_path, AlertSettings(), [reported])) as alarms:
        alarms.look(6_000)
        drained(alarms, 6_000)
    assert [one[0] for one in reported.taken] == ["opened"]
    (again,) = read_kept(tmp_path).open.values()
    assert (again.id, again.group_id, again.link) == (alarm.id, alarm.group_id, "http://p")
    assert (tmp_path / "alerts.json").stat().st_size < 10_000


@pytest.mark.parametrize("name", [LONG + LONG, "\x01" * 32_000, "\U000e0001" * 8_000])
def test_thousands_of_remembered_alarms_of_long_names_take_a_few_megabytes(name: str) -> None:
    kept = AlarmsFile()
    link = f"http://127.0.0.1:8080/group?{urlencode({'group': name, 'at': 1})}"
    sentence = f"{name} was removed: session expired"
    why = f"{name} on 10.0.0.7 sent no heartbeat within its session timeout (10 s) and was removed"
    one = bounded(Alarm("", name, "storms", 1_795_239_535_036, 1_795_239_535_036, sentence, link, why=why, who=name))
    for number in range(4_000):
        alarm = msgspec.structs.replace(one, id=id_of(name, "storms", number))
        if number < 1_000:
            kept.remember(Sent(number, "webhook", "opened", alarm, "200 ok"))
        elif number < 2_000:
            kept.open[key_of(f"{name}{number}", "storms")] = alarm
        else:
            kept.due.append(DueMessage("webhook", "opened", alarm, 1_795_239_535_036, 1_795_239_535_036))
    assert len(msgspec.json.encode(kept)) < 5_000_000


def test_what_cannot_be_written_is_not_sent_until_it_can(
    home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    reported = Reported()
    with closing(Alarms(home, AlertSettings(), [reported])) as alarms:
        with monkeypatch.context() as full:
            full.setattr(watching, "write_kept", raises_no_space)
            for now_ms in (5_000, 6_000, 7_000):
                alarms.look(now_ms)
                assert not alarms.send_one("r", now_ms)
        assert [record.getMessage() for record in caplog.records] == [
            f"no alarm is sent until {home / 'alerts.json'} can be written: No space left on device"
        ]
        assert reported.taken == []
        alarms.look(8_000)
        (due,) = read_kept(home).due
        drained(alarms, 8_000)
        assert reported.taken == [("opened", "orders", due.alarm.id)]


def raises_no_space(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_messages_that_too_many_others_wait_with_are_given_up_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(queue, "MOST_DUE", 2)
    write_home(tmp_path, [standstill(group_id) for group_id in ("a", "b", "c")])
    registry = CollectorRegistry()
    with closing(Alarms(tmp_path, AlertSettings(), [Reported()], registry=registry)) as alarms:
        alarms.look(5_000)
    kept = read_kept(tmp_path)
    assert [due.alarm.group_id for due in kept.due] == ["b", "c"]
    assert [(one.alarm.group_id, one.answer) for one in kept.sent] == [("a", "given up: too many others wait")]
    assert caplog.messages == ["r: 1 messages are given up: too many others wait"]
    assert registry.get_sample_value("rollcall_alerts_refused_total", {"receiver": "r"}) == 1


def test_a_home_in_which_nothing_has_happened_yet_has_no_alarms(tmp_path: Path) -> None:
    with closing(Alarms(tmp_path, AlertSettings(), [Reported()])) as alarms:
        alarms.look(5_000)
        assert alarms.kept == AlarmsFile()


def test_what_nobody_takes_is_given_up_after_a_day(home: Path) -> None:
    reported = Reported()
    reported.refused["orders"] = NotTaken("answered 500")
    with closing(Alarms(home, AlertSettings(), [reported])) as alarms:
        alarms.look(5_000)
        assert alarms.send_one("r", 5_000 + GIVEN_UP_MS)
    kept = read_kept(home)
    assert (kept.due, kept.sent[0].answer) == ([], "given up: answered 500")


def test_patterns_and_kinds_choose(home: Path) -> None:
    for settings in (AlertSettings(groups=Pattern("pay.*")), AlertSettings(kinds=("storms",))):
        with closing(Alarms(home, settings, [Reported()])) as alarms:
            alarms.look(5_000)
            assert alarms.kept == AlarmsFile()


def test_more_alarms_than_a_minute_may_open_are_opened_in_the_next_ones_which_an_alarm_says(tmp_path: Path) -> None:
    write_home(tmp_path, [standstill(f"g{number}") for number in range(5)])
    reported = Reported()
    with closing(Alarms(tmp_path, AlertSettings(opened_per_minute=2), [reported])) as alarms:
        counts, said = [], []
        for now_ms in (5_000, 6_000, 65_000, 125_000):
            alarms.look(now_ms)
            drained(alarms, now_ms)
            counts.append(sum(1 for alarm in alarms.kept.open.values() if alarm.group_id))
            said += [one for one in alarms.kept.sent if one.alarm.kind == "alarms_left_out" and one.at_ms == now_ms]
    assert counts == [2, 2, 4, 5]
    assert [one.event for one in said] == ["opened", "closed"]
    assert said[0].alarm.sentence == (
        "3 alarms more than the 2 that a minute may have wait for the next ones: 3 standstills"
    )
    assert len(reported.taken) == 5 + 2


def test_a_receiver_is_sent_what_is_severe_enough_for_it(home: Path) -> None:
    some, every = Reported("some", least="critical"), Reported()
    with closing(Alarms(home, AlertSettings(), [some, every])) as alarms:
        alarms.look(5_000)
        assert [due.receiver for due in alarms.kept.due] == ["r"]


def test_in_quiet_times_only_what_is_severe_is_opened_and_the_rest_if_it_lasts(tmp_path: Path) -> None:
    write_stuck(tmp_path)
    kinds = ("standstills",)
    quiet = AlertSettings(quiet=QuietTimes.from_text("00:00-00:10"), kinds=kinds)
    with closing(Alarms(tmp_path, quiet, [Reported()])) as alarms:
        alarms.look(60_000)
        assert alarms.kept.open == {}
        alarms.look(600_000)
        assert [alarm.opened_ms for alarm in alarms.kept.open.values()] == [600_000]
    (tmp_path / "alerts.json").unlink()
    severe = AlertSettings(quiet=QuietTimes.from_text("00:00-00:10"), kinds=kinds, quiet_severity="warning")
    with closing(Alarms(tmp_path, severe, [Reported()])) as alarms:
        alarms.look(60_000)
        assert len(alarms.kept.open) == 1


# ---------------------------------------------------------------- one incident, one alarm


def test_what_a_groups_alarm_covers_is_reported_only_where_it_outlasts_it(tmp_path: Path) -> None:
    """The near miss was before the standstill, which goes on."""
    story = one_member(session_timeout_ms=20_000, rebalance_timeout_ms=60_000_000)
    story.heartbeat(19_500, "a")
    story.join(20_000, "a")
    write_home(tmp_path, [story])
    with closing(Alarms(tmp_path, AlertSettings(kinds=("near_misses", "standstills")), [Reported()])) as alarms:
        alarms.look(32_000)
        assert [alarm.kind for alarm in alarms.kept.open.values()] == ["standstills"]
        assert len(alarms.kept.covered) == 1
    with closing(Alarms(tmp_path, AlertSettings(kinds=("near_misses",)), [Reported()])) as alarms:
        alarms.look(33_000)
        # The standstill is no kind of these settings, so its alarm is over; the near miss was reported with it.
        assert alarms.kept.open == {}


def test_what_is_more_severe_than_a_groups_alarm_is_reported_beside_it(tmp_path: Path) -> None:
    write_stuck(tmp_path)
    with closing(Alarms(tmp_path, AlertSettings(), [Reported()])) as alarms:
        alarms.look(15_000)
        assert [alarm.kind for alarm in alarms.kept.open.values()] == ["standstills"]
        alarms.look(3_100 + REBALANCING_MS)
        reported = {alarm.kind: alarm for alarm in alarms.kept.open.values()}
    assert reported.keys() == {"standstills", "rebalance_goes_on"}
    assert reported["rebalance_goes_on"].severity == "critical"
    assert reported["rebalance_goes_on"].sentence.startswith("rebalancing for 6 min")


# ---------------------------------------------------------------- groups and jobs that do nothing


def test_a_group_that_went_empty_is_reported_after_a_while_and_once(tmp_path: Path) -> None:
    story = one_member()
    story.leave(3_000, "a", "the consumer is being closed")
    write_home(tmp_path, [story])
    kinds = ("went_empty",)
    with closing(Alarms(tmp_path, AlertSettings(kinds=kinds), [Reported()])) as alarms:
        alarms.look(2_900 + EMPTY_MS)
        assert alarms.kept.open == {}
        alarms.look(3_000 + EMPTY_MS)
        (alarm,) = alarms.kept.open.values()
    assert (alarm.severity, alarm.since_ms, alarm.sentence) == ("critical", 3_000, "no member for 5 min")
    assert "a on 10.0.0.1 left the group: 1 -> 0 members" in alarm.why
    assert alarm.who == "a"
    seen = len(story.rows)
    story.join(3_100 + EMPTY_MS, "b")
    story.sync(3_200 + EMPTY_MS, "b", {"b": ["t-0"]})
    write_effects(tmp_path, {"orders": story.rows[seen:]})
    with closing(Alarms(tmp_path, AlertSettings(), [Reported()])) as alarms:
        alarms.look(4_000 + EMPTY_MS)
        assert [alarm.kind for alarm in alarms.kept.open.values()] == ["went_empty"], "the standstill belongs to it"
        alarms.look(3_200 + EMPTY_MS + TROUBLE_MS + 1)
        assert alarms.kept.open == {}


def test_a_group_that_has_been_empty_for_long_when_it_is_looked_at_first_is_no_news(tmp_path: Path) -> None:
    story = one_member()
    story.leave(3_000, "a")
    write_home(tmp_path, [story])
    with closing(Alarms(tmp_path, AlertSettings(kinds=("went_empty",)), [Reported()])) as alarms:
        alarms.look(3_000 + NEWS_MS)
        assert alarms.kept.open == {}


@pytest.mark.parametrize(
    ("status", "says"),
    [
        ({"state": "running", "process": 0}, "is behind: its last batch was done 2 min ago"),
        ({"state": "running", "process": 2**22 + 1}, "is gone without a status; its last batch was done 2 min ago"),
        ({"state": "failed", "process": 2**22 + 1, "reason": "no disk"}, "failed (no disk); its last batch was done"),
        ({"state": "stopped", "process": 2**22 + 1}, None),
        # At rest it moves the time of change of its status.
        ({"state": "running", "process": 0, "rests_until_ms": 1}, None),
    ],
)
def test_a_job_that_does_nothing_is_reported(home: Path, status: dict[str, Any], says: str | None) -> None:
    now_ms = 100_000_000
    if status["process"] == 0:
        status["process"] = os.getpid()
    (home / "status.json").write_text(json.dumps(status | {"started_at_ms": 1, "batch_at_ms": now_ms - BEHIND_MS}))
    with closing(Alarms(home, AlertSettings(groups_excluded=Pattern("orders")), [Reported()])) as alarms:
        alarms.look(now_ms - 1)
        assert alarms.kept.open == {}
        alarms.look(now_ms)
        alarms.look(now_ms + 1_000)
        sentences = [alarm.sentence for alarm in alarms.kept.open.values()]
        assert sentences == [] if says is None else (len(sentences) == 1 and says in sentences[0])
        if says is not None:
            (home / "status.json").write_text(json.dumps(status | {"batch_at_ms": now_ms, "state": "running"}))
            alarms.look(now_ms + 2_000)
            assert alarms.kept.open == {}


# ---------------------------------------------------------------- the table of what was sent


def test_what_was_sent_stands_in_the_view_once_whenever_it_was_killed(home: Path) -> None:
    over_ms = STOOD_STILL_MS + TROUBLE_MS + 1
    for now_ms in (5_000, over_ms, over_ms + 1):
        with closing(Alarms(home, AlertSettings(), [Reported()])) as alarms:
            alarms.look(now_ms)
            drained(alarms, now_ms)
    with closing(Alarms(home, AlertSettings(), [Reported()])) as alarms:
        alarms.look(over_ms + 2)
    answer = ask(home, "SELECT event, receiver, group_id, kind, severity, at, since_at FROM alerts ORDER BY at")
    assert [row[:5] for row in answer.rows] == [
        (event, "r", "orders", "standstills", "warning") for event in ("opened", "closed")
    ]


def test_alertmanager_hears_each_hour_that_an_alarm_goes_on(tmp_path: Path) -> None:
    write_stuck(tmp_path)
    reported = Reported(repeats_ms=3_600_000)
    with closing(Alarms(tmp_path, AlertSettings(kinds=("standstills",)), [reported])) as alarms:
        for now_ms in (15_000, 1_000_000, 3_615_000, 3_700_000):
            alarms.look(now_ms)
            drained(alarms, now_ms)
    assert [event for event, *_ in reported.taken] == ["opened", "goes_on"]


def test_two_processes_do_not_send_one_homes_alarms(home: Path) -> None:
    with (
        closing(Alarms(home, AlertSettings(), [Reported()])),
        pytest.raises(UserError, match="another process sends its alarms already"),
    ):
        Alarms(home, AlertSettings(), [Reported()])


def test_a_home_that_cannot_be_written_is_refused_in_a_sentence(home: Path) -> None:
    (home / "alerts.lock").mkdir()
    with pytest.raises(UserError, match=r"alarms cannot be remembered there: Is a directory\.$"):
        Alarms(home, AlertSettings(), [Reported()])
