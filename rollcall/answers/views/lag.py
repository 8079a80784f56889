"""The view `lag`: how far behind every group is in every partition now, in records and in time, and who owns it."""

from __future__ import annotations

from rollcall.answers.views.details import opened
from rollcall.answers.views.partition_lag import BEFORE, BEGINS_ANEW, NAMED, READERS, commits_of, readable_end
from rollcall.answers.views.recorded import COMMITS_RULE, unrecorded_between
from rollcall.answers.views.view import OF_PARTITION, Column, View
from rollcall.schemas.effects import MemberJoined
from rollcall.tables.lag.kept import MOVING_WITHIN_MS

TREND_MS = 60_000
"""Whoever tells a trend compares with the lag of this long before the latest news of any end."""


_RECENT = f"""--sql
  SELECT effects.*
  FROM (
    SELECT group_id, explode(filter(moments, one -> before_ms IS NULL OR one >= before_ms)) AS at_ms
    FROM (
      SELECT *, array_max(filter(moments, one -> one <= last_ms - {MOVING_WITHIN_MS})) AS before_ms
      FROM (
        SELECT group_id, collect_list(at_ms) AS moments, max(at_ms) AS last_ms
        FROM (
          SELECT group_id, at_ms, {NAMED} AS named
          FROM effects
          WHERE effect = 'offsets_committed'
        )
        GROUP BY group_id, named
      )
    )
  ) AS kept
  JOIN effects ON effects.group_id = kept.group_id AND effects.at_ms = kept.at_ms
"""
"""The effects with every commit that counts for where a group stands now and whether it moves.

Of the commits of a group that name the same partitions, those of the last minute before the latest count, and the one
before them. A partition that others name too has its latest commit no earlier, so its own last minute is among them.
"""

_SINCE_COMMITTED = """--sql
    SELECT group_id, min(committed_ms) AS from_ms, greatest(max(said.at_ms), (SELECT asked_ms FROM asked)) AS until_ms
    FROM known
    WHERE readable_end > committed
    GROUP BY group_id
"""
"""The groups that may be behind: were it of the table `behind`, a filter on group_id would not reach the files."""

# Every table of its WITH that is computed of a group's facts is read once, so that a filter on group_id reaches the
# files. The right side of each join is the one to keep in memory, so log_ends stands on the left: with a filter on the
# moment DuckDB takes it for smaller than it is.
LAG = View(
    name="lag",
    row="a partition that a group has committed an offset of, or that a member owns",
    rule=(
        "The lag is the last known end of the log minus the commit; 0 if the commit is ahead. If the commit is below "
        "the log's start, the lag counts from the start, and the records between are lost. If clients fetch with "
        "read_committed and a last stable offset below the end was ever reported, the last stable offset is used, and "
        "the marker that ends the last transaction is not counted: an end that was reported without that offset is no "
        "news for them. "
        "The lag in time is how long before end_known_at the log's end was at the commit. It is interpolated between "
        "two moments with known ends, and so only as exact as they are close; 0 if nothing is to be read; null if the "
        "log's known history is too short. For a topic that was created again, nothing from before its first known end "
        "counts, by the rule of `partition_lag`. The owner is the member that holds the partition now, whoever "
        f"committed. {COMMITS_RULE} From then until the partition's next commit lag_records counts from the last known "
        "commit and is an upper bound, and what else follows of the commit is null, unless nothing is to be read."
    ),
    columns=(
        *OF_PARTITION,
        Column("member_id", "string", "the member that owns it, null: nobody"),
        Column("client_id", "string", "that member's client id"),
        Column("client_host", "string", "that member's host"),
        Column("committed_offset", "bigint", "the offset the group would continue from, null: none"),
        Column("committed_at", "timestamp", "when it was committed"),
        Column(
            "fetched_offset", "bigint", "up to where its owner has fetched, processed or not; null: no fetch is known"
        ),
        Column("log_start_offset", "bigint", "the first offset that is there, null: not known"),
        Column("end_offset", "bigint", "where the log ends, null: not known"),
        Column("last_stable_offset", "bigint", "up to where its transactions are decided, null: not known"),
        Column("end_known_at", "timestamp", "when the log stood so"),
        Column("lag_records", "bigint", "how many records are to be read, null: not known"),
        Column("lag_ms", "bigint", "how old the oldest of them is, ms; null: not known"),
        Column(
            "records_lost",
            "bigint",
            "how many records after the latest commit were removed before the group read them; null: not known. "
            "`rollcall lag` and the page add earlier losses from the view `records_lost`, which reads all commits",
        ),
        Column(
            "is_moving",
            "boolean",
            f"nothing is to be read, or the commit rose in the {MOVING_WITHIN_MS // 1000} s before the latest news "
            "of the "
            "partition; null: no commit, or no end known, or the commit may be missing",
        ),
        Column("caught_up_at", "timestamp", "the moment up to whose records all is read: end_known_at less lag_ms"),
        Column("is_upper_bound", "boolean", "lag_records is at most so high, since a later commit may be missing"),
    ),
    sql=f"""--sql
WITH recent AS ({_RECENT}), commits AS ({commits_of("recent")}), readers AS ({READERS}), latest AS (
  SELECT group_id, topic, partition, last.committed, last.at_ms AS committed_ms, rose_ms
  FROM (
    SELECT group_id, topic, partition, max(struct(at_ms, committed)) AS last,
      max(CASE WHEN rose THEN at_ms END) AS rose_ms
    FROM (
      SELECT *, coalesce(committed > lag(committed) OVER (PARTITION BY group_id, topic, partition ORDER BY at_ms), true)
        AS rose
      FROM commits
    )
    GROUP BY group_id, topic, partition
  )
  WHERE last.committed >= 0
), owners AS (
  SELECT group_id, topic, partition, max_by(member_id, struct(from_at, member_id)) AS member_id,
    max_by(client_id, struct(from_at, member_id)) AS client_id
  FROM assignments
  WHERE to_at IS NULL AND partition >= 0
  GROUP BY group_id, topic, partition
), members_said AS (
  SELECT group_id, member_id, said.client_host, said.session_timeout_ms
  FROM (
    SELECT group_id, member_id, {opened("client_host session_timeout_ms", MemberJoined)} AS said
    FROM effects
    WHERE effect IN ('member_joined', 'member_updated')
  )
), hosts AS (
  SELECT group_id, member_id, max(client_host) AS client_host
  FROM members_said
  GROUP BY group_id, member_id
), fetched AS (
  SELECT client_id, client_host, topic, partition, max(struct(at_ms, fetched_offset)).fetched_offset AS fetched_offset
  FROM fetches
  GROUP BY client_id, client_host, topic, partition
), asked AS (
  SELECT max(at_ms) AS asked_ms
  FROM log_ends
  WHERE topic IS NULL
), held AS (
  SELECT group_id, topic, partition, max(member_id) AS member_id, max(client_id) AS client_id,
    max(committed) AS committed, max(committed_ms) AS committed_ms, max(rose_ms) AS rose_ms
  FROM (
    SELECT *, CAST(NULL AS STRING) AS member_id, CAST(NULL AS STRING) AS client_id
    FROM latest
    UNION ALL
    SELECT group_id, topic, partition, CAST(NULL AS BIGINT), CAST(NULL AS BIGINT), CAST(NULL AS BIGINT), member_id,
      client_id
    FROM owners
  )
  GROUP BY group_id, topic, partition
), ends AS (
  SELECT group_id, topic, partition,
    max(CASE WHEN end_offset IS NOT NULL THEN at_ms END) AS latest_ms,
    max(CASE WHEN last_stable_offset IS NOT NULL THEN at_ms END) AS decided_ms,
    max(CASE WHEN log_start_offset IS NOT NULL THEN at_ms END) AS begun_ms,
    max(CASE WHEN end_offset IS NOT NULL AND at_ms < committed_ms THEN at_ms END) AS committed_after_ms,
    max(CASE WHEN topic_id IS NOT NULL AND at_ms < committed_ms THEN at_ms END) AS id_known_ms,
    max(CASE WHEN last_stable_offset < end_offset THEN at_ms END) AS undecided_ms,
    max(end_offset) AS highest
  FROM (SELECT * FROM log_ends WHERE topic IS NOT NULL)
  JOIN held USING (topic, partition)
  GROUP BY group_id, topic, partition
), last_ends AS (
  SELECT group_id, topic, partition, committed_after_ms, id_known_ms, undecided_ms, highest,
    max(CASE WHEN at_ms = latest_ms AND end_offset IS NOT NULL
      THEN struct(at_ms, end_offset, last_stable_offset) END) AS latest,
    max(CASE WHEN at_ms = decided_ms AND last_stable_offset IS NOT NULL
      THEN struct(at_ms, end_offset, last_stable_offset) END) AS decided,
    max(CASE WHEN at_ms = begun_ms AND log_start_offset IS NOT NULL THEN struct(at_ms, log_start_offset) END) AS begun
  FROM log_ends
  JOIN ends USING (topic, partition)
  WHERE at_ms >= least(latest_ms, decided_ms, begun_ms)
  GROUP BY group_id, topic, partition, committed_after_ms, id_known_ms, undecided_ms, highest
), known AS (
  SELECT *, CASE WHEN committed >= 0 THEN greatest(committed, begun.log_start_offset) END AS read_to,
    {readable_end("said.")} AS readable_end
  FROM (
    SELECT *, CASE WHEN stops_at_stable THEN decided ELSE latest END AS said
    FROM (
      SELECT *, is_read_committed AND undecided_ms IS NOT NULL AS stops_at_stable
      FROM held
      LEFT JOIN last_ends USING (group_id, topic, partition)
      LEFT JOIN readers USING (group_id, topic)
    )
  )
), anew AS (
  SELECT group_id, topic, partition, max(CASE WHEN begins_anew THEN at_ms END) AS anew_ms
  FROM (
    SELECT group_id, topic, partition, at_ms, {BEGINS_ANEW} AS begins_anew
    FROM log_ends
    JOIN (
      SELECT group_id, topic, partition,
        least(coalesce(committed_after_ms, committed_ms), id_known_ms, said.at_ms, begun.at_ms,
          CASE WHEN readable_end - read_to = 1 THEN undecided_ms END) AS from_ms
      FROM known
    ) USING (topic, partition)
    WHERE at_ms >= from_ms
    WINDOW {BEFORE}
  )
  GROUP BY group_id, topic, partition
), reached AS (
  SELECT group_id, topic, partition, read_to, stops_at_stable, max(at_ms) AS before_ms,
    coalesce(max(CASE WHEN topic_id IS NOT NULL THEN at_ms END), max(at_ms)) AS id_known_ms
  FROM log_ends
  JOIN (
    SELECT group_id, topic, partition, read_to, stops_at_stable
    FROM known
    WHERE readable_end > read_to
  ) USING (topic, partition)
  WHERE {readable_end()} <= read_to
  GROUP BY group_id, topic, partition, read_to, stops_at_stable
), around AS (
  SELECT group_id, topic, partition, read_to AS dated_to, before_ms,
    min(CASE WHEN at_ms = before_ms THEN stood END) AS before,
    min(CASE WHEN stood > read_to THEN at_ms END) AS after_ms, min(CASE WHEN stood > read_to THEN stood END) AS after
  FROM (
    SELECT group_id, topic, partition, read_to, before_ms, at_ms,
      {readable_end()} AS stood, {BEGINS_ANEW} AS begins_anew
    FROM log_ends
    JOIN reached USING (topic, partition)
    WHERE at_ms >= id_known_ms
    WINDOW {BEFORE}
  )
  GROUP BY group_id, topic, partition, read_to, before_ms
  HAVING NOT max(begins_anew)
), of_this_log AS (
  SELECT group_id, topic, partition, member_id, client_id, committed, committed_ms, rose_ms, stops_at_stable, latest,
    highest, anew_ms,
    CASE WHEN said.at_ms >= coalesce(anew_ms, 0) THEN said END AS said,
    CASE WHEN begun.at_ms >= coalesce(anew_ms, 0) THEN begun.log_start_offset END AS log_start,
    coalesce(undecided_ms >= coalesce(anew_ms, 0), false) AS has_transactions
  FROM known
  LEFT JOIN anew USING (group_id, topic, partition)
), placed AS (
  SELECT *, said.end_offset AS log_end, said.last_stable_offset AS stable,
    CASE WHEN said.at_ms < latest.at_ms THEN said.at_ms
      WHEN said IS NOT NULL THEN greatest(said.at_ms, (SELECT asked_ms FROM asked)) END AS end_known_ms,
    {readable_end("said.")} AS readable_end,
    has_transactions AND (stops_at_stable OR said.last_stable_offset = said.end_offset)
      AS ends_with_marker,
    CASE WHEN committed_ms <= anew_ms OR (committed > said.end_offset AND highest > said.end_offset) THEN NULL
      WHEN committed >= 0 THEN greatest(committed, log_start) END AS read_to
  FROM of_this_log
), behind AS (
  SELECT *,
    CASE WHEN read_to IS NULL OR readable_end IS NULL THEN NULL
      WHEN readable_end <= read_to OR (coalesce(ends_with_marker, false) AND readable_end - read_to = 1) THEN 0
      ELSE readable_end - read_to END AS lag_records
  FROM placed
), {unrecorded_between(_SINCE_COMMITTED)}, timed AS (
  SELECT *, coalesce(committed_ms >= array_max(filter(unrecorded, one -> one <= end_known_ms)), true) AS is_recorded,
    CASE WHEN lag_records = 0 THEN 0
      WHEN committed_ms < array_max(filter(unrecorded, one -> one <= end_known_ms)) THEN NULL
      WHEN before_ms < after_ms AND read_to = dated_to
        THEN end_known_ms - before_ms - (after_ms - before_ms) * (read_to - before) div (after - before) END AS lag_ms
  FROM behind
  LEFT JOIN around USING (group_id, topic, partition)
  LEFT JOIN unrecorded USING (group_id)
  LEFT JOIN hosts USING (group_id, member_id)
  LEFT JOIN fetched USING (client_id, client_host, topic, partition)
)
SELECT group_id, topic, partition, member_id, client_id, client_host, committed,
  timestamp_millis(committed_ms) AS committed_at, fetched_offset, log_start, log_end, stable,
  timestamp_millis(end_known_ms) AS end_known_at, lag_records, lag_ms,
  CASE WHEN is_recorded AND read_to IS NOT NULL AND log_start IS NOT NULL
    THEN greatest(log_start - committed, 0) END AS records_lost,
  CASE WHEN lag_records = 0 THEN true
    WHEN is_recorded AND lag_records > 0 THEN greatest(end_known_ms, committed_ms) - rose_ms < {MOVING_WITHIN_MS}
  END AS is_moving,
  timestamp_millis(end_known_ms - lag_ms) AS caught_up_at,
  coalesce(lag_records > 0 AND NOT is_recorded, false) AS is_upper_bound
FROM timed
""",
    does_with_recent_commits=True,
    is_joined_as_written=True,
)
