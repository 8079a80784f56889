"""What the overview and the page of troubles list: every group, every rebalance over time, every trouble found.

Knows the lists that `rollcall.serve.page.history` keeps ready. Must not know a template or an address.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rollcall.answers.views.catalog import DETECTORS
from rollcall.answers.views.view import Detector, View, rank
from rollcall.answers.why.cost import literal
from rollcall.answers.why.sections import Named
from rollcall.history.rebalances import Span
from rollcall.history.words import HOUR_MS, MINUTE_MS, count, filled, moment, ms_of
from rollcall.serve.page.history import RAW, History
from rollcall.tables.duck_database import quoted

RECENT_MS = 24 * HOUR_MS
"""The overview names a group's troubles of this last span of time."""
HALF_DAY_MS = 12 * HOUR_MS
"""A moment of longer ago is shown with its date."""
TROUBLE_MS = 300_000
"""For monitoring, a trouble lasts until this long after its end."""
SHOWN_IN_TROUBLE, SHOWN_NAME, SHOWN_SENTENCE = 3, 60, 240
"""How many groups the overview's sentence names, and how many characters of each name and of what each suffers."""
SHOWN_TROUBLES = 200
"""At most this many of each kind are listed, the latest first."""
TICKS = 60
"""A group's small picture of the hour has this many equal times."""
UNKNOWN_LAG = -1
STRIP_BINS = 240
"""The strip of rebalances has this many equal times."""


_OVERVIEW = f"""
WITH span AS (SELECT make_timestamp(?::BIGINT * 1000) AS from_at, make_timestamp(?::BIGINT * 1000) AS to_at),
hour AS (SELECT make_timestamp((?::BIGINT - 3600000) * 1000) AS from_at, make_timestamp(?::BIGINT * 1000) AS to_at,
  ?::BIGINT AS first_ms),
rebalanced AS (
  SELECT group_id, count_if(known_from > hour.from_at) AS in_hour,
    count_if(known_from BETWEEN span.from_at AND span.to_at) AS in_span, max(known_from) AS latest_at,
    list_sort(list(DISTINCT struct_pack(
      place := (epoch_ms(known_from) - hour.first_ms) * {TICKS} // (epoch_ms(hour.to_at) - hour.first_ms + 1), cause))
      FILTER (known_from > hour.from_at)) AS ticks,
    arg_max(struct_pack(cause, to_generation_id), known_from) AS latest
  FROM all_rebalances, hour, span GROUP BY group_id
), lagged AS (
  SELECT group_id, topic, greatest(-1, (epoch_ms(l.from_at) - hour.first_ms) * {TICKS}
      // (epoch_ms(hour.to_at) - hour.first_ms + 1)) AS place,
    coalesce(max(peak_lag_records), {UNKNOWN_LAG}) AS peak,
    arg_max(coalesce(lag_records, {UNKNOWN_LAG}), l.from_at) AS lag_after
  FROM all_lag_history l, hour WHERE l.from_at <= hour.to_at GROUP BY ALL
), filled AS (
  SELECT group_id, place, coalesce(peak, last_value(lag_after IGNORE NULLS) OVER (
      PARTITION BY group_id, topic ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) AS peak
  FROM (SELECT DISTINCT group_id, topic, unnest(range(-1, {TICKS})) AS place FROM lagged)
  LEFT JOIN lagged USING (group_id, topic, place)
), drawn AS (
  SELECT group_id, list(lag ORDER BY place) AS lags
  FROM (
    SELECT group_id, place, CASE WHEN min(peak) > {UNKNOWN_LAG} THEN sum(peak)::BIGINT END AS lag
    FROM filled WHERE place >= 0 GROUP BY group_id, place
  ) GROUP BY group_id
), stood AS (
  SELECT group_id, sum(epoch_ms(least(s.to_at, hour.to_at)) - epoch_ms(greatest(s.from_at, hour.from_at))) AS stood_ms
  FROM all_standstills s, hour
  WHERE coalesce(s.to_at, hour.to_at) > hour.from_at AND s.from_at < hour.to_at
  GROUP BY group_id
), given AS (
  SELECT DISTINCT group_id FROM {RAW} WHERE effect = 'assigned'
), near AS (
  SELECT group_id, arg_min(client_id, slack_ms) AS near_client_id, min(slack_ms) AS near_slack_ms,
    arg_min(session_timeout_ms, slack_ms) AS near_timeout_ms
  FROM all_heartbeat_slack WHERE ended_at IS NULL AND slack_ms IS NOT NULL GROUP BY group_id
), behind AS (
  SELECT group_id, sum(now.lag_records)::BIGINT AS lag_records, bool_or(now.is_upper_bound) AS is_upper_bound,
    min(now.end_known_at) FILTER (now.lag_records IS NOT NULL) AS end_known_at,
    CASE WHEN NOT bool_or(now.is_upper_bound) THEN max(now.lag_ms) END AS lag_ms,
    CASE WHEN NOT bool_or(now.is_upper_bound OR coalesce(earlier.is_upper_bound, false))
        AND bool_and(now.lag_records IS NULL
          OR coalesce(earlier.lag_records >= 0 AND now.end_known_at > earlier.end_known_at, false))
      THEN sum(now.lag_records - earlier.lag_records)::BIGINT END AS lag_trend
  FROM all_lag now LEFT JOIN all_lag_before earlier USING (group_id, topic, partition) GROUP BY group_id
)
SELECT g.group_id, g.state, g.generation_id, g.member_count,
  coalesce(r.in_hour, 0) AS in_hour, coalesce(r.in_span, 0) AS in_span, r.latest_at,
  r.latest.cause AS latest_cause, r.latest.to_generation_id AS latest_generation_id,
  list_transform(r.ticks, lambda one: one.place) AS tick_places,
  list_transform(r.ticks, lambda one: one.cause) AS tick_causes, d.lags,
  CASE WHEN e.group_id IS NOT NULL
    AND (g.member_count > 0 OR (r.latest_at IS NOT NULL AND g.state_since > hour.from_at)) THEN
    least(1, (coalesce(s.stood_ms, 0) + CASE WHEN g.member_count > 0 THEN 0 ELSE epoch_ms(hour.to_at)
      - epoch_ms(g.state_since) END) / greatest(1, least(3600000, epoch_ms(hour.to_at) - epoch_ms(g.created_at))))
  END AS stood_share,
  n.near_client_id, n.near_slack_ms, n.near_timeout_ms, b.lag_records, b.is_upper_bound, b.lag_ms, b.lag_trend,
  b.end_known_at
FROM all_groups g CROSS JOIN hour LEFT JOIN rebalanced r USING (group_id) LEFT JOIN stood s USING (group_id)
LEFT JOIN near n USING (group_id) LEFT JOIN behind b USING (group_id) LEFT JOIN given e USING (group_id)
LEFT JOIN drawn d USING (group_id)
ORDER BY g.group_id
"""


def overview(history: History, now_ms: int, until_ms: int | None, span: Span | None) -> list[dict[str, Any]]:
    """A row a group: the worst harm first, each by lag, then by how long nobody consumed.

    now_ms: the end of the hour that is looked at; until_ms: all as it was then. `in_span` counts how often a group
    began to rebalance in the span. `tick_places`: in which of TICKS times of the hour, or of the
    history if that is shorter, it began to, each beside the cause; `lags`: the highest lag in each, None: not known.
    `stood_share`: of the hour, or of the group's time if that is shorter; None: it had
    no members in it. `troubles` counts the kinds of trouble of the last day; `harm` is the worst one of the last hour,
    None: there is none. `lag_records` of all partitions, the longest `lag_ms`, and `lag_trend`, by how
    much the records grew in TREND_MS; each None where it is not known, `lag_trend` also where that of one partition is
    not, or where its end has no news since. `is_upper_bound`: the records are at most that many. `end_known_at`: since
    when no log of them has news.
    """
    chosen = span or Span(0, now_ms)
    values = [chosen.from_ms, chosen.to_ms, now_ms, now_ms, hour_from_ms(history, now_ms, until_ms)]
    rows = history.all(_OVERVIEW, values, until_ms)
    troubles = _recent_troubles(history, now_ms, until_ms)
    for row in rows:
        row["troubles"], row["harm"] = troubles.get(row["group_id"], ([], None))
    rows.sort(key=_urgency)
    return rows


def hour_from_ms(history: History, now_ms: int, until_ms: int | None) -> int:
    """Return where the small pictures of the hour begin: with the history, if that is shorter."""
    first_ms, _ = history.span_ms(until_ms=until_ms) or (0, 0)
    return max(first_ms, now_ms - HOUR_MS)


@dataclass(frozen=True)
class Harm:
    """A group's trouble for people. The worst sorts last: ongoing, then more severe, then later."""

    is_ongoing: bool
    rank: int
    at_ms: int
    word: str
    """What happened at that time: it began, or it ended."""
    kind: Detector
    row: Mapping[str, Any]
    now_ms: int

    def __lt__(self, other: Harm) -> bool:
        mine, others = ((one.is_ongoing, one.rank, one.at_ms) for one in (self, other))
        return self.sentence < other.sentence if mine == others else mine < others

    @property
    def sentence(self) -> str:
        """Made where it is shown: a few of thousands are."""
        said = filled(self.kind.sentence, self.row)
        if not self.word:
            return said
        when = moment(self.at_ms)
        return f"{said}, {self.word} {when[:16] if self.now_ms - self.at_ms > HALF_DAY_MS else when[11:19]} UTC"


def _urgency(row: dict[str, Any]) -> tuple[bool, int, int, float, str]:
    lag, stood_share = (-1 if row[name] is None else row[name] for name in ("lag_records", "stood_share"))
    harm = row["harm"]
    is_ongoing, severity = (False, -1) if harm is None else (harm.is_ongoing, harm.rank)
    return not is_ongoing, -severity, -lag, -stood_share, row["group_id"]


def trouble_count(history: History, rows: list[dict[str, Any]], *, is_live: bool) -> str:
    """Return how many groups had trouble, as a clause. is_live: no finished recording."""
    first_ms, last_ms = history.span_ms() or (0, 0)
    when = "in this recording" if last_ms - first_ms <= HOUR_MS else "in the last hour of this recording"
    when = "in the last hour" if is_live else when
    of = count(len(rows), "group")
    harmed = sum(row["harm"] is not None for row in rows)
    return f"{harmed} of {of} had trouble {when}" if harmed else f"No trouble {when} ({of})"


def in_trouble(history: History, rows: list[dict[str, Any]], *, is_live: bool) -> str:
    """Return the overview in one sentence: which groups are in trouble, and by what."""
    harmed = [row for row in rows if row["harm"]]
    more = len(harmed) - SHOWN_IN_TROUBLE
    named = [
        f"{row['group_id'][:SHOWN_NAME]}: {row['harm'].sentence[:SHOWN_SENTENCE]}" for row in harmed[:SHOWN_IN_TROUBLE]
    ]
    named += [f"and {count(more, 'more group')}"] * (more > 0)
    return f"{trouble_count(history, rows, is_live=is_live)}{': ' if harmed else ''}{'; '.join(named)}."


def _recent_troubles(history: History, now_ms: int, until_ms: int | None) -> dict[str, tuple[list[str], Harm | None]]:
    """By group: the troubles of the last day, counted by kind, and the worst harm of the last hour."""
    found: dict[str, tuple[list[str], Harm | None]] = {}
    for view, kind in detectors():
        sql = f"""
            SELECT *, count(*) OVER (PARTITION BY group_id) AS n,
              {kind.until} > {literal(now_ms - HOUR_MS)} AND is_news AS is_harm
            FROM {as_of(view, kind, now_ms)} WHERE {kind.until} > {literal(now_ms - RECENT_MS)} AND {kind.worth_telling}
            QUALIFY 1 =
              row_number() OVER (PARTITION BY group_id ORDER BY is_ongoing DESC, {kind.until} DESC, {kind.since})
        """
        for row in history.all(sql, (), until_ms):
            troubles, harm = found.get(row["group_id"], ([], None))
            troubles.append(f"{row['n']} {kind.name if row['n'] == 1 else kind.plural}")
            if kind.severity != "info" and row["is_harm"]:
                harms = (harm, _harm(row, kind, now_ms))
                harm = max(one for one in harms if one is not None)
            found[row["group_id"]] = troubles, harm
    return found


def _harm(row: dict[str, Any], kind: Detector, now_ms: int) -> Harm:
    since, until = row[kind.since], row[kind.until]
    word, at = ("since", since) if row["is_ongoing"] else ("ended", until)
    if word == "ended" and None not in (since, until) and ms_of(until) - ms_of(since) < MINUTE_MS:
        word, at = "at", since
    at_ms, word = (0, "") if at is None else (ms_of(at), word)
    return Harm(row["is_ongoing"], rank(kind.severity), at_ms, word, kind, row, now_ms)


def detectors() -> Iterator[tuple[View, Detector]]:
    return ((view, view.detector) for view in DETECTORS.values() if view.detector is not None)


def as_of(view: View, kind: Detector, now_ms: int) -> str:
    """Return a detector's rows as a table in SQL, with `is_ongoing` and `is_news`: an open trouble lasts until now."""
    now = literal(now_ms)
    lasted = f"coalesce(duration_ms, {now_ms} - epoch_ms({kind.since})) AS duration_ms"
    replaced = [f"coalesce({kind.until}, {now}) AS {kind.until}"]
    replaced += [lasted for column in view.columns if column.name == "duration_ms"]
    found = f"SELECT * REPLACE ({', '.join(replaced)}), {kind.until} IS NULL AS is_ongoing FROM all_{view.name}"
    return f"(SELECT *, {kind.is_news} AS is_news FROM ({found}))"


def troubles_now(view: View, kind: Detector, now_ms: int) -> str:
    """What a detector found of present groups that is worth telling and not over for TROUBLE_MS, as a table in SQL."""
    recent = f"{kind.until} >= {literal(now_ms - TROUBLE_MS)} AND group_id IN (SELECT group_id FROM all_groups)"
    return f"(SELECT * FROM {as_of(view, kind, now_ms)} WHERE {recent} AND {kind.worth_telling})"


def counts_now(history: History, now_ms: int) -> list[dict[str, Any]]:
    """Return how many troubles of each kind put each group in trouble now: `group_id`, `kind`, `severity`, `n`."""
    counts = (
        f"SELECT group_id, '{view.name}' AS kind, '{kind.severity}' AS severity, count(*) AS n "
        f"FROM {troubles_now(view, kind, now_ms)} WHERE is_news GROUP BY group_id"
        for view, kind in detectors()
    )
    return history.all(f"{' UNION ALL '.join(counts)} ORDER BY kind, group_id")


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


def troubles(history: History, now_ms: int, until_ms: int | None) -> list[dict[str, Any]]:
    """Each detector with its rule, how many it found, and the latest of them, each as a sentence."""
    return [_found_by(view, kind, history, now_ms, until_ms) for view, kind in detectors()]


def _found_by(view: View, kind: Detector, history: History, now_ms: int, until_ms: int | None) -> dict[str, Any]:
    where = f"FROM {as_of(view, kind, now_ms)} WHERE {kind.worth_telling}"
    total = history.all(f"SELECT count(*) AS n {where}", (), until_ms)[0]["n"]
    found = [_as_found(row, kind) for row in history.all(_found(view, kind, now_ms), (), until_ms)]
    says = {column.name: column.holds.partition("null:")[0].rstrip("; ,") for column in view.columns}
    return {
        "view": view.name,
        "plural": kind.plural,
        "row": view.row,
        "rule": f"{view.rule} {kind.worth_said}".rstrip(),
        "opens": says[kind.since],
        "closes": says[kind.until],
        "total": total,
        "found": found,
    }


def troubles_of(history: History, group_id: str, now_ms: int, until_ms: int | None) -> list[dict[str, Any]]:
    """One group's troubles of all kinds: open ones first, then the latest, and last what only explains."""
    of_group = f"group_id = '{quoted(group_id)}'"
    rows = history.in_lists(
        group_id, {view.name: _found(view, kind, now_ms, of_group) for view, kind in detectors()}, until_ms
    )
    found = [{**_as_found(row, kind), "kind": kind} for view, kind in detectors() for row in rows[view.name]]

    def urgency(one: dict[str, Any]) -> tuple[bool, bool, int, str]:
        return one["kind"].severity == "info", not one["is_ongoing"], -(one["at_ms"] or 0), one["sentence"].words

    return sorted(found, key=urgency)


def _found(view: View, kind: Detector, now_ms: int, where: str = "true") -> str:
    """The query of what a detector found, the open ones first, then the latest."""
    return (
        f"SELECT * FROM {as_of(view, kind, now_ms)} WHERE ({kind.worth_telling}) AND {where} "
        f"ORDER BY is_ongoing DESC, {kind.since} DESC, group_id LIMIT {SHOWN_TROUBLES}"
    )


def _as_found(row: dict[str, Any], kind: Detector) -> dict[str, Any]:
    key_of_cause = next((row[name] for name in ("cause", "end_cause") if row.get(name)), "")
    return {
        "group_id": row["group_id"],
        "at_ms": None if row[kind.since] is None else ms_of(row[kind.since]),
        "until_ms": ms_of(row[kind.until]),
        "is_ongoing": row["is_ongoing"],
        "sentence": Named(filled(kind.sentence, row), key_of_cause),
        "link": {column: row[column] for column in kind.link},
    }
