"""Who is in trouble of which kind is the same for page, `rollcall status`, alarms, SQL and exporter."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from starlette.testclient import TestClient

from rollcall.answers.moments import Moments
from rollcall.answers.sql.engine import ask
from rollcall.answers.views.catalog import DETECTORS
from rollcall.answers.views.rebalance_goes_on import REBALANCING_MS
from rollcall.answers.views.went_empty import EMPTY_MS, NEWS_MS
from rollcall.cli.lag import lag_of
from rollcall.cli.status import status_of
from rollcall.history.words import moment
from rollcall.serve.alerts.kind_names import KINDS
from rollcall.serve.alerts.kinds import found_in
from rollcall.serve.alerts.settings import AlertSettings
from rollcall.serve.exporter import figures
from rollcall.serve.page import lists
from rollcall.serve.page.history import History
from rollcall.serve.page.live import liveness_of
from rollcall.serve.page.live import now_ms as live_now_ms
from rollcall.tables.home import Home
from rollcall.tables.lag.rows import LagRows
from rollcall.tables.lag_rows import append_lag
from tests.exporter.scraped import exported
from tests.lag.homes import ends, write_capture
from tests.page.asking import asked, page
from tests.page.homes import recorded
from tests.views.story import write_effects
from tests.views.troubles import MINUTE_MS, PATIENT, with_members
from tests.views.view_rows import rows_of

Troubles = set[tuple[str, str, bool]]
"""(group, kind, whether it goes on)."""
HOUR_MS = 60 * MINUTE_MS


def live(home: Path) -> None:
    """A job works; one group hangs in a rebalance, one was emptied, one was given up, and one is well."""
    now_ms = int(time.time() * 1000)
    hangs = with_members("hangs", "a", "b", at_ms=now_ms - 2 * REBALANCING_MS, **PATIENT)
    hangs.join(now_ms - REBALANCING_MS - 2000, "b", **PATIENT, topics=("t", "u"))
    hangs.join(now_ms - REBALANCING_MS - 1000, "a", **PATIENT)
    calm = with_members("calm", "a", "b", at_ms=now_ms - MINUTE_MS, **PATIENT)
    emptied, given_up = (
        with_members(name, "a", at_ms=now_ms - ago_ms - MINUTE_MS, **PATIENT)
        for name, ago_ms in (("emptied", EMPTY_MS), ("given up", NEWS_MS))
    )
    emptied.leave(now_ms - EMPTY_MS, "a")
    given_up.leave(now_ms - NEWS_MS, "a")
    write_effects(home, {story.group_id: story.rows for story in (hangs, emptied, given_up, calm)})
    append_lag(home, LagRows(ends((now_ms - MINUTE_MS, 0))))
    status = {"state": "running", "process": os.getpid(), "started_at_ms": 1, "batch_at_ms": now_ms + HOUR_MS}
    (home / "status.json").write_text(json.dumps(status))
    (home / "lock").write_text(f"the coordinator (process {os.getpid()})\n")


def by_sql(home: Path, now_ms: int, more: str) -> Troubles:
    """What the detectors' views have, of the last hour. more: a detector's further condition, by its name."""
    found: Troubles = set()
    for view, kind in lists.detectors():
        table = lists.as_of(view, kind, now_ms).replace("all_", "")
        condition = (
            f"({kind.worth_telling}) AND ({getattr(kind, more)}) AND epoch_ms({kind.until}) > {now_ms - HOUR_MS}"
        )
        sql = f"SELECT group_id, bool_or(is_ongoing) FROM {table} WHERE {condition} GROUP BY group_id"
        found |= {(group_id, view.name, is_ongoing) for group_id, is_ongoing in ask(home, sql, is_duckdbs=True).rows}
    return found


def without_figures(text: str) -> str:
    """Without durations, which grow while it is asked."""
    return re.sub(r"[\d.]+", "0", text)


def by_page(client: TestClient) -> Troubles:
    shown = page(client, "/troubles")
    rows = {(row["Group"], name, row["What"]) for name in DETECTORS for row in shown.listed(f"list-{name}")}
    for group_id, _, said in rows:
        of_group = page(client, f"/group?{urlencode({'group': group_id})}").text
        assert without_figures(said.removesuffix("; ongoing")) in without_figures(of_group)
    return {
        (group_id, name, any(ongoing.endswith("; ongoing") for *of, ongoing in rows if of == [group_id, name]))
        for group_id, name, _ in rows
    }


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(write_capture, id="t-lag"),
        *(pytest.param(partial(recorded, name=name), id=name) for name in ("d-kill", "n-classic-mixed")),
        pytest.param(live, id="live"),
    ],
)
def test_all_who_are_asked_name_the_same_groups_and_kinds(
    write: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path)
    Home(tmp_path).write_note({"kind": "live"})
    # All are asked of the last hour, of which alarms and figures have only the end otherwise.
    for module in (lists, figures):
        monkeypatch.setattr(module, "TROUBLE_MS", HOUR_MS)
    history = History(tmp_path)
    with closing(history):
        history.refresh()
        history.make_lists()
        now_ms = live_now_ms(history, liveness_of(history))
        settings = AlertSettings(kinds=tuple(DETECTORS))
        alarms = {
            (one.group_id, one.kind, one.is_ongoing) for one in found_in(history, settings, now_ms) if one.is_news
        }
    present = {row.group_id for row in rows_of(tmp_path, "groups")}
    told = {one for one in by_sql(tmp_path, now_ms, "is_news") if one[0] in present}
    of_sql = {one for one in by_sql(tmp_path, now_ms, "worth_an_alarm") if one in told}
    harmful = {(group_id, kind, is_ongoing) for group_id, kind, is_ongoing in told if KINDS[kind] != "info"}
    with asked(tmp_path) as client:
        assert by_page(client) == by_sql(tmp_path, now_ms, "worth_telling")
        shown = page(client, "/")
    assert told, "there is trouble"
    assert alarms == of_sql
    status = status_of(Home(tmp_path))
    assert set(status["in_trouble"]) == {group_id for group_id, *_ in harmful}
    count, _, named = status["troubles"].rstrip(".").partition(": ")
    for said in (count, *named.split("; ")):
        assert without_figures(said) in without_figures(shown.text)
    exported_kinds = {labels for labels, number in exported(tmp_path)["rollcall_troubles"].items() if number}
    assert exported_kinds == {(group_id, kind) for group_id, kind, _ in told}
    lost = {row["group_id"] for row in lag_of(Home(tmp_path)) if row["records_lost"]}
    assert lost == {row.group_id for row in rows_of(tmp_path, "records_lost") if row.records_lost}


def test_lag_counts_the_records_that_were_lost_up_to_a_moment_as_the_page_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The page counts those too that it does not list.
    monkeypatch.setattr(lists, "SHOWN_TROUBLES", 1)
    write_capture(tmp_path)
    found = [row for row in rows_of(tmp_path, "records_lost") if row.records_lost]
    for moment_ms in sorted({row.to_at - 1 for row in found}):
        lost = {
            (row["group_id"], row["partition"]) for row in lag_of(Home(tmp_path), "", moment_ms) if row["records_lost"]
        }
        assert lost == {(row.group_id, row.partition) for row in found if row.from_at <= moment_ms}
    in_all = {row["partition"]: row["records_lost"] for row in lag_of(Home(tmp_path), "metrics-rollup")}
    with asked(tmp_path) as client:
        shown = page(client, "/group?group=metrics-rollup").listed("offsets")
    assert in_all == {int(row["Partition"]): int(row["Lost"] or 0) for row in shown}


def test_page_and_commands_say_alike_where_a_moment_outside_the_history_is(tmp_path: Path) -> None:
    """A history ends with what is known last, be it a fact or the end of a log."""
    story = with_members("g", "a", at_ms=1000, **PATIENT)
    append_lag(tmp_path, LagRows(ends((90_000, 0))))
    write_effects(tmp_path, {"g": story.rows})
    first_ms, last_ms = 1000, 90_000
    with asked(tmp_path) as client:
        for at_ms in (0, first_ms - 1, first_ms, 60_000, last_ms, last_ms + 1):
            moments = Moments(Home(tmp_path))
            where = moments.outside(moments.read(moment(at_ms)))
            assert where[:6] == "before" * (at_ms < first_ms) + "after " * (at_ms > last_ms)
            text = " ".join(page(client, f"/?at={quote(moment(at_ms))}").text.split())
            assert f"as it was at {moment(at_ms)} UTC{where and ', '}{where}." in re.sub("</?time[^>]*>", "", text)


def test_who_hangs_or_is_empty_is_in_trouble_and_who_was_given_up_no_longer(tmp_path: Path) -> None:
    live(tmp_path)
    Home(tmp_path).write_note({"kind": "live"})
    status = status_of(Home(tmp_path))
    assert set(status["in_trouble"]) == {"hangs", "emptied"}
    assert "2 of 4 groups had trouble in the last hour: " in status["troubles"]
    assert re.search(
        r"hangs: rebalancing for 6 min .* \(CompletingRebalance\), since \d\d:\d\d:\d\d UTC", status["troubles"]
    )
    assert re.search(r"emptied: no member for 5 min.*, since \d\d:\d\d:\d\d UTC", status["troubles"])
    listed = {(row.group_id, row.to_at) for row in rows_of(tmp_path, "went_empty")}
    assert listed == {("emptied", None), ("given up", None)}
