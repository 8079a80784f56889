"""The view `assignments`: who held which partition from when to when."""

from __future__ import annotations

from rollcall.answers.views.details import opened
from rollcall.answers.views.view import GROUP_ID, Column, View
from rollcall.schemas.effects import Assigned, JoinReceived

ASSIGNMENTS = View(
    name="assignments",
    row="an ownership interval: one member held one partition without a break",
    rule=(
        "It begins when an assignment gives the member the partition (assigned), and lasts while each later "
        "generation gives it again. It ends with a generation that does not, when the member goes, or when the member "
        "joins again without claiming the partition. A cooperative member claims what it keeps (KIP-429). An eager one "
        "claims nothing, so from its JoinGroup to the next assignment its partitions have no owner. For Connect's "
        "workers connectors and tasks are shown as topics and partitions. Groups of other protocol types than consumer "
        "and connect, and bytes that cannot be read, give no rows."
    ),
    columns=(
        GROUP_ID,
        Column("topic", "string", "the topic; of Connect's workers the connector"),
        Column("partition", "int", "the partition; of Connect's workers the task, -1: the connector itself"),
        Column("member_id", "string", "who held it"),
        Column("client_id", "string", "that member's client id"),
        Column("from_at", "timestamp", "since when"),
        Column("to_at", "timestamp", "until when, null: it still holds it"),
        Column("generation_id", "int", "the generation whose assignment gave it"),
    ),
    sql=f"""--sql
WITH turns AS (
  SELECT group_id, member_id, client_id, effect, generation_id, detail, at_ms,
    lead(at_ms) OVER member AS until_ms,
    row_number() OVER member AS turn
  FROM effects
  WHERE effect IN ('assigned', 'join_received', 'member_removed')
  WINDOW member AS (PARTITION BY group_id, member_id ORDER BY at_ms, seq)
), holdings AS (
  SELECT * EXCEPT (detail), inline(coalesce(said.partitions, said.owned_partitions))
  FROM (
    SELECT *, {opened("partitions owned_partitions", Assigned, JoinReceived)} AS said
    FROM turns
    WHERE effect <> 'member_removed'
  )
), runs AS (
  SELECT group_id, topic, partition, member_id, client_id, effect, generation_id, at_ms, until_ms, turn,
    turn - row_number() OVER (PARTITION BY group_id, member_id, topic, partition ORDER BY turn) AS run
  FROM (SELECT *, explode(partitions) AS partition FROM holdings)
), intervals AS (
  SELECT group_id, topic, partition, member_id, max_by(client_id, turn) AS client_id,
    min(struct(at_ms, generation_id)) FILTER (WHERE effect = 'assigned') AS given,
    CASE WHEN count(until_ms) = count(*) THEN max(until_ms) END AS to_ms
  FROM runs
  GROUP BY group_id, member_id, topic, partition, run
)
SELECT group_id, topic, partition, member_id, client_id,
  timestamp_millis(given.at_ms) AS from_at,
  timestamp_millis(to_ms) AS to_at,
  given.generation_id
FROM intervals
WHERE given IS NOT NULL
""",
    of_consumers=(
        "What a member has been asked to give up is still its own until it says that it has let go, or is fenced; "
        "nobody else is given it before. `generation_id` is the member's epoch."
    ),
)
