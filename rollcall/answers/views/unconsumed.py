"""The detector `unconsumed`: a partition that members subscribe to and nobody owns."""

from __future__ import annotations

from rollcall.answers.views.view import OF_PARTITION, Column, Detector, View

ALARMING_MS = 60_000
"""During a rebalance nobody owns it for a moment."""

UNCONSUMED = View(
    name="unconsumed",
    row="a partition of a topic that a member of the group subscribes to, which no member owns now",
    rule=(
        "Partitions are known from the group's own assignments and commits and from the ends of logs; topics from the "
        "present members' subscriptions. During a rebalance a partition may be listed for a moment, until it has a new "
        "owner."
    ),
    columns=(
        *OF_PARTITION,
        Column("from_at", "timestamp", "since when: its last owner gave it up, or the members came; null: not known"),
        Column("to_at", "timestamp", "null: ongoing"),
        Column("last_client_id", "string", "who owned it last, null: nobody"),
        Column("lag_records", "bigint", "how many records are to be read of it, null: not known"),
    ),
    sql="""--sql
WITH subscribed AS (
  SELECT group_id, topic, min(joined_at) AS joined_at
  FROM (
    SELECT group_id, joined_at, explode(topics) AS topic
    FROM sessions
    WHERE ended_at IS NULL
  )
  GROUP BY group_id, topic
), known AS (
  SELECT group_id, topic, partition
  FROM subscribed
  JOIN (SELECT DISTINCT topic, partition FROM log_ends WHERE topic IS NOT NULL) USING (topic)
  UNION
  SELECT group_id, topic, partition FROM assignments WHERE partition >= 0
  UNION
  SELECT group_id, topic, partition FROM offsets
), owned AS (
  SELECT group_id, topic, partition, count(to_at) = count(*) AS is_free, max(to_at) AS free_at,
    max_by(client_id, struct(to_at, client_id)) AS client_id
  FROM assignments
  GROUP BY group_id, topic, partition
)
SELECT group_id, topic, partition, greatest(free_at, joined_at) AS from_at, CAST(NULL AS TIMESTAMP) AS to_at,
  owned.client_id, lag_records
FROM known
JOIN subscribed USING (group_id, topic)
LEFT JOIN owned USING (group_id, topic, partition)
LEFT JOIN (SELECT group_id, topic, partition, lag_records FROM lag) USING (group_id, topic, partition)
WHERE coalesce(is_free, true)
""",
    does_without_ends=True,
    detector=Detector(
        "unowned partition",
        "unowned partitions",
        "nobody owns {topic}-{partition}, to which members subscribe[; {lag_records:record} behind]",
        link=("topic", "partition"),
        is_news=f"from_at IS NULL OR epoch_ms(to_at) - epoch_ms(from_at) >= {ALARMING_MS}",
    ),
)
