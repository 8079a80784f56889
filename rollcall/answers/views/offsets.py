"""The view `offsets`: what every group has committed, partition by partition."""

from __future__ import annotations

from rollcall.answers.views.details import facts
from rollcall.answers.views.view import OF_PARTITION, Column, View
from rollcall.schemas.effects import OffsetsCommitted, OffsetsRemoved

OFFSETS = View(
    name="offsets",
    row="a committed offset now",
    rule="The latest offsets_committed of a partition, unless an offsets_removed came after it.",
    columns=(
        *OF_PARTITION,
        Column("committed_offset", "bigint", "the offset the group would continue from"),
        Column("leader_epoch", "int", "the leader epoch the client named, -1: none"),
        Column("metadata", "string", "what the client noted with it"),
        Column("committed_at", "timestamp", "when it was committed"),
        Column("member_id", "string", "who committed it, null for a consumer that assigns its own partitions"),
    ),
    sql=f"""--sql
WITH commits AS (
  SELECT group_id, at_ms, seq, member_id, posexplode(said.offsets) AS (place, offset)
  FROM {facts("offsets", OffsetsCommitted, columns="group_id, at_ms, seq, member_id")}
), removals AS (
  SELECT group_id, at_ms, seq, inline(said.offsets)
  FROM {facts("offsets", OffsetsRemoved)}
), turns AS (
  SELECT group_id, offset.topic, offset.partition, struct(at_ms, seq, place) AS turn, member_id, offset
  FROM commits
  UNION ALL
  SELECT group_id, topic, partition, struct(at_ms, seq, 0 AS place), NULL, NULL
  FROM (SELECT *, explode(partitions) AS partition FROM removals)
), latest AS (
  SELECT group_id, topic, partition, max_by(struct(member_id, offset), turn) AS last
  FROM turns
  GROUP BY group_id, topic, partition
)
SELECT group_id, topic, partition, last.offset.committed_offset, last.offset.leader_epoch, last.offset.metadata,
  timestamp_millis(last.offset.commit_timestamp_ms) AS committed_at,
  nullif(last.member_id, '') AS member_id
FROM latest
WHERE last.offset IS NOT NULL
""",
)
