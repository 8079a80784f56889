"""The trouble that there is now, which alarms are of: what views find, and a job that does nothing.

Knows the page's lists, and what a job says of itself; must not know an alarm.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal, NamedTuple

from rollcall.answers.views.view import Detector, Severity, View
from rollcall.history.words import duration, filled, ms_of
from rollcall.serve.alerts.alarm import id_of
from rollcall.serve.alerts.kind_names import JOB_BEHIND, KINDS, LEFT_OUT
from rollcall.serve.alerts.settings import AlertSettings
from rollcall.serve.exporter.settings import chosen_groups
from rollcall.serve.page.history import History
from rollcall.serve.page.lists import detectors, troubles_now
from rollcall.serve.page.live import Liveness, liveness_of

BEHIND_MS = 120_000
"""So long a job may do nothing."""


class Found(NamedTuple):
    """A trouble that is there now. Times in ms since the epoch."""

    group_id: str
    """Empty: it is of the home's job, or of alarms themselves."""
    kind: str
    since_ms: int
    until_ms: int
    is_ongoing: bool
    sentence: str
    is_news: bool = True
    who: str = ""
    """The client that it is about, where what was found says so."""
    rebalance: Literal["first", "latest"] | None = "first"
    """Which one is part of it: see `rollcall.answers.views.view.Detector`."""

    @property
    def severity(self) -> Severity:
        return KINDS[self.kind]

    @property
    def id(self) -> str:
        return id_of(self.group_id, self.kind, self.since_ms)


def found_in(history: History, settings: AlertSettings, now_ms: int) -> Iterator[Found]:
    """The trouble of each kind that each group has now. Raises OSError, duckdb.Error: the home cannot be read.

    Where the home's job does nothing any more, groups are as they were at the last fact: nobody knows what became of
    them since.
    """
    live = liveness_of(history)
    as_of_ms = _known_until_ms(history, live, now_ms)
    wanted = settings.kinds or [name for name, severity in KINDS.items() if severity != "info"]
    condition, patterns = chosen_groups(settings.groups, settings.groups_excluded)
    for view, kind in detectors():
        if view.name in wanted:
            yield from _by_detector(history, view, kind, condition, patterns, as_of_ms)
    if JOB_BEHIND in wanted:
        yield from _of_the_job(live, now_ms)


def _known_until_ms(history: History, live: Liveness, now_ms: int) -> int:
    if live.job.state == "running" and now_ms - (live.last_at_ms or 0) < BEHIND_MS:
        return now_ms
    span = history.span_ms()
    return now_ms if span is None else min(span[1], now_ms)


def _by_detector(
    history: History, view: View, kind: Detector, condition: str, patterns: list[str], now_ms: int
) -> Iterator[Found]:
    """Yield one trouble per group for all its rows of a detector: the first row's sentence and the number of others.

    What happened comes before what is only expected, which is counted separately.
    """
    known = "(SELECT coalesce(created_at, found_at) FROM all_groups g WHERE g.group_id = found.group_id)"
    sql = (
        f"SELECT *, coalesce({kind.since}, {known}, {kind.until}) AS known_since "
        f"FROM {troubles_now(view, kind, now_ms)} AS found WHERE {condition} AND ({kind.worth_an_alarm}) "
        "ORDER BY group_id"
    )
    for group_id, each in groupby(history.all(sql, patterns), itemgetter("group_id")):
        rows = sorted(each, key=lambda row: (_is_expected(row), row["known_since"], filled(kind.sentence, row)))
        first, *others = rows
        expected = 0 if _is_expected(first) else sum(map(_is_expected, others))
        alike = len(others) - expected
        sentence = filled(kind.sentence, first) + (f"; {alike} more like it" if alike else "")
        sentence += f"; {filled(kind.more_expected, {'n': expected})}" if expected else ""
        until_ms = ms_of(max(row[kind.until] for row in rows))
        is_ongoing = any(row["is_ongoing"] for row in rows)
        since_ms = ms_of(min(row["known_since"] for row in rows))
        who = first.get("client_id") or first.get("cause_client_id") or ""
        is_news = any(row["is_news"] for row in rows)
        yield Found(group_id, view.name, since_ms, until_ms, is_ongoing, sentence, is_news, who, kind.rebalance)


def _is_expected(row: Mapping[str, Any]) -> bool:
    return row.get("expected_at") is not None


def _of_the_job(live: Liveness, now_ms: int) -> Iterator[Found]:
    """The coordinator or shadow that writes the home, if it was not stopped and has done nothing for a while."""
    if live.job.state not in ("running", "failed") or live.last_at_ms is None:
        return
    if now_ms - live.last_at_ms < BEHIND_MS:
        return
    last = f"its last batch was done {duration(now_ms - live.last_at_ms)} ago"
    sentence = f"the job that writes this history is behind: {last}"
    if live.job.reason is not None:
        sentence = f"the job that writes this history failed ({live.job.reason}); {last}"
    elif not live.is_live:
        sentence = f"the job that writes this history is gone without a status; {last}"
    yield Found("", JOB_BEHIND, live.last_at_ms, now_ms, True, sentence)


def left_out(waiting: list[Found], per_minute: int, now_ms: int) -> Found:
    """What is reported of alarms that are more than a minute may have."""
    counts: dict[str, int] = {}
    for one in waiting:
        counts[one.kind] = counts.get(one.kind, 0) + 1
    kinds = ", ".join(f"{number} {kind}" for kind, number in counts.items())
    sentence = (
        f"{len(waiting)} alarms more than the {per_minute} that a minute may have wait for the next ones: {kinds}"
    )
    return Found("", LEFT_OUT, now_ms, now_ms, True, sentence)
