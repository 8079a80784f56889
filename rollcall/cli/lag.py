"""`rollcall lag [GROUP] [--watch]`: how far behind groups are, by partition, in the columns of Kafka's own tool.

    from rollcall.cli.lag import lag_of
    lag_of(Home(".rollcall"), "orders")          a row for each partition, by column

Knows how the question is asked and printed. Must not know how lag is computed (`rollcall.answers.views.lag`).
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TextIO

from rollcall.answers.moments import Moments
from rollcall.answers.no_such_group import NoSuchGroup
from rollcall.answers.sql.engine import ask
from rollcall.answers.views.lag import TREND_MS
from rollcall.answers.views.records_lost import lost_in_all, with_all_lost
from rollcall.history.words import at_most, moment, ms_of, second
from rollcall.jobs.group_facts import GroupFacts
from rollcall.programs.columns import aligned
from rollcall.programs.terminal import Terminal, width_of
from rollcall.programs.visible import visible, visible_json
from rollcall.tables.duck_database import quoted
from rollcall.tables.home import Home

WATCH_S = 5
_COLUMNS = [
    *("group_id", "topic", "partition", "committed_offset", "end_offset", "lag_records", "lag_ms", "records_lost"),
    *("is_moving", "member_id", "client_host", "client_id", "fetched_offset", "log_start_offset", "end_known_at"),
    *("caught_up_at", "is_upper_bound"),
]
_SHOWN = (
    ("GROUP", "group_id"),
    ("TOPIC", "topic"),
    ("PARTITION", "partition"),
    ("CURRENT-OFFSET", "committed_offset"),
    ("LOG-END-OFFSET", "end_offset"),
    ("LAG", "lag_records"),
    ("TIME-LAG", "lag_ms"),
    ("TREND", "trend_records"),
    ("CONSUMER-ID", "member_id"),
    ("HOST", "client_host"),
    ("CLIENT-ID", "client_id"),
    ("LOST", "records_lost"),
    ("KNOWN-AT", "end_known_at"),
)
_TEXTS = {"group_id", "topic", "member_id", "client_host", "client_id", "end_known_at"}


def lag_of(home: Home, group_id: str = "", until_ms: int | None = None) -> list[dict[str, Any]]:
    """The lag of a group (empty: of all groups) at until_ms, None: now.

    A row's keys: those of the view `lag`, where records_lost counts all that were lost so far, also before the latest
    commit, and trend_records: by how much lag_records grew in the minute before the latest known end; None if the lag
    is or was not known, or one of the two is an upper bound, or the partition's end has no news since.

    Raises HomeError.
    """
    with home.read_here() as here:
        rows = _asked(here, group_id, until_ms)
        known = [row["end_known_at"] for row in rows if row["end_known_at"] is not None]
        if not known:
            return [{**row, "trend_records": None} for row in rows]
        before = _asked(here, group_id, ms_of(max(known)) - TREND_MS)
        with_all_lost(rows, _lost(here, group_id, until_ms))
    then = {_key(row): row for row in before}
    return [{**row, "trend_records": _trend(row, then.get(_key(row)))} for row in rows]


def _asked(here: Home, group_id: str, until_ms: int | None) -> list[dict[str, Any]]:
    order = "topic, partition" if group_id else "lag_records desc nulls last, group_id, topic, partition"
    query = f"select {', '.join(_COLUMNS)} from lag where {_of_group(group_id)} order by {order}"
    return ask(here.path, query, until_ms, is_duckdbs=True).rows_by_column()


def _lost(here: Home, group_id: str, until_ms: int | None) -> list[dict[str, Any]]:
    """What each partition lost so far. It takes all commits ever made, so only logs that were cut are asked about."""
    cut = ask(here.path, "select distinct topic from log_ends where log_start_offset > 0", until_ms, is_duckdbs=True)
    topics = ", ".join(f"'{quoted(topic)}'" for (topic,) in cut.rows)
    if not topics:
        return []
    query = lost_in_all("records_lost", f"topic IN ({topics}) AND {_of_group(group_id)}")
    return ask(here.path, query, until_ms, is_duckdbs=True).rows_by_column()


def _of_group(group_id: str) -> str:
    return f"group_id = '{quoted(group_id)}'" if group_id else "true"


def answer_lag(home: Home, group_id: str, at: str, form: str, *, watches: bool, out: TextIO | None = None) -> None:
    """Prints the lag of a group, or of all. watches: again and again, until Ctrl-C.

    Raises, in this order: MomentError; HomeError; NoSuchGroup.
    """
    out = sys.stdout if out is None else out
    moments = Moments(home)
    asked = moments.read(at) if at else None
    until_ms = None if asked is None else asked.from_ms
    while True:
        rows = lag_of(home, group_id, until_ms)
        if not rows and group_id:
            with home.read_here() as here:
                GroupFacts(here, group_id)  # Raises NoSuchGroup, naming the groups there are.
            where = f"{home.shown} knows of no partition that group {group_id}"
            then = "owns or has committed" if until_ms is None else f"owned or had committed at {moment(until_ms)} UTC"
            raise NoSuchGroup(f"{where} {then}.")
        if watches and out.isatty():
            out.write("\x1b[H\x1b[2J")
        where = "" if asked is None or form == "json" else moments.outside(asked)
        if asked is not None and where:
            out.write(f"{asked.shown} is {where}.\n")
        _write(rows, form, out)
        out.flush()
        if not watches:
            return
        time.sleep(WATCH_S)


def _write(rows: Sequence[dict[str, Any]], form: str, out: TextIO) -> None:
    if form == "json":
        for row in rows:
            out.write(visible_json(json.dumps(row, default=_iso)) + "\n")
        return
    if rows and all(row["end_offset"] is None for row in rows):
        out.write("Where these logs end is not known: no FETCH or LIST_OFFSETS line and no broker's answer says it.\n")
    table = [[title for title, _ in _SHOWN], *([_text(name, row) for _, name in _SHOWN] for row in rows)]
    numbers = [place for place, (_, name) in enumerate(_SHOWN) if name not in _TEXTS]
    for line in aligned(table, width_of(Terminal(file=out)), gap="  ", numbers=numbers):
        out.write(line + "\n")


def _text(name: str, row: Mapping[str, Any]) -> str:
    """A value as people read it; an unknown one is a dash, as in Kafka's tool."""
    value = row[name]
    match name:
        case _ if value is None:
            return "-"
        case "lag_records":
            return at_most(str(value), row["is_upper_bound"])
        case "lag_ms":
            return f"{value / 1000:.1f}s"
        case "trend_records":
            return f"{value:+d}"
        case "end_known_at":
            return second(value)
        case _:
            return visible(str(value))


def _iso(value: Any) -> str:
    assert isinstance(value, datetime)
    return f"{value.isoformat(timespec='milliseconds')}Z"


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["group_id"], row["topic"], row["partition"]


def _known(row: Mapping[str, Any]) -> int | None:
    """A row's lag, None: it is not known, or it is an upper bound."""
    return None if row["is_upper_bound"] else row["lag_records"]


def _trend(row: Mapping[str, Any], then: Mapping[str, Any] | None) -> int | None:
    lag, lag_then = _known(row), None if then is None else _known(then)
    if then is None or lag is None or lag_then is None or row["end_known_at"] <= then["end_known_at"]:
        return None
    return lag - lag_then
