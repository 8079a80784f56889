"""The view `leader_only_loops`: leaders that rejoin again and again, each time at the cost of a whole rebalance."""

from __future__ import annotations

from rollcall.answers.views.details import facts
from rollcall.answers.views.view import GROUP_ID, IN_ORDER, Column, Detector, View
from rollcall.schemas.effects import JoinPhaseEnded

REBALANCES = 3
WITHIN_MINUTES = 60

LEADER_ONLY_LOOPS = View(
    name="leader_only_loops",
    row="a loop: a single leader set off rebalance after rebalance while nobody came or went",
    rule=(
        f"At least {REBALANCES} rebalances of a group in a row, each begun within {WITHIN_MINUTES} minutes of the one "
        "before, all set off by the same member, the leader of the generation it left, by joining again. Nobody "
        "joined, left or expired in them. A cooperative rebalance's second round does not count."
    ),
    columns=(
        GROUP_ID,
        Column("member_id", "string", "the leader"),
        Column("client_id", "string", "its client id"),
        Column("client_host", "string", "its host"),
        Column("group_instance_id", "string", "its group.instance.id, null for a dynamic member"),
        Column("from_at", "timestamp", "when the first of these rebalances began"),
        Column("to_at", "timestamp", "when the last of them began"),
        Column("rebalances", "bigint", "how many there were"),
        Column("from_generation_id", "int", "the generation that the first one left"),
        Column("to_generation_id", "int", "the generation that the last one led to, null while it runs"),
        Column("period_ms", "bigint", "the mean time from one to the next, ms"),
        Column("rebalancing_ms", "bigint", "how long the group was rebalancing altogether, ms"),
        Column("client_reason", "string", "what the leader said at the latest, where it gave a reason"),
        Column("members", "bigint", "how many members the group had"),
    ),
    sql=f"""--sql
WITH leaders AS (
  SELECT group_id, generation_id, timestamp_millis(at_ms) AS formed_at, said.leader_id AS leader_id
  FROM {facts("leader_id", JoinPhaseEnded, columns="group_id, generation_id, at_ms")}
), numbered AS (
  SELECT *,
    unix_millis(started_at) AS started_ms,
    row_number() OVER (PARTITION BY group_id ORDER BY {IN_ORDER}) AS place
  FROM rebalances
), led AS (
  SELECT n.group_id, n.place, max_by(l.leader_id, struct(l.formed_at, l.leader_id)) AS leader_id
  FROM numbered n
  JOIN leaders l
    ON l.group_id = n.group_id AND l.generation_id = n.from_generation_id AND l.formed_at <= n.started_at
  WHERE n.cause IN ('member_rejoined', 'metadata_changed', 'unknown')
    AND coalesce(size(n.joined) + size(n.left) + size(n.expired), 0) = 0
  GROUP BY n.group_id, n.place
), lonely AS (
  SELECT n.*, place - row_number() OVER by_leader AS row,
    started_ms - lag(started_ms) OVER by_leader AS period_ms
  FROM numbered n
  JOIN led USING (group_id, place)
  WHERE leader_id = cause_member_id
  WINDOW by_leader AS (PARTITION BY n.group_id, cause_member_id ORDER BY place)
), loops AS (
  SELECT *, count_if(coalesce(period_ms > {WITHIN_MINUTES * 60_000}, true)) OVER (
      PARTITION BY group_id, cause_member_id, row ORDER BY place
    ) AS loop
  FROM lonely
)
SELECT group_id, cause_member_id AS member_id, max_by(cause_client_id, place) AS client_id,
  max_by(cause_client_host, place) AS client_host, max_by(cause_group_instance_id, place) AS group_instance_id,
  min(started_at) AS from_at,
  max(started_at) AS to_at,
  count(*) AS rebalances,
  min_by(from_generation_id, place) AS from_generation_id,
  max_by(to_generation_id, place) AS to_generation_id,
  CAST(round((max(started_ms) - min(started_ms)) / greatest(count(*) - 1, 1)) AS BIGINT) AS period_ms,
  sum(duration_ms) AS rebalancing_ms,
  max_by(client_reason, place) AS client_reason,
  max_by(members_before, place) AS members
FROM loops
GROUP BY group_id, cause_member_id, row, loop
HAVING count(*) >= {REBALANCES}
""",
    detector=Detector(
        "leader-only loop",
        "leader-only loops",
        "the leader {client_id} alone set off {rebalances:rebalance}[; rebalancing for {rebalancing_ms} in total]",
        rebalance="latest",
    ),
    of_consumers=("There is no leader, so there are no such loops."),
)
