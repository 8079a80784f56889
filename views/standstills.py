"""The view `standstills`: when nobody in a group owned any partition, so that nobody consumed."""

from __future__ import annotations

from views.view import GROUP_ID, Column, Detector, View

NOTICED_MS = 1000
ALARMING_MS = 10_000
"""Restarting an eager group stops it for some seconds, several times."""

STANDSTILLS = View(
    name="standstills",
    row="a time during which nobody in the group held any partition",
    rule=(
        "The gaps between the ownership intervals of `assignments`, all partitions of a group taken together, from its "
        "first interval on, and the time since the last one while the group has members. A group without members "
        "stands still too; a cooperative group hardly ever does."
    ),
    columns=(
        GROUP_ID,
        Column("from_at", "timestamp", "when the last partition was given up"),
        Column("to_at", "timestamp", "when a partition was given to somebody again; null: it goes on"),
        Column("duration_ms", "bigint", "the time between, ms; null while it goes on"),
    ),
    sql="""--sql
WITH begun AS (
  SELECT group_id, from_at, max(coalesce(to_at, timestamp'9999-12-31')) OVER (
      PARTITION BY group_id ORDER BY from_at ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS held_until
  FROM assignments
)
SELECT group_id, held_until AS from_at, from_at AS to_at, unix_millis(from_at) - unix_millis(held_until) AS duration_ms
FROM begun
WHERE from_at > held_until
UNION ALL
SELECT group_id, max(to_at), NULL, NULL
FROM assignments
JOIN (SELECT DISTINCT group_id FROM sessions WHERE ended_at IS NULL) USING (group_id)
GROUP BY group_id
HAVING count(to_at) = count(*)
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
