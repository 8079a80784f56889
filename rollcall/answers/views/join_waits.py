"""The view `join_waits`: each member's part in a rebalance, and how long it alone kept the others waiting."""

from __future__ import annotations

from rollcall.answers.views.details import facts, opened
from rollcall.answers.views.view import AT_DATE, GROUP_ID, Column, View
from rollcall.schemas.effects import RebalanceEnded, RebalanceStarted

FIELDS = "from_generation_id to_generation_id started_at_ms outcome waits"

JOIN_WAITS = View(
    name="join_waits",
    row="a member's part in a rebalance",
    rule=(
        "What rebalance_ended says of every member that took part or was awaited. While a rebalance runs: every "
        "member of the group now, with what has arrived of it so far."
    ),
    columns=(
        GROUP_ID,
        Column("from_generation_id", "int", "the generation the rebalance left"),
        Column("to_generation_id", "int", "the generation it led to, null while it runs"),
        Column("member_id", "string", "the member, or an id given out that was awaited"),
        Column("client_id", "string", "its client id"),
        Column("client_host", "string", "its host"),
        Column("group_instance_id", "string", "its group.instance.id, null for a dynamic member"),
        Column("joined_at", "timestamp", "when its JoinGroup came, null: it did not come"),
        Column("synced_at", "timestamp", "when its SyncGroup came; null if not before the rebalance ended"),
        Column(
            "held_others_ms",
            "bigint",
            "how long the others waited only for it, ms: the last to join if no other joined in that millisecond, "
            "those that never did, and the leader until its assignment came; null while the rebalance runs",
        ),
        Column("started_at", "timestamp", "when the rebalance began"),
        Column("outcome", "string", "the rebalance's outcome, null while it runs"),
        AT_DATE,
    ),
    sql=f"""--sql
WITH arrivals AS (
  SELECT group_id, member_id,
    max(at_ms) FILTER (WHERE effect = 'join_received') AS joined_at_ms,
    max(at_ms) FILTER (WHERE effect = 'sync_received') AS synced_at_ms
  FROM effects
  WHERE effect IN ('join_received', 'sync_received')
  GROUP BY group_id, member_id
), running AS (
  SELECT group_id, {opened("at_ms from_generation_id", RebalanceStarted, of="last.detail")} AS started, last.at_date
  FROM (
    SELECT group_id, max(struct(at_ms, seq, effect, detail, at_date)) AS last
    FROM (
      SELECT group_id, at_ms, seq, effect, CASE WHEN effect = 'rebalance_started' THEN detail END AS detail, at_date
      FROM effects
      WHERE effect IN ('rebalance_started', 'rebalance_ended')
    )
    GROUP BY group_id
  )
  WHERE last.effect = 'rebalance_started'
)
SELECT group_id, said.from_generation_id, said.to_generation_id,
  wait.member_id, wait.client_id, wait.client_host, wait.group_instance_id,
  timestamp_millis(wait.joined_at_ms) AS joined_at,
  timestamp_millis(wait.synced_at_ms) AS synced_at,
  wait.held_others_ms,
  timestamp_millis(said.started_at_ms) AS started_at,
  said.outcome, at_date
FROM (SELECT *, explode(said.waits) AS wait FROM {facts(FIELDS, RebalanceEnded, columns="group_id, at_date")})
UNION ALL
SELECT group_id, started.from_generation_id, NULL, member_id, client_id, client_host, group_instance_id,
  CASE WHEN joined_at_ms >= started.at_ms THEN timestamp_millis(joined_at_ms) END,
  CASE WHEN synced_at_ms >= started.at_ms THEN timestamp_millis(synced_at_ms) END,
  NULL, timestamp_millis(started.at_ms), NULL, at_date
FROM running
JOIN sessions USING (group_id)
LEFT JOIN arrivals USING (group_id, member_id)
WHERE ended_at IS NULL
""",
    of_consumers=(
        "`joined_at` is when the member had given up all that the epoch took from it, `synced_at` when it had all "
        "that the epoch gave it, `held_others_ms` how long others could not have what it held."
    ),
)
