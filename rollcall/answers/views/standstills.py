"""The view `standstills`: when nobody in a group owned any partition, so that nobody consumed."""

from __future__ import annotations

from rollcall.answers.views.view import GROUP_ID, Column, Detector, View

NOTICED_MS = 1000
ALARMING_MS = 10_000
"""Restarting an eager group stops it for some seconds, several times."""

STANDSTILLS = View(
    name="standstills",
    row="a time during which nobody in the group held any partition",
    rule=(
        "The gaps between the ownership intervals of `assignments`, all partitions of a group taken together, from its "
        "first interval on, and the time since the last one while the group has members. A group without members "
        "stands still too; a cooperative group hardly ever does. Where a recording does not show what some member "
        "owns, or how many members a group has, whether the group stands still is unknown, and there is no row."
    ),
    columns=(
        GROUP_ID,
        Column("from_at", "timestamp", "when the last partition was given up"),
        Column("to_at", "timestamp", "when a partition was given to somebody again; null: ongoing"),
        Column("duration_ms", "bigint", "the time between, ms; null while ongoing"),
    ),
    sql="""--sql
WITH open AS (
  SELECT group_id, at_ms, until_ms
  FROM (
    SELECT group_id, effect, at_ms, get_json_object(detail, '$.partitions') AS partitions,
      lead(at_ms) OVER (PARTITION BY group_id, member_id ORDER BY at_ms, seq) AS until_ms
    FROM effects
    WHERE effect IN ('assigned', 'join_received', 'member_removed')
  )
  WHERE effect = 'assigned' AND partitions IS NULL
), begun AS (
  SELECT group_id, from_at, max(coalesce(to_at, timestamp'9999-12-31')) OVER (
      PARTITION BY group_id ORDER BY from_at ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS held_until
  FROM assignments
), gaps AS (
  SELECT group_id, held_until AS from_at, from_at AS to_at
  FROM begun
  WHERE from_at > held_until
  UNION ALL
  SELECT group_id, max(to_at), NULL
  FROM assignments
  JOIN (SELECT DISTINCT group_id FROM sessions WHERE ended_at IS NULL) USING (group_id)
  GROUP BY group_id
  HAVING count(to_at) = count(*)
)
SELECT g.group_id, g.from_at, g.to_at, unix_millis(g.to_at) - unix_millis(g.from_at) AS duration_ms
FROM gaps g
LEFT JOIN open o ON o.group_id = g.group_id
  AND (g.to_at IS NULL OR timestamp_millis(o.at_ms) < g.to_at)
  AND (o.until_ms IS NULL OR timestamp_millis(o.until_ms) > g.from_at)
WHERE o.group_id IS NULL AND g.group_id NOT IN (
  SELECT group_id FROM rebalances WHERE outcome IN ('completed', 'unknown') AND members_after IS NULL
)
""",
    detector=Detector(
        "standstill",
        "standstills",
        "nobody held a partition for {duration_ms}",
        worth_telling=f"duration_ms >= {NOTICED_MS}",
        worth_an_alarm=f"duration_ms >= {ALARMING_MS}",
        rebalance="first",
        worth_said=(
            f"Listed as trouble are those of at least {NOTICED_MS // 1000} s: every rebalance of an eager group has "
            "one of some milliseconds, which nobody notices."
        ),
    ),
    of_consumers=(
        "Members keep what they are not asked to give up, so a group stands still only when it is empty or when "
        "one member takes over from another all there is."
    ),
)
