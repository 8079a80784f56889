"""The view `partition_lag`: how far behind a group was in each partition, moment by moment.

Its SQL is where lag in records is computed; `lag_history`, `rebalance_costs` and the detectors read it.
"""

from __future__ import annotations

from rollcall.answers.views.details import facts, opened
from rollcall.answers.views.recorded import COMMITS_RULE, UNRECORDED
from rollcall.answers.views.view import OF_PARTITION, Column, View
from rollcall.schemas.effects import MemberJoined, OffsetsCommitted, OffsetsRemoved
from rollcall.tables.lag.kept import LATE_MS

NAMED = f"{opened('offsets(topic partition)', OffsetsCommitted)}.offsets"
"""The partitions that a commit names, of its detail."""


def commits_of(effects: str) -> str:
    """One row is a partition's commit at a moment, -1: its offset was removed.

    effects: where its commits are read from; what was removed is read of all effects.
    """
    return f"""--sql
  SELECT group_id, topic, partition, at_ms, max_by(committed, struct(seq, place)) AS committed
  FROM (
    SELECT group_id, one.topic, one.partition, at_ms, one.committed_offset AS committed, seq, place
    FROM (
      SELECT group_id, at_ms, seq, posexplode(said.offsets) AS (place, one)
      FROM {facts("offsets", OffsetsCommitted, table=effects)}
    )
    UNION ALL
    SELECT group_id, topic, explode(partitions) AS partition, at_ms, -1 AS committed, seq, 0 AS place
    FROM (
      SELECT group_id, at_ms, seq, inline(said.offsets)
      FROM {facts("offsets", OffsetsRemoved)}
    )
  )
  GROUP BY group_id, topic, partition, at_ms
"""


COMMITS = commits_of("effects")


def readable_end(of: str = "") -> str:
    """Up to where a reader of a log reads it; null: not known. of: what has the two ends, with a dot."""
    return f"CASE WHEN stops_at_stable THEN {of}last_stable_offset ELSE {of}end_offset END"


BEGINS_ANEW = f"""--sql
  coalesce(topic_id <> last_value(topic_id) IGNORE NULLS OVER before, false)
  OR coalesce(end_offset < last_value(end_offset) IGNORE NULLS OVER before
    AND at_ms - last_value(CASE WHEN end_offset IS NOT NULL THEN at_ms END) IGNORE NULLS OVER before >= {LATE_MS},
    false)
"""
"""Of the log ends of a partition, over the window BEFORE: the log is another one from here on. Which of the two a
commit between two known ends is of, nobody knows."""
BEFORE = """--sql
  before AS (PARTITION BY group_id, topic, partition ORDER BY at_ms ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
"""

READERS = f"""--sql
  SELECT group_id, topic, max(isolation_level = 'read_committed') AS is_read_committed
  FROM (
    SELECT DISTINCT client_id, client_host, topic, isolation_level
    FROM fetches
  )
  JOIN (
    SELECT DISTINCT group_id, client_id, {opened("client_host", MemberJoined)}.client_host AS client_host
    FROM effects
    WHERE effect = 'member_joined'
  ) USING (client_id, client_host)
  GROUP BY group_id, topic
"""
"""One row is a topic that a group fetches, as far as fetches tell: a Fetch names no group, so its client id and address
say whose it is."""

PARTITION_LAG = View(
    name="partition_lag",
    row="a moment at which a group's commit in a partition, or what is known of the partition's log, changed",
    rule=(
        "The lag is the log's end minus the commit, or minus the log's start if that is higher. Between two moments "
        "with known ends the end is interpolated; a commit proves that the log reached it. If clients fetch with "
        "read_committed and a last stable offset below the end was ever reported, the last stable offset is used. If "
        "the log has had transactions and one record is left, it is the marker of the last transaction and is not "
        "counted, unless clients read beyond the last stable offset. For a topic that was created again, nothing from "
        "before its first known end counts: which of the two logs it is of is not known. Null: no commit that counts "
        "is known, or no end of the log. "
        f"{COMMITS_RULE} From then until the partition's next commit is_recorded is false, and the lag, which counts "
        "from the last known commit, is an upper bound."
    ),
    columns=(
        *OF_PARTITION,
        Column("at", "timestamp", "the moment"),
        Column(
            "committed_offset",
            "bigint",
            "what the group had committed from this moment on, null: nothing, or not known",
        ),
        Column("log_start_offset", "bigint", "the first offset that was there, null: not known"),
        Column("end_offset", "bigint", "where the log ended for the group, null: not known yet"),
        Column("is_commit", "boolean", "the group committed at this moment"),
        Column("is_told", "boolean", "the end is known at this moment; false: it is interpolated, or as before"),
        Column("is_recorded", "boolean", "whether the latest commit is known; false: it may be missing"),
        Column("lag_before_records", "bigint", "the lag just before, records; null: not known"),
        Column("lag_records", "bigint", "the lag from this moment on, records; null: not known"),
    ),
    sql=f"""--sql
WITH {UNRECORDED}, commits AS ({COMMITS}), readers AS ({READERS}), reported AS (
  SELECT group_id, topic, partition, at_ms, max(log_start_offset) AS log_start, max(end_offset) AS end_offset,
    max(last_stable_offset) AS last_stable_offset, max(last_stable_offset < end_offset) AS is_undecided,
    max(topic_id) AS topic_id
  FROM (SELECT DISTINCT group_id, topic, partition FROM ({COMMITS}))
  JOIN log_ends USING (topic, partition)
  GROUP BY group_id, topic, partition, at_ms
), ends AS (
  SELECT *, {BEGINS_ANEW} AS begins_anew,
    is_read_committed AND max(is_undecided) OVER (PARTITION BY group_id, topic, partition) AS stops_at_stable
  FROM reported
  LEFT JOIN readers USING (group_id, topic)
  WINDOW {BEFORE}
), points AS (
  SELECT group_id, topic, partition, at_ms, CASE WHEN NOT max(begins_anew) THEN min(committed) END AS committed,
    max(log_start) AS log_start, max(log_end) AS log_end, max(has_transactions) AS has_transactions,
    max(is_undecided) AS is_undecided, max(begins_anew) AS begins_anew
  FROM (
    SELECT group_id, topic, partition, at_ms, committed, CAST(NULL AS BIGINT) AS log_start,
      CAST(NULL AS BIGINT) AS log_end, false AS has_transactions, CAST(NULL AS BOOLEAN) AS is_undecided,
      false AS begins_anew
    FROM commits
    UNION ALL
    SELECT group_id, topic, partition, at_ms, CAST(NULL AS BIGINT), log_start,
      {readable_end()}, is_undecided, is_undecided AND NOT coalesce(stops_at_stable, false), begins_anew
    FROM ends
  )
  GROUP BY group_id, topic, partition, at_ms
), moments AS (
  SELECT group_id, topic, partition, moment AS at_ms, unrecorded,
    CASE WHEN moment = at_ms THEN committed END AS committed,
    CASE WHEN moment = at_ms THEN log_start END AS log_start, CASE WHEN moment = at_ms THEN log_end END AS log_end,
    has_transactions, CASE WHEN moment = at_ms THEN is_undecided END AS is_undecided,
    begins_anew AND moment = at_ms AS begins_anew
  FROM (
    SELECT *, explode(CASE WHEN unrecorded IS NULL THEN array(at_ms)
      ELSE flatten(array(array(at_ms), filter(unrecorded, one -> one > at_ms AND one < next_ms))) END) AS moment
    FROM (
      SELECT *, lead(at_ms) OVER (PARTITION BY group_id, topic, partition ORDER BY at_ms) AS next_ms
      FROM points
    )
    LEFT JOIN unrecorded USING (group_id)
  )
), of_logs AS (
  SELECT *, count_if(begins_anew) OVER (PARTITION BY group_id, topic, partition ORDER BY at_ms) AS log_number
  FROM moments
), counting AS (
  SELECT * EXCEPT (committed), CASE WHEN committed >= 0 AND at_ms > last_known_ms AND log_number < last_log_number
      THEN -1 ELSE committed END AS committed
  FROM (
    SELECT *, max(log_number) OVER (PARTITION BY group_id, topic, partition) AS last_log_number,
      max(CASE WHEN log_end IS NOT NULL THEN at_ms END) OVER (PARTITION BY group_id, topic, partition, log_number)
        AS last_known_ms
    FROM of_logs
  )
), known AS (
  SELECT *,
    last_value(committed) IGNORE NULLS OVER so_far AS committed_now,
    last_value(committed) IGNORE NULLS OVER before AS committed_before,
    last_value(CASE WHEN committed IS NOT NULL THEN at_ms END) IGNORE NULLS OVER so_far AS committed_ms,
    last_value(log_start) IGNORE NULLS OVER so_far AS start_now,
    last_value(log_start) IGNORE NULLS OVER before AS start_before,
    last_value(log_end) IGNORE NULLS OVER so_far AS end_last,
    last_value(CASE WHEN log_end IS NOT NULL THEN at_ms END) IGNORE NULLS OVER so_far AS end_last_ms,
    first_value(log_end) IGNORE NULLS OVER to_come AS end_next,
    first_value(CASE WHEN log_end IS NOT NULL THEN at_ms END) IGNORE NULLS OVER to_come AS end_next_ms,
    max(has_transactions) OVER so_far
      AND NOT coalesce(last_value(is_undecided) IGNORE NULLS OVER so_far, false) AS ends_with_marker
  FROM counting
  WINDOW so_far AS (PARTITION BY group_id, topic, partition, log_number ORDER BY at_ms
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW),
    before AS (PARTITION BY group_id, topic, partition, log_number ORDER BY at_ms
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
    to_come AS (PARTITION BY group_id, topic, partition, log_number ORDER BY at_ms
      ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)
), ended AS (
  SELECT group_id, topic, partition, at_ms, coalesce(committed >= 0, false) AS is_commit,
    log_end IS NOT NULL AS is_told,
    coalesce(committed_ms >= array_max(filter(unrecorded, one -> one <= at_ms)), true) AS is_recorded,
    begins_anew, ends_with_marker, start_now,
    nullif(committed_now, -1) AS committed_now,
    CASE WHEN committed_now >= 0 THEN greatest(committed_now, start_now) END AS read_now,
    CASE WHEN committed_before >= 0 THEN greatest(committed_before, start_before) END AS read_before,
    CASE WHEN log_end IS NULL AND end_next > end_last
      THEN end_last + (end_next - end_last) * (at_ms - end_last_ms) div (end_next_ms - end_last_ms)
      ELSE end_last END AS end_now
  FROM known
), behind AS (
  SELECT *,
    CASE WHEN end_now - read_now > 0 THEN end_now - read_now WHEN end_now >= 0 AND read_now >= 0 THEN 0 END AS lag_now,
    CASE WHEN end_now - read_before > 0 THEN end_now - read_before WHEN end_now >= 0 AND read_before >= 0 THEN 0 END
      AS lag_before
  FROM ended
), counted AS (
  SELECT *,
    CASE WHEN ends_with_marker AND lag_before = 1 THEN 0 ELSE lag_before END AS lag_before_records,
    CASE WHEN ends_with_marker AND lag_now = 1 THEN 0 ELSE lag_now END AS lag_records
  FROM behind
)
SELECT group_id, topic, partition, timestamp_millis(at_ms) AS at, committed_now, start_now, end_now, is_commit,
  is_told, is_recorded,
  CASE WHEN begins_anew THEN lag(lag_records) OVER (PARTITION BY group_id, topic, partition ORDER BY at_ms)
    ELSE lag_before_records END AS lag_before_records,
  lag_records
FROM counted
""",
)
