"""The view `members`: who is a member now, its fields, what it owns, and until when its session runs."""

from __future__ import annotations

from rollcall.answers.views.view import GROUP_ID, LIVES, Column, View

MEMBERS = View(
    name="members",
    row="a member now",
    rule=(
        "The sessions that have not ended. A member's session timer restarts with every accepted Heartbeat and "
        "OffsetCommit, with every answer to its parked JoinGroup or SyncGroup, and with every join phase that ends "
        "with it as a member. The partitions are those of `assignments` that it still holds."
    ),
    columns=(
        GROUP_ID,
        Column("member_id", "string", "the member"),
        Column("client_id", "string", "its client id"),
        Column("client_host", "string", "the host it joined from"),
        Column("group_instance_id", "string", "its group.instance.id, null for a dynamic member"),
        Column("session_timeout_ms", "bigint", "how long it may be silent, ms"),
        Column("rebalance_timeout_ms", "bigint", "how long others wait for it in a rebalance, ms"),
        Column("joined_at", "timestamp", "when it became a member"),
        Column("last_seen_at", "timestamp", "when its latest request that was taken arrived"),
        Column(
            "session_deadline_at",
            "timestamp",
            "when its session ends at the earliest if it stays silent; null while an answer is owed to it",
        ),
        Column("waits_for", "string", "JoinGroup or SyncGroup while that is parked, otherwise null"),
        Column("synced_generation_id", "int", "the latest generation it sent a SyncGroup for, null: none yet"),
        Column("topics", "array<string>", "what it subscribes to, null where its bytes do not say"),
        Column("assigned_partitions", "array<string>", "what it holds, as topic-partition, in order; empty: nothing"),
    ),
    sql=f"""--sql
WITH lives AS ({LIVES}
), holdings AS (
  SELECT group_id, member_id,
    transform(sort_array(collect_list(struct(topic, partition))), p -> p.topic || '-' || p.partition) AS partitions
  FROM assignments
  WHERE to_at IS NULL
  GROUP BY group_id, member_id
)
SELECT group_id, member_id, client_id, client_host, group_instance_id, session_timeout_ms, rebalance_timeout_ms,
  joined_at,
  timestamp_millis(last_seen_ms) AS last_seen_at,
  CASE WHEN waits_for IS NULL THEN timestamp_millis(session_from_ms + session_timeout_ms) END AS session_deadline_at,
  waits_for, synced_generation_id, topics,
  coalesce(partitions, array()) AS assigned_partitions
FROM sessions
LEFT JOIN lives USING (group_id, member_id)
LEFT JOIN holdings USING (group_id, member_id)
WHERE ended_at IS NULL
""",
    of_consumers=(
        "`last_seen_at` is its latest heartbeat that was taken, from which its session runs; commits do not "
        "count. It waits for nothing and syncs nothing. It holds what it may use and what it has been asked to "
        "give up. `topics` are the names it subscribes to, without what a regular expression stands for."
    ),
)
