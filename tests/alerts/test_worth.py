"""Alarms are worth one: at most one for each incident of the recorded ones, none for an hour in which all is healthy.

docs/alarms.md shows which alarms each recorded incident gives, as it is found here.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from rollcall.serve.alerts.settings import AlertSettings
from rollcall.serve.alerts.watching import Alarms
from rollcall.serve.page import lists
from rollcall.serve.page.history import History
from tests.alerts import healthy
from tests.alerts.homes import works
from tests.alerts.watched import alarms_in
from tests.lag.homes import write_capture
from tests.request_log.truth import NAMES
from tests.source_tree import ROOT
from tests.views.story import write_effects
from tests.why.reading import capture

DOCS = ROOT / "docs" / "alarms.md"
_ROW = re.compile(r"^\| `([\w-]+)` \| (.*) \| (.*) \|$", re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_each_incident_gives_the_alarms_that_the_docs_show(name: str, tmp_path: Path) -> None:
    found = alarms_in(tmp_path / "home", capture(name))
    groups = Counter(alarm.group_id for alarm in found)
    assert set(groups.values()) <= {1}, "an incident of a group is reported once"
    shown = {row[0]: row[1:] for row in _ROW.findall(DOCS.read_text())}
    kinds = sorted(Counter(alarm.kind for alarm in found).items())
    reported = ", ".join(f"{kind} of {number} group{'s' * (number > 1)}" for kind, number in kinds) or "none"
    title = json.loads((ROOT / "tests" / "captures" / name / "truth.json").read_text())["title"]
    assert shown[name] == (title, reported)


def test_the_replay_of_the_docs_gives_its_alarms_at_any_time(tmp_path: Path) -> None:
    write_effects(tmp_path, capture("d-kill"))
    with closing(Alarms(tmp_path, AlertSettings(), [])) as alarms:
        alarms.look(round(time.time() * 1000))
        reported = {alarm.group_id: alarm for alarm in alarms.kept.open.values()}
    assert reported.keys() == {"audit-trail", "clicks-agg", "views-agg"}
    assert reported["clicks-agg"].why.startswith(
        "clicks-agg-1 on 127.0.1.15 sent no heartbeat within its session timeout (10 s)"
    )
    assert reported["clicks-agg"].link.startswith("http://127.0.0.1:8080/group?group=clicks-agg&at=1795239")


def test_where_lag_is_known_an_alarm_says_what_it_cost(tmp_path: Path) -> None:
    write_capture(tmp_path)
    with closing(Alarms(tmp_path, AlertSettings(kinds=("members_removed", "held_not_moving")), [])) as alarms:
        alarms.look(round(time.time() * 1000))
        reported = {alarm.group_id: alarm for alarm in alarms.kept.open.values()}
    assert reported["clicks-live"].cost.startswith(
        "2707 records waited longer: the group was 325 records behind before"
    )
    assert reported["clicks-live"].who == "clicks-live-1"
    assert reported["trades-book"].who == "trades-book-1"
    assert reported["trades-book"].cost == "the group is 188 records behind, the oldest of them is 2.002 s old"
    assert reported["trades-book"].why == ""


def test_a_quiet_hour_of_a_thousand_healthy_groups_gives_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    half_ms = healthy.HOUR_MS // 2
    # What was over within the half hour that is looked back on is found, too.
    monkeypatch.setattr(lists, "TROUBLE_MS", half_ms)
    rebalances: list[dict[str, object]] = []
    history = History(tmp_path)
    with closing(history):
        for from_ms in (0, half_ms):
            healthy.write_until(tmp_path, from_ms, from_ms + half_ms)
            works(tmp_path, from_ms + half_ms)
            for kept in history._kept:
                kept.rests_until = 0.0
            history.refresh()
            if not history.is_ready:
                history.make_lists()
            with closing(Alarms(tmp_path, AlertSettings(), [], history)) as alarms:
                alarms.look(from_ms + half_ms)
                assert list(alarms.kept.open.values()) == []
        rebalances = history.all("SELECT group_id, cause, count(*) AS n FROM all_rebalances GROUP BY ALL")
        assert history.all("SELECT count(*) AS n FROM all_groups") == [{"n": healthy.GROUPS}]
    by_kind = Counter(str(row["group_id"]).rsplit(" ", 2)[0] for row in rebalances)
    assert set(by_kind) == set(healthy.KINDS), "all of them rebalanced"
