"""The view `lag_history`: how far behind a group was in all partitions of a topic together, over time."""

from __future__ import annotations

from rollcall.answers.views.recorded import COMMITS_RULE
from rollcall.answers.views.view import GROUP_ID, Column, View

BUCKET_MS = 10_000
SETTLES_MS = 60_000
_MICRO = 1_000_000


def _changes(by: str) -> str:
    """Tables of a WITH; the last, `changes`, has how the lag of all partitions changes at a moment: its jumps, its
    slope.
    """
    return f"""--sql
moments AS (
  SELECT {by}, topic AS of_topic, partition, at_ms, is_commit, is_recorded, was_recorded, before_micro, after_micro,
    CASE WHEN NOT is_recorded AND (after_micro > 0 OR next_micro > 0) THEN 1 ELSE 0 END AS is_bound,
    coalesce((next_micro - after_micro) div (next_ms - at_ms), 0) AS slope_micro, next_ms
  FROM (
    SELECT *,
      lead(before_micro) OVER (PARTITION BY group_id, topic, partition ORDER BY at_ms) AS next_micro,
      lead(at_ms) OVER (PARTITION BY group_id, topic, partition ORDER BY at_ms) AS next_ms,
      coalesce(lag(is_recorded) OVER (PARTITION BY group_id, topic, partition ORDER BY at_ms), true) AS was_recorded
    FROM (
      SELECT group_id, topic, partition, unix_millis(at) AS at_ms, is_commit, is_recorded,
        coalesce(lag_before_records, 0) * {_MICRO} AS before_micro, coalesce(lag_records, 0) * {_MICRO} AS after_micro
      FROM partition_lag
      WHERE lag_records IS NOT NULL OR lag_before_records IS NOT NULL
    )
  )
), changes AS (
  SELECT {by}, at_ms, max(is_commit) AS is_commit, sum(jump_micro) AS jump_micro, sum(turn_micro) AS turn_micro,
    max(was_recorded AND NOT is_recorded) AS is_left, max(is_recorded AND NOT was_recorded) AS is_found,
    sum(is_bound - was_bound) AS more_bounds, max(was_bound = 1 AND after_micro < before_micro) AS bound_falls
  FROM (
    SELECT {by}, at_ms, is_commit, is_recorded, was_recorded, before_micro, after_micro, is_bound,
      coalesce(lag(is_bound) OVER parts, 0) AS was_bound,
      after_micro - coalesce(lag(after_micro + slope_micro * (next_ms - at_ms)) OVER parts, 0) AS jump_micro,
      slope_micro - coalesce(lag(slope_micro) OVER parts, 0) AS turn_micro
    FROM moments
    WINDOW parts AS (PARTITION BY {by}, of_topic, partition ORDER BY at_ms)
  )
  GROUP BY {by}, at_ms
)"""


def total_lag(by: str) -> str:
    """Tables of a WITH; the last, `totals`, has the lag of all partitions together at every moment that one changed.

    Between two of its own moments a partition's lag grows evenly. So each of its moments is a jump of the sum and a
    change of its slope, and the sum at a moment adds up all of them before it: whole numbers, in millionths of a
    record. Its columns: those of `by`, at_ms, is_commit, before_micro and after_micro (around the moment), slope_micro
    (a ms from then on), next_ms, was_upper_bound and is_upper_bound (before the moment and from then on, a partition
    counts from a commit after which others may be missing), bound_falls (and such a partition's lag falls: in truth by
    less, nobody knows how much). Where commits may be missing, the lag and its slope are null, unless it is 0 at most.
    """
    return f"""--sql
{_changes(by)}, slopes AS (
  SELECT *, sum(turn_micro) OVER so_far AS slope_micro, sum(jump_micro) OVER so_far AS jumped_micro,
    lead(at_ms) OVER (PARTITION BY {by} ORDER BY at_ms) AS next_ms,
    max(CASE WHEN is_left THEN at_ms END) OVER so_far AS left_ms, sum(more_bounds) OVER so_far AS bounds
  FROM changes
  WINDOW so_far AS (PARTITION BY {by} ORDER BY at_ms ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
), sums AS (
  SELECT {by}, at_ms, next_ms, is_commit, slope_micro, jumped_micro + grown_micro AS after_micro,
    jumped_micro + grown_micro - jump_micro AS before_micro, left_ms, is_found, bound_falls,
    bounds - more_bounds > 0 AS was_upper_bound, bounds > 0 AS is_upper_bound,
    min(CASE WHEN is_found THEN at_ms END) OVER (PARTITION BY {by}, left_ms) AS found_ms
  FROM (
    SELECT *, coalesce(sum(slope_micro * (next_ms - at_ms)) OVER before, 0) AS grown_micro
    FROM slopes
    WINDOW before AS (PARTITION BY {by} ORDER BY at_ms ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
  )
), settled AS (
  SELECT *, left_ms IS NULL OR coalesce(at_ms >= max(CASE WHEN is_found AND at_ms <= found_ms + {SETTLES_MS} THEN at_ms
    END) OVER (PARTITION BY {by}, left_ms), false) AS is_known
  FROM sums
), totals AS (
  SELECT {by}, at_ms, next_ms, is_commit, CASE WHEN is_known THEN slope_micro END AS slope_micro,
    CASE WHEN is_known OR after_micro = 0 THEN after_micro END AS after_micro,
    CASE WHEN before_micro = 0 OR coalesce(lag(is_known) OVER (PARTITION BY {by} ORDER BY at_ms), true)
      THEN before_micro END AS before_micro, was_upper_bound, is_upper_bound, bound_falls
  FROM settled
)"""


def records(micro: str) -> str:
    """Millionths of a record as records, rounded."""
    return f"(({micro}) + {_MICRO // 2}) div {_MICRO}"


LAG_HISTORY = View(
    name="lag_history",
    row=f"{BUCKET_MS // 1000} seconds in which the lag of a group in a topic changed",
    rule=(
        "The lag of all partitions together, by the rule of `partition_lag`, which has them one by one. A partition "
        "whose lag is not known counts nothing. A time without new ends and commits has no row: the "
        f"lag was unchanged, unless the row before has no lag. {COMMITS_RULE} From then on the lag is not known, until "
        f"the partitions are committed again, as far as the first {SETTLES_MS // 1000} s of such commits tell; the "
        "others count from their last known commit, and the lag is an upper bound. If there is nothing to read even "
        "from there, the lag is 0."
    ),
    columns=(
        GROUP_ID,
        Column("topic", "string", "the topic"),
        Column("from_at", "timestamp", "when these seconds began"),
        Column("lag_records", "bigint", "the lag after the last change in them, records; null: not known from then on"),
        Column("peak_lag_records", "bigint", "the highest lag in them, records"),
        Column("peak_at", "timestamp", "when it was highest"),
        Column("is_upper_bound", "boolean", "a partition's commit may be missing: each lag is at most so high"),
    ),
    sql=f"""--sql
WITH {total_lag("group_id, topic")}, peaks AS (
  SELECT group_id, topic, at_ms div {BUCKET_MS} AS bucket, at_ms, after_micro,
    greatest(before_micro, after_micro) AS peak_micro,
    (was_upper_bound AND before_micro > 0) OR (is_upper_bound AND after_micro > 0) AS is_upper_bound
  FROM totals
  WHERE before_micro IS NOT NULL OR after_micro IS NOT NULL
)
SELECT group_id, topic, timestamp_millis(bucket * {BUCKET_MS}) AS from_at,
  {records("max(struct(at_ms, after_micro)).after_micro")} AS lag_records,
  {records("max(peak_micro)")} AS peak_lag_records,
  timestamp_millis(max_by(at_ms, struct(peak_micro, -at_ms))) AS peak_at,
  coalesce(max(is_upper_bound), false) AS is_upper_bound
FROM peaks
GROUP BY group_id, topic, bucket
""",
)
