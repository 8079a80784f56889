"""The view `rebalances`: each one's cause and culprit, who came and went, and who kept the others waiting."""

from __future__ import annotations

from views.view import AT_DATE, GROUP_ID, Column, View

CAUSE = """STRUCT<kind: STRING, member_id: STRING, client_id: STRING, client_host: STRING,
      group_instance_id: STRING, client_reason: STRING, is_inferred: BOOLEAN>"""

REBALANCES = View(
    name="rebalances",
    row="a rebalance",
    rule=(
        "What rebalance_ended says; for one that still runs, what its rebalance_started said, with null where only "
        "its end will tell."
    ),
    columns=(
        GROUP_ID,
        Column("from_generation_id", "int", "the generation it left"),
        Column("to_generation_id", "int", "the generation it led to, null while it runs"),
        Column("started_at", "timestamp", "when it began"),
        Column("ended_at", "timestamp", "when it was over, null while it runs"),
        Column("duration_ms", "bigint", "from its beginning to its end, ms"),
        Column(
            "cause",
            "string",
            "member_joined, member_left, poll_timeout, session_expired, sync_timeout, metadata_changed, "
            "cooperative_followup, member_rejoined, static_member_replaced, group_loaded, admin_removed or unknown",
        ),
        Column("cause_member_id", "string", "the member that set it off, null where nobody did"),
        Column("cause_client_id", "string", "its client id"),
        Column("cause_client_host", "string", "its host"),
        Column("cause_group_instance_id", "string", "its group.instance.id"),
        Column("client_reason", "string", "what it said itself, where it gave a reason"),
        Column("is_inferred", "boolean", "a replay concluded the cause from later lines of its recording"),
        Column("members_before", "bigint", "how many members before"),
        Column("members_after", "bigint", "how many members after"),
        Column("joined", "array<string>", "client ids of those that became members"),
        Column("left", "array<string>", "client ids of those that left or were removed by an administrator"),
        Column("expired", "array<string>", "client ids of those that timed out, in whatever phase"),
        Column("slowest_client_id", "string", "who kept the others waiting longest, null where nobody waited"),
        Column("slowest_member_id", "string", "its member id"),
        Column("slowest_wait_ms", "bigint", "for how long, ms"),
        Column("outcome", "string", "completed, superseded (another began first), empty (nobody left); null: it runs"),
        AT_DATE,
    ),
    sql=f"""
WITH turns AS (
  SELECT group_id, effect, at_ms, at_date, detail,
    lead(effect) OVER (PARTITION BY group_id ORDER BY at_ms, seq) IS NULL AS is_latest
  FROM effects
  WHERE effect IN ('rebalance_started', 'rebalance_ended')
), told AS (
  SELECT group_id, at_date,
    CASE WHEN effect = 'rebalance_ended' THEN at_ms END AS ended_at_ms,
    from_json(detail, '
      at_ms BIGINT, started_at_ms BIGINT, from_generation_id INT, to_generation_id INT, cause {CAUSE},
      members_before BIGINT, members_after BIGINT,
      joined ARRAY<STRING>, left ARRAY<STRING>, expired ARRAY<STRING>,
      slowest_member_id STRING, slowest_client_id STRING, slowest_wait_ms BIGINT, outcome STRING') AS fact
  FROM turns
  WHERE effect = 'rebalance_ended' OR is_latest
)
SELECT group_id, fact.from_generation_id, fact.to_generation_id,
  timestamp_millis(coalesce(fact.started_at_ms, fact.at_ms)) AS started_at,
  timestamp_millis(ended_at_ms) AS ended_at,
  ended_at_ms - fact.started_at_ms AS duration_ms,
  fact.cause.kind AS cause,
  nullif(fact.cause.member_id, '') AS cause_member_id,
  nullif(fact.cause.client_id, '') AS cause_client_id,
  nullif(fact.cause.client_host, '') AS cause_client_host,
  fact.cause.group_instance_id AS cause_group_instance_id,
  fact.cause.client_reason AS client_reason,
  coalesce(fact.cause.is_inferred, false) AS is_inferred,
  fact.members_before, fact.members_after, fact.joined, fact.left, fact.expired,
  fact.slowest_client_id, fact.slowest_member_id, fact.slowest_wait_ms, fact.outcome, at_date
FROM told
""",
)
