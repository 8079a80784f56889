"""The detector `falling_behind`: a group that consumes, and yet its lag grows."""

from __future__ import annotations

from rollcall.answers.views.lag_history import BUCKET_MS, records, total_lag
from rollcall.answers.views.recorded import RECORDED, RULE
from rollcall.answers.views.view import GROUP_ID, Column, Detector, View

WINDOWS = 6

FALLING_BEHIND = View(
    name="falling_behind",
    row="a time in which a group consumed a topic and fell further and further behind in it",
    rule=(
        "Burrow's rule over a window, without a threshold on records: the lag right after a commit, the lowest of each "
        f"{BUCKET_MS // 1000} s in which the group committed, rises at least {WINDOWS - 1} times in a row from above "
        "0, until it is above the highest lag of the first of them. A group that commits nothing is not found: that is "
        f"`held_not_moving` or `standstills`. {RULE}"
    ),
    columns=(
        GROUP_ID,
        Column("topic", "string", "the topic"),
        Column("from_at", "timestamp", "since when"),
        Column("to_at", "timestamp", "until when; null: ongoing, as far as commits show"),
        Column("duration_ms", "bigint", "from its beginning to the latest commit of it, ms"),
        Column("lag_from", "bigint", "the lag at its beginning, records"),
        Column("lag_to", "bigint", "the lag at its end, records"),
        Column("is_upper_bound", "boolean", "a partition's commit may be missing: each lag is at most that"),
        Column("records_per_minute", "bigint", "how many records a minute the lag grew by"),
    ),
    sql=f"""--sql
WITH {RECORDED}, {total_lag("group_id, topic")}, troughs AS (
  SELECT group_id, topic, at_ms div {BUCKET_MS} AS bucket, min(struct(after_micro, at_ms)) AS trough,
    max(before_micro) AS peak_micro, max(is_upper_bound) AS is_upper_bound
  FROM totals
  WHERE is_commit AND after_micro IS NOT NULL
  GROUP BY group_id, topic, at_ms div {BUCKET_MS}
), steps AS (
  SELECT group_id, topic, bucket, trough.at_ms, trough.after_micro, peak_micro, is_upper_bound,
    CASE WHEN trough.after_micro > 0 AND trough.after_micro > lag(trough.after_micro) OVER topics
      AND lag(trough.after_micro) OVER topics > 0 AND lag(peak_micro) OVER topics IS NOT NULL
      AND recorded_from_ms = lag(recorded_from_ms) OVER topics
      THEN 0 ELSE 1 END AS is_new,
    lead(bucket) OVER topics IS NULL AS is_latest
  FROM troughs
  JOIN recorded USING (group_id)
  WHERE trough.at_ms >= recorded_from_ms AND trough.at_ms <= recorded_to_ms
  WINDOW topics AS (PARTITION BY group_id, topic ORDER BY bucket)
), rises AS (
  SELECT *, sum(is_new) OVER (PARTITION BY group_id, topic ORDER BY bucket) AS rise
  FROM steps
), found AS (
  SELECT group_id, topic, min(at_ms) AS from_ms, max(at_ms) AS to_ms, min_by(after_micro, at_ms) AS from_micro,
    max_by(after_micro, at_ms) AS to_micro, max(is_latest) AS is_ongoing, max(is_upper_bound) AS is_upper_bound
  FROM rises
  GROUP BY group_id, topic, rise
  HAVING count(*) >= {WINDOWS} AND max_by(after_micro, at_ms) > min_by(peak_micro, at_ms)
)
SELECT group_id, topic, timestamp_millis(from_ms) AS from_at,
  CASE WHEN NOT is_ongoing THEN timestamp_millis(to_ms) END AS to_at,
  to_ms - from_ms AS duration_ms,
  {records("from_micro")} AS lag_from,
  {records("to_micro")} AS lag_to, is_upper_bound,
  ({records("to_micro")} - {records("from_micro")}) * 60000 div (to_ms - from_ms) AS records_per_minute
FROM found
""",
    detector=Detector(
        "growing lag",
        "growing lags",
        "consumes {topic} and falls behind, from {is_upper_bound:at most }{lag_from} to {lag_to} records in "
        "{duration_ms}",
        link=("topic",),
    ),
)
