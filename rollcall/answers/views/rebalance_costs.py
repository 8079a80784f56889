"""The view `rebalance_costs`: how far a group fell behind by a rebalance, and when it had caught up."""

from __future__ import annotations

from rollcall.answers.views.lag_history import records, total_lag
from rollcall.answers.views.recorded import COMMITS_RULE, FOREVER_MS
from rollcall.answers.views.view import GROUP_ID, Column, View

BEFORE_MS = 10_000
CAUGHT_UP_WITHIN_MS = 3_600_000


def _at(moment: str) -> str:
    """The lag at a moment within a piece."""
    return f"after_micro + slope_micro * ({moment} - at_ms)"


def _highest_before(moment: str) -> str:
    """The highest lag of a piece in the seconds before a moment, null for a piece that is not of them."""
    first, last = f"greatest(at_ms, {moment} - {BEFORE_MS})", f"least(next_ms, {moment})"
    return f"""max(CASE WHEN at_ms <= {moment} AND next_ms >= {moment} - {BEFORE_MS}
      THEN greatest({_at(first)}, {_at(last)}) END) OVER rebalance"""


REBALANCE_COSTS = View(
    name="rebalance_costs",
    row="a rebalance whose start is known, in a group whose lag is known around it",
    rule=(
        "Lag is that of all partitions of the group together, as in `lag_history`. Lag goes up and down with each "
        f"commit, so the lag before is the highest of the {BEFORE_MS // 1000} s before. A member whose session expired "
        "did no work since it fell silent, so the cost counts from then. A member that joined later than that was not "
        "silent so long, and the cost counts from the beginning. The group has caught up when, after the "
        "rebalance, its lag is not above the lag before, and it has members. This is searched for within "
        f"{CAUGHT_UP_WITHIN_MS // 60_000} minutes. The records that waited longer are the peak until then minus the "
        "lag before. If a rebalance follows before the group has caught up, the lag that is left counts as the next "
        "one's lag before. "
        f"{COMMITS_RULE} A rebalance has no row if there was such a time from the {BEFORE_MS // 1000} s before until "
        "the group had caught up. A partition that is not committed again after such a time counts from its last known "
        "commit: each lag is then an upper bound by the same number of records, so the differences are right. If that "
        "partition's lag falls in this time, the difference is unknown, and the rebalance has no row."
    ),
    columns=(
        GROUP_ID,
        Column("from_generation_id", "int", "the generation it left"),
        Column("to_generation_id", "int", "the generation it led to, null while it runs"),
        Column("started_at", "timestamp", "when it began"),
        Column("ended_at", "timestamp", "when it ended, null while it runs"),
        Column(
            "silent_since",
            "timestamp",
            "since when the member whose session expired was silent; null: no expiry, or not known",
        ),
        Column("lag_before_silence", "bigint", f"the highest lag in the {BEFORE_MS // 1000} s before that, records"),
        Column("lag_before", "bigint", f"the highest lag in the {BEFORE_MS // 1000} s before it began, records"),
        Column("lag_peak", "bigint", "the highest lag until the group had caught up, records"),
        Column("peak_at", "timestamp", "when that was"),
        Column("lag_after", "bigint", "the lag when it ended, records; null while it runs"),
        Column("caught_up_at", "timestamp", "when the group had caught up; null: not yet, as far as is known"),
        Column("caught_up_after_ms", "bigint", "how long after it began, or after the member fell silent, ms"),
        Column("records_delayed", "bigint", "the records that waited longer because of it"),
        Column(
            "is_upper_bound",
            "boolean",
            "a partition's commit before it may be missing: each lag is at most so high, and the rest is as it says",
        ),
    ),
    sql=f"""--sql
WITH {total_lag("group_id")}, timed AS (
  SELECT group_id, from_generation_id, to_generation_id, started_at, ended_at, unix_millis(started_at) AS started_ms,
    unix_millis(ended_at) AS ended_ms, cause, cause_member_id, outcome
  FROM rebalances
  WHERE started_at IS NOT NULL
), expired AS (
  SELECT group_id, member_id, ended_at, max(session_timeout_ms) AS session_timeout_ms
  FROM sessions
  WHERE end_cause = 'session_expired'
    AND (is_inferred OR unix_millis(ended_at) - unix_millis(joined_at) >= session_timeout_ms)
  GROUP BY group_id, member_id, ended_at
), known AS (
  SELECT timed.group_id, from_generation_id, to_generation_id, started_at, timed.ended_at, started_ms,
    started_ms - session_timeout_ms AS silent_ms,
    CASE WHEN outcome = 'empty' THEN min(CASE WHEN outcome = 'completed' THEN ended_ms END) OVER (
        PARTITION BY timed.group_id ORDER BY started_ms, from_generation_id
        ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
      ) ELSE ended_ms END AS settled_ms
  FROM timed
  LEFT JOIN expired ON cause = 'session_expired' AND timed.group_id = expired.group_id
    AND cause_member_id = member_id AND started_at = expired.ended_at
), pieces AS (
  SELECT known.group_id, from_generation_id, to_generation_id, started_at, ended_at, started_ms, silent_ms, settled_ms,
    coalesce(silent_ms, started_ms) AS from_ms, unix_millis(ended_at) AS ended_ms,
    at_ms, coalesce(next_ms, {FOREVER_MS}) AS next_ms, slope_micro, after_micro,
    is_upper_bound, bound_falls
  FROM known
  JOIN totals ON known.group_id = totals.group_id
    AND totals.at_ms <= started_ms + {CAUGHT_UP_WITHIN_MS}
    AND coalesce(totals.next_ms, {FOREVER_MS}) >= coalesce(silent_ms, started_ms) - {BEFORE_MS}
), begun AS (
  SELECT *,
    min(CASE WHEN slope_micro IS NULL AND next_ms > from_ms - {BEFORE_MS} THEN at_ms
      WHEN bound_falls AND at_ms > from_ms - {BEFORE_MS} THEN at_ms END) OVER rebalance AS unknown_ms,
    {_highest_before("started_ms")} AS before_micro,
    {_highest_before("silent_ms")} AS before_silence_micro,
    max(CASE WHEN at_ms <= ended_ms AND ended_ms < next_ms THEN {_at("ended_ms")} END) OVER rebalance AS ended_micro,
    max(CASE WHEN at_ms <= settled_ms AND settled_ms < next_ms THEN {_at("settled_ms")} END) OVER rebalance
      AS settled_micro
  FROM pieces
  WINDOW rebalance AS (PARTITION BY group_id, started_ms, from_generation_id)
), caught_up AS (
  SELECT *,
    CASE WHEN settled_micro <= usual_micro THEN settled_ms
      ELSE min(CASE WHEN at_ms >= settled_ms AND after_micro <= usual_micro THEN at_ms END) OVER rebalance
    END AS caught_up_ms
  FROM (SELECT *, least(before_micro, before_silence_micro) AS usual_micro FROM begun)
  WHERE usual_micro IS NOT NULL
  WINDOW rebalance AS (PARTITION BY group_id, started_ms, from_generation_id)
), tops AS (
  SELECT *, {_at("top_ms")} AS top_micro
  FROM (
    SELECT *,
      CASE WHEN slope_micro > 0 THEN least(next_ms, coalesce(caught_up_ms, next_ms)) ELSE greatest(at_ms, from_ms) END
        AS top_ms
    FROM caught_up
    WHERE next_ms >= from_ms AND (unknown_ms IS NULL OR unknown_ms > caught_up_ms)
      AND (at_ms <= caught_up_ms OR caught_up_ms IS NULL)
  )
), peaks AS (
  SELECT group_id, from_generation_id, to_generation_id, started_at, ended_at, silent_ms, from_ms, before_micro,
    before_silence_micro, usual_micro, ended_micro, caught_up_ms, max(top_micro) AS peak_micro,
    max_by(top_ms, struct(top_micro, -top_ms)) AS peak_ms, max(is_upper_bound) AS is_upper_bound
  FROM tops
  GROUP BY group_id, from_generation_id, to_generation_id, started_at, ended_at, silent_ms, from_ms, before_micro,
    before_silence_micro, usual_micro, ended_micro, caught_up_ms
)
SELECT group_id, from_generation_id, to_generation_id, started_at, ended_at,
  timestamp_millis(silent_ms) AS silent_since,
  {records("before_silence_micro")} AS lag_before_silence,
  {records("before_micro")} AS lag_before,
  {records("peak_micro")} AS lag_peak,
  timestamp_millis(peak_ms) AS peak_at,
  {records("ended_micro")} AS lag_after,
  timestamp_millis(caught_up_ms) AS caught_up_at,
  caught_up_ms - from_ms AS caught_up_after_ms,
  greatest({records("peak_micro")} - {records("usual_micro")}, 0) AS records_delayed,
  is_upper_bound
FROM peaks
""",
)
