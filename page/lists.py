"""What the overview and the page of troubles list: every group, every rebalance over time, every trouble found.

Knows the lists that `page.history` keeps ready. Must not know a template or an address.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from page.history import History, ms_of, timestamp
from views.catalog import VIEWS
from why.words import count, duration

HOUR_MS = 3_600_000
RECENT_MS = 24 * HOUR_MS
"""The overview names a group's troubles of so long."""
SHOWN_TROUBLES = 200
"""So many of each kind are listed, the latest first."""
STRIP_BINS = 240
"""Into so many equal times the strip of rebalances is parted."""


@dataclass(frozen=True)
class Detector:
    """A kind of trouble: the view that finds it, and its name."""

    view: str
    name: str
    since: str = "from_at"
    """The column that says when it began."""
    worth_telling: str = "true"
    """Which of them the overview counts, as a condition."""

    @property
    def rule(self) -> str:
        return next(view.rule for view in VIEWS if view.name == self.view)


DETECTORS = (
    Detector("storms", "storm"),
    Detector("flapping_members", "flapping member"),
    Detector("leader_only_loops", "leader-only loop"),
    Detector("near_misses", "near miss"),
    Detector("deploys", "deploy"),
    Detector("double_owners", "double owner", "given_at"),
    # Every rebalance of an eager group has one of some milliseconds.
    Detector("standstills", "standstill", worth_telling="duration_ms >= 1000"),
)

_OVERVIEW = """
WITH span AS (SELECT make_timestamp(?::BIGINT * 1000) AS from_at, make_timestamp(?::BIGINT * 1000) AS to_at),
hour AS (SELECT make_timestamp((?::BIGINT - 3600000) * 1000) AS from_at, make_timestamp(?::BIGINT * 1000) AS to_at),
rebalanced AS (
  SELECT group_id, count_if(known_from > hour.from_at) AS in_hour,
    count_if(known_from BETWEEN span.from_at AND span.to_at) AS in_span
  FROM all_rebalances, hour, span GROUP BY group_id
), stood AS (
  SELECT group_id, sum(epoch_ms(least(coalesce(s.to_at, hour.to_at), hour.to_at))
    - epoch_ms(greatest(s.from_at, hour.from_at))) AS stood_ms
  FROM all_standstills s, hour
  WHERE coalesce(s.to_at, hour.to_at) > hour.from_at AND s.from_at < hour.to_at
  GROUP BY group_id
), near AS (
  SELECT group_id, arg_min(client_id, slack_ms) AS near_client_id, min(slack_ms) AS near_slack_ms,
    arg_min(session_timeout_ms, slack_ms) AS near_timeout_ms
  FROM all_heartbeat_slack WHERE ended_at IS NULL AND slack_ms IS NOT NULL GROUP BY group_id
)
SELECT g.group_id, g.state, g.generation_id, g.protocol_type, g.protocol_name, g.member_count,
  coalesce(r.in_hour, 0) AS in_hour, coalesce(r.in_span, 0) AS in_span,
  CASE WHEN g.member_count > 0 THEN greatest(0, least(1, coalesce(s.stood_ms, 0) / greatest(1, least(3600000,
    epoch_ms(hour.to_at) - epoch_ms(g.created_at))))) END AS stood_share,
  n.near_client_id, n.near_slack_ms, n.near_timeout_ms
FROM all_groups g CROSS JOIN hour LEFT JOIN rebalanced r USING (group_id) LEFT JOIN stood s USING (group_id)
LEFT JOIN near n USING (group_id)
ORDER BY g.group_id
"""


@dataclass(frozen=True)
class Span:
    """A stretch of time, ms since the epoch."""

    from_ms: int
    to_ms: int


def overview(history: History, now_ms: int, until_ms: int | None, span: Span | None) -> list[dict[str, Any]]:
    """A row a group, by its id. now_ms: the end of the hour that is looked at; until_ms: all as it was then.

    span: only groups that began to rebalance in it; `in_span` counts how often. `troubles` names the kinds of trouble
    of the last day.
    """
    chosen = span or Span(0, now_ms)
    values = [chosen.from_ms, chosen.to_ms, now_ms, now_ms]
    rows = history.all(_OVERVIEW, values, until_ms)
    troubles = _recent_troubles(history, now_ms, until_ms)
    for row in rows:
        row["troubles"] = troubles.get(row["group_id"], [])
    return [row for row in rows if span is None or row["in_span"]]


def _recent_troubles(history: History, now_ms: int, until_ms: int | None) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for kind in DETECTORS:
        sql = (
            f"SELECT group_id, count(*) AS n FROM all_{kind.view} "
            f"WHERE {kind.since} > {timestamp(now_ms - RECENT_MS)} AND {kind.worth_telling} GROUP BY group_id"
        )
        for row in history.all(sql, (), until_ms):
            found.setdefault(row["group_id"], []).append(count(row["n"], kind.name))
    return found


def rebalances_over_time(history: History, first_ms: int, last_ms: int, until_ms: int | None) -> list[dict[str, Any]]:
    """How many rebalances began by cause, in each of STRIP_BINS equal times; `from_ms` is the beginning of each."""
    width_ms = max(1, (last_ms - first_ms) // STRIP_BINS + 1)
    sql = """
        SELECT cause, ?::BIGINT + (epoch_ms(known_from) - ?::BIGINT) // ?::BIGINT * ?::BIGINT AS from_ms,
          count(*) AS rebalances, count(DISTINCT group_id) AS groups
        FROM all_rebalances GROUP BY ALL ORDER BY ALL
    """
    rows = history.all(sql, [first_ms, first_ms, width_ms, width_ms], until_ms)
    return [{**row, "width_ms": width_ms} for row in rows]


def troubles(history: History, until_ms: int | None) -> list[dict[str, Any]]:
    """Each detector with its rule in words, how many it found, and the latest of them, each told in a sentence."""
    return [_found_by(kind, history, until_ms) for kind in DETECTORS]


def _found_by(kind: Detector, history: History, until_ms: int | None) -> dict[str, Any]:
    total = history.all(f"SELECT count(*) AS n FROM all_{kind.view}", (), until_ms)[0]["n"]
    sql = f"SELECT * FROM all_{kind.view} ORDER BY {kind.since} DESC, group_id LIMIT {SHOWN_TROUBLES}"
    found = [
        {"group_id": row["group_id"], "at_ms": ms_of(row[kind.since]), "told": told(kind.view, row)}
        for row in history.all(sql, (), until_ms)
    ]
    return {"view": kind.view, "name": kind.name, "rule": kind.rule, "total": total, "found": found}


def told(view: str, row: dict[str, Any]) -> str:
    """One trouble in a sentence."""
    match view:
        case "storms":
            by = f", most of them {row['cause']}" + (f" by {row['cause_client_id']}" if row["cause_client_id"] else "")
            return f"{count(row['rebalances'], 'rebalance')}, {row['most_in_an_hour']} within an hour{by}"
        case "flapping_members":
            matching = f"; its {row['matching']} matches {row['matching_setting']}" if row["matching_setting"] else ""
            return (
                f"{row['client_id']} came {row['memberships']} times, every {duration(row['period_ms'])}, mostly ended "
                f"by {row['end_cause']}{matching}"
            )
        case "leader_only_loops":
            return f"the leader {row['client_id']} alone set off {count(row['rebalances'], 'rebalance')}"
        case "near_misses":
            return (
                f"{row['client_id']} was silent for {duration(row['gap_ms'])} of its session of "
                f"{duration(row['session_timeout_ms'])}"
            )
        case "deploys":
            return (
                f"{count(row['restarts'], 'restart')} in {duration(row['duration_ms'])}, "
                f"{count(row['rebalances'], 'rebalance')}, nobody consumed for {duration(row['stopped_ms'] or 0)}"
            )
        case "double_owners":
            return (
                f"{row['topic']}-{row['partition']}: {row['old_client_id']} went on for {duration(row['overlap_ms'])} "
                f"after {row['new_client_id']} had it"
            )
        case "standstills":
            return f"nobody held a partition for {duration(row['duration_ms'])}"
        case _:
            raise ValueError(f"no detector is named {view}")
