"""The view `double_owners`: partitions whose old owner still acted after a new one had them."""

from __future__ import annotations

from rollcall.answers.views.view import BEATS, OF_PARTITION, Column, Detector, View

DOUBLE_OWNERS = View(
    name="double_owners",
    row="a partition that two members took for theirs at one time",
    rule=(
        "A partition's old owner sent a Heartbeat or an OffsetCommit after the next owner had been given it, and was "
        "refused with UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION or FENCED_INSTANCE_ID: it did not know yet that it "
        "had lost the partition. It knew, and is not listed, if it gave the partition up itself by joining again, or "
        "if a heartbeat, JoinGroup or SyncGroup of it was accepted in between. Records that it processed in that time "
        "may have been processed twice; whether it processed any is unknown."
    ),
    columns=(
        *OF_PARTITION,
        Column("old_member_id", "string", "who had lost it"),
        Column("old_client_id", "string", "its client id"),
        Column("new_member_id", "string", "who had it by then"),
        Column("new_client_id", "string", "its client id"),
        Column("lost_at", "timestamp", "when the old owner lost it"),
        Column("given_at", "timestamp", "when the new owner was given it"),
        Column("last_acted_at", "timestamp", "when the old owner acted on it for the last time"),
        Column("overlap_ms", "bigint", "from given_at to last_acted_at, ms"),
        Column("heartbeats", "bigint", "how many heartbeats the old owner sent after given_at"),
        Column("commits", "bigint", "how many OffsetCommits"),
        Column("error_code", "string", "how the first of them was refused"),
    ),
    sql=f"""--sql
WITH acts AS (
  SELECT group_id, member_id, api, error_code, timestamp_millis(received_at_ms) AS acted_at
  FROM effects
  WHERE effect = 'reply' AND api IN ('Heartbeat', 'ConsumerGroupHeartbeat', 'OffsetCommit')
    AND error_code IN (
      'UNKNOWN_MEMBER_ID', 'ILLEGAL_GENERATION', 'FENCED_INSTANCE_ID', 'FENCED_MEMBER_EPOCH', 'STALE_MEMBER_EPOCH')
), learned AS (
  SELECT group_id, member_id, at_ms
  FROM effects
  WHERE effect = 'reply' AND error_code = 'NONE' AND generation_id >= 0
    AND api IN ('Heartbeat', 'ConsumerGroupHeartbeat', 'JoinGroup', 'SyncGroup')
  UNION ALL
  SELECT group_id, member_id, from_ms + beat AS at_ms
  FROM ({BEATS})
  UNION ALL
  SELECT group_id, member_id, at_ms + 1 AS at_ms
  FROM effects
  WHERE effect IN ('join_received', 'member_progressed')
), handed_over AS (
  SELECT group_id, topic, partition, member_id, client_id, to_at AS lost_at,
    lead(member_id) OVER in_time AS new_member_id,
    lead(client_id) OVER in_time AS new_client_id,
    lead(from_at) OVER in_time AS given_at
  FROM assignments
  WINDOW in_time AS (PARTITION BY group_id, topic, partition ORDER BY from_at, generation_id, member_id)
), refused AS (
  SELECT h.group_id, h.topic, h.partition, h.member_id, h.client_id, h.new_member_id, h.new_client_id, h.lost_at,
    h.given_at, a.api, a.error_code, a.acted_at
  FROM handed_over h
  JOIN acts a ON a.group_id = h.group_id AND a.member_id = h.member_id AND a.acted_at > h.given_at
  WHERE h.new_member_id <> h.member_id
), unaware AS (
  SELECT r.*
  FROM refused r
  LEFT ANTI JOIN learned l
    ON l.group_id = r.group_id AND l.member_id = r.member_id
    AND l.at_ms > unix_millis(r.lost_at) AND l.at_ms <= unix_millis(r.acted_at)
)
SELECT group_id, topic, partition, member_id AS old_member_id, client_id AS old_client_id, new_member_id, new_client_id,
  lost_at, given_at,
  max(acted_at) AS last_acted_at,
  unix_millis(max(acted_at)) - unix_millis(given_at) AS overlap_ms,
  count_if(api <> 'OffsetCommit') AS heartbeats,
  count_if(api = 'OffsetCommit') AS commits,
  min_by(error_code, struct(acted_at, error_code)) AS error_code
FROM unaware
GROUP BY group_id, topic, partition, member_id, client_id, new_member_id, new_client_id, lost_at, given_at
""",
    detector=Detector(
        "double owner",
        "double owners",
        "{topic}-{partition}: {old_client_id} continued for {overlap_ms} after {new_client_id} had it; "
        "{commits:commit} refused",
        since="given_at",
        until="last_acted_at",
        link=("topic", "partition"),
        rebalance="first",
    ),
    of_consumers=(
        "A partition is given away only when its owner has let go of it or is no longer a member. A member that was "
        "removed and does not know it yet may continue; its heartbeats and commits are refused with UNKNOWN_MEMBER_ID, "
        "FENCED_MEMBER_EPOCH or STALE_MEMBER_EPOCH."
    ),
)
