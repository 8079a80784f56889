"""The detector `held_not_moving`: a partition that a live member owns and does not read, though it has records."""

from __future__ import annotations

from rollcall.answers.views.recorded import RECORDED, RULE
from rollcall.answers.views.view import BEATS, IS_SIGN_OF_LIFE, OF_PARTITION, Column, Detector, View

STANDS_MS = 20_000
TIMES_USUAL = 5
"""A slow member works partition by partition: each waits while the others are read."""
USUAL_OF = 3

HELD_NOT_MOVING = View(
    name="held_not_moving",
    row="a time in which a member held a partition with unread records, sent requests, and committed no progress on it",
    rule=(
        "The time between two commits that rise, or after the last one, while the same member owns the partition and "
        f"its lag is above 0. It is at least {STANDS_MS // 1000} s, and {TIMES_USUAL} times the average time between "
        f"the partition's other commits (at least {USUAL_OF}). The member sent a request after that time "
        "and before the commit that ends it, or owned the partition for longer than its session. The client may still "
        f"fetch in that time: fetched records are not processed yet. {RULE} Until the "
        "partition's next commit the lag counts from the last known commit and is an upper bound: it is surely above 0 "
        "once the log has grown by more than the one record that may be a transaction's marker."
    ),
    columns=(
        *OF_PARTITION,
        Column("member_id", "string", "who owns it"),
        Column("client_id", "string", "that member's client id"),
        Column("from_at", "timestamp", "since when"),
        Column("to_at", "timestamp", "until when; null: ongoing, as far as is known"),
        Column("duration_ms", "bigint", "for how long, as far as is known, ms"),
        Column("usual_ms", "bigint", "how far apart its other commits that rise are on the average, ms"),
        Column("lag_from", "bigint", "the lag at its beginning, records"),
        Column("lag_to", "bigint", "the highest lag in it, records"),
        Column("is_upper_bound", "boolean", "a commit before it may be missing: each lag is at most that"),
    ),
    sql=f"""--sql
WITH {RECORDED}, steps AS (
  SELECT group_id, topic, partition, at_ms, is_recorded, end_offset, lag_before_records, lag_records, rose,
    recorded_from_ms, is_latest
  FROM (
    SELECT group_id, topic, partition, unix_millis(at) AS at_ms, is_recorded, end_offset, lag_before_records,
      lag_records, is_commit AND committed_offset > coalesce(lag(committed_offset) OVER so_far, -1) AS rose
    FROM partition_lag
    WINDOW so_far AS (PARTITION BY group_id, topic, partition ORDER BY at)
  )
  JOIN recorded USING (group_id)
  WHERE at_ms >= recorded_from_ms AND at_ms <= recorded_to_ms
), runs AS (
  SELECT *, count_if(rose) OVER so_far AS run, lead(at_ms) OVER so_far AS next_ms,
    lead(lag_before_records) OVER so_far AS lag_next,
    lead(end_offset) OVER so_far - first_value(end_offset) IGNORE NULLS OVER so_far > 1 AS has_grown
  FROM steps
  WINDOW so_far AS (PARTITION BY group_id, topic, partition, recorded_from_ms ORDER BY at_ms)
), stands AS (
  SELECT group_id, topic, partition, run, min(at_ms) AS rose_ms, max(coalesce(next_ms, at_ms)) AS until_ms,
    count(next_ms) = count(*) AS is_over, max(is_latest) AS is_latest,
    min(CASE WHEN (lag_records > 0 OR lag_next > 0) AND (is_recorded OR has_grown) THEN at_ms END) AS behind_ms,
    min_by(lag_records, at_ms) AS lag_from, max(greatest(lag_records, lag_next)) AS lag_to,
    max(NOT is_recorded) AS is_upper_bound
  FROM runs
  GROUP BY group_id, topic, partition, recorded_from_ms, run
), usual AS (
  SELECT *,
    (sum(CASE WHEN is_over AND run > 0 THEN until_ms - rose_ms END) OVER parts)
      - CASE WHEN is_over AND run > 0 THEN until_ms - rose_ms ELSE 0 END AS others_ms,
    (count_if(is_over AND run > 0) OVER parts) - CASE WHEN is_over AND run > 0 THEN 1 ELSE 0 END AS others
  FROM stands
  WINDOW parts AS (PARTITION BY group_id, topic, partition)
), held AS (
  SELECT group_id, topic, partition, member_id, client_id, lag_from, lag_to, is_upper_bound,
    others_ms div others AS usual_ms,
    greatest(behind_ms, unix_millis(from_at)) AS from_ms,
    least(until_ms, coalesce(unix_millis(to_at), until_ms)) AS to_ms,
    is_over AND (to_at IS NULL OR unix_millis(to_at) > until_ms) AS is_ended_by_commit,
    is_over OR to_at IS NOT NULL OR NOT is_latest AS is_over
  FROM usual
  JOIN assignments USING (group_id, topic, partition)
  WHERE unix_millis(from_at) < until_ms AND coalesce(unix_millis(to_at), until_ms) > behind_ms
    AND behind_ms IS NOT NULL AND others >= {USUAL_OF} AND until_ms - behind_ms >= {STANDS_MS}
), stuck AS (
  SELECT *
  FROM held
  WHERE to_ms - from_ms >= {STANDS_MS} AND to_ms - from_ms >= {TIMES_USUAL} * usual_ms
), signs AS (
  SELECT group_id, member_id, at_ms
  FROM effects
  WHERE {IS_SIGN_OF_LIFE}
  UNION ALL
  SELECT group_id, member_id, from_ms + beat AS at_ms
  FROM ({BEATS})
), heard AS (
  SELECT stuck.*
  FROM stuck
  JOIN signs ON stuck.group_id = signs.group_id AND stuck.member_id = signs.member_id
    AND at_ms >= from_ms + {STANDS_MS} AND (at_ms < to_ms OR (at_ms = to_ms AND NOT is_ended_by_commit))
  UNION
  SELECT stuck.*
  FROM stuck
  JOIN sessions ON stuck.group_id = sessions.group_id AND stuck.member_id = sessions.member_id
    AND to_ms - from_ms > session_timeout_ms
)
SELECT group_id, topic, partition, member_id, client_id,
  timestamp_millis(from_ms) AS from_at,
  CASE WHEN is_over THEN timestamp_millis(to_ms) END AS to_at,
  to_ms - from_ms AS duration_ms, usual_ms, lag_from, lag_to, is_upper_bound
FROM heard
""",
    detector=Detector(
        "stuck partition",
        "stuck partitions",
        "{client_id} holds {topic}-{partition}, {is_upper_bound:at most }{lag_to} records behind, and committed "
        "nothing new for {duration_ms}",
        link=("topic", "partition"),
        severity="critical",
    ),
)
