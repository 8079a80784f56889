"""The detector `records_lost`: records that were removed before a group had read them, or soon will be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rollcall.answers.views.recorded import COMMITS_RULE
from rollcall.answers.views.view import OF_PARTITION, Column, Detector, View

WITHIN_MS = 3_600_000


def lost_in_all(of: str, where: str) -> str:
    """Return the query of how many records each partition lost so far. of: the view `records_lost`, or a list of it."""
    return (
        "SELECT group_id, topic, partition, CAST(sum(records_lost) AS BIGINT) AS records_lost "
        f"FROM {of} WHERE records_lost > 0 AND {where} GROUP BY group_id, topic, partition"
    )


def with_all_lost(rows: Iterable[dict[str, Any]], lost: Iterable[Mapping[str, Any]]) -> None:
    """Give rows of `lag`, which count what was lost since the latest commit, all that their partitions lost so far."""
    in_all = {(one["group_id"], one["topic"], one["partition"]): one["records_lost"] for one in lost}
    for row in rows:
        row["records_lost"] = in_all.get((row["group_id"], row["topic"], row["partition"]), row["records_lost"])


RECORDS_LOST = View(
    name="records_lost",
    row="a time in which a group's commit in a partition was below the start of the log, or a commit that soon will be",
    rule=(
        "It begins when the log's start passes the commit, and ends when the group commits at or beyond the start. "
        "Records that were processed and not committed count as lost too, since they look the same. A commit that is "
        f"still in the log is reported if, at the pace of the last known {WITHIN_MS // 60_000} minutes, the start will "
        f"pass it within {WITHIN_MS // 60_000} minutes: expected_at says when, and nothing is lost yet. "
        f"{COMMITS_RULE} Nothing is inferred from then on until the partition's next commit."
    ),
    columns=(
        *OF_PARTITION,
        Column(
            "from_at", "timestamp", "since when the log starts beyond the commit; of what is expected: the latest news"
        ),
        Column("to_at", "timestamp", "when the group committed beyond the start; null: it has not yet"),
        Column("committed_offset", "bigint", "the commit"),
        Column("log_start_offset", "bigint", "where the log starts"),
        Column("records_lost", "bigint", "how many records were lost, 0: none yet"),
        Column("expected_at", "timestamp", "when the start will pass the commit; null: it has"),
    ),
    sql=f"""--sql
WITH moments AS (
  SELECT group_id, topic, partition, unix_millis(at) AS at_ms, committed_offset, log_start_offset,
    coalesce(committed_offset < log_start_offset, false) AS is_lost, ends_recorded
  FROM (
    SELECT *, last_value(is_recorded) OVER (
        PARTITION BY group_id, topic, partition ORDER BY at ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
      ) AS ends_recorded
    FROM partition_lag
  )
  WHERE is_recorded
), changes AS (
  SELECT *, is_lost AND NOT coalesce(lag(is_lost) OVER so_far, false) AS begins,
    lead(at_ms) OVER so_far AS next_ms
  FROM moments
  WINDOW so_far AS (PARTITION BY group_id, topic, partition ORDER BY at_ms)
), losses AS (
  SELECT *, count_if(begins) OVER (PARTITION BY group_id, topic, partition ORDER BY at_ms) AS loss
  FROM changes
), recent AS (
  SELECT group_id, topic, partition, max(at_ms) AS last_ms, min(at_ms) AS first_ms,
    max_by(committed_offset, at_ms) AS committed, min_by(committed_offset, at_ms) AS committed_first,
    max_by(log_start_offset, at_ms) AS log_start, min_by(log_start_offset, at_ms) AS log_start_first
  FROM (
    SELECT *, max(at_ms) OVER (PARTITION BY group_id, topic, partition) AS latest_ms
    FROM moments
    WHERE committed_offset IS NOT NULL AND log_start_offset IS NOT NULL AND ends_recorded
  )
  WHERE at_ms >= latest_ms - {WITHIN_MS}
  GROUP BY group_id, topic, partition
), expected AS (
  SELECT *, (committed - log_start) * (last_ms - first_ms)
    div ((log_start - log_start_first) - (committed - committed_first)) AS left_ms
  FROM recent
  WHERE committed >= log_start AND committed >= committed_first AND last_ms > first_ms
    AND log_start - log_start_first > committed - committed_first
)
SELECT group_id, topic, partition, timestamp_millis(min(at_ms)) AS from_at,
  CASE WHEN count(next_ms) = count(*) THEN timestamp_millis(max(next_ms)) END AS to_at,
  min_by(committed_offset, at_ms) AS committed_offset, max(log_start_offset) AS log_start_offset,
  max(log_start_offset - committed_offset) AS records_lost, CAST(NULL AS TIMESTAMP) AS expected_at
FROM losses
WHERE is_lost
GROUP BY group_id, topic, partition, loss
UNION ALL
SELECT group_id, topic, partition, timestamp_millis(last_ms), NULL, committed, log_start, 0,
  timestamp_millis(last_ms + left_ms)
FROM expected
WHERE left_ms <= {WITHIN_MS}
""",
    detector=Detector(
        "record loss",
        "record losses",
        "[is expected to lose records of {topic}-{partition} at about {expected_at}, unless it catches up|"
        "lost {records_lost:record} of {topic}-{partition}, removed before the group committed them]",
        more_expected="{n:more partition} may lose records",
        link=("topic", "partition"),
        worth_telling="records_lost > 0 OR expected_at IS NOT NULL",
        severity="critical",
    ),
)
