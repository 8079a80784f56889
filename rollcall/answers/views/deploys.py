"""The view `deploys`: several clients of a group stopped and started anew, and what that cost the group."""

from __future__ import annotations

from rollcall.answers.views.view import GROUP_ID, Column, Detector, View

CLIENTS = 2
BACK_WITHIN_MINUTES = 5
BURST_WITHIN_MINUTES = 2

DEPLOYS = View(
    name="deploys",
    row="a deploy: a burst in which clients of a group left and came back",
    rule=(
        "A restart is a membership that ended because the client left, or came back as a static member, and was "
        f"followed within {BACK_WITHIN_MINUTES} minutes by the next membership of the same client id (of the same "
        f"group.instance.id for static ones). Restarts of a group less than {BURST_WITHIN_MINUTES} minutes apart are "
        f"one burst; a burst in which at least {CLIENTS} of the members that were there at its beginning were "
        "restarted is a deploy. It lasts until the last rebalance that began in it has ended. A partition moved if "
        "another client id held it for a while, and moved back if the one that held it first holds it in the end; "
        "both are null, for unknown, where two members shared a client id."
    ),
    columns=(
        GROUP_ID,
        Column("from_at", "timestamp", "when the first of them left"),
        Column("to_at", "timestamp", "when the group had settled after the last of them came back"),
        Column("duration_ms", "bigint", "the time between, ms"),
        Column("restarts", "bigint", "how many restarts it has"),
        Column("clients", "array<string>", "the client ids, or instance ids, of those that were restarted"),
        Column("rebalances", "bigint", "how many rebalances began meanwhile"),
        Column("rebalancing_ms", "bigint", "how long the group was rebalancing altogether, ms"),
        Column("stopped_ms", "bigint", "how long nobody held any partition, see standstills, ms"),
        Column("partitions_moved", "bigint", "how many partitions another client held for a while; null: unknown"),
        Column("partitions_moved_back", "bigint", "how many of those are back where they were; null: unknown"),
    ),
    sql=f"""--sql
WITH known AS (
  SELECT *, coalesce('static ' || group_instance_id, 'dynamic ' || client_id) AS client,
    coalesce(group_instance_id, client_id) AS name
  FROM sessions
), restarts AS (
  SELECT o.group_id, o.name, o.member_id, o.joined_at AS since_at, o.ended_at AS left_at, min(n.joined_at) AS back_at
  FROM known o
  JOIN known n
    ON n.group_id = o.group_id AND n.client = o.client AND n.member_id <> o.member_id
    AND n.joined_at BETWEEN o.ended_at AND o.ended_at + INTERVAL {BACK_WITHIN_MINUTES} MINUTES
  WHERE o.end_cause IN ('member_left', 'static_member_replaced')
  GROUP BY o.group_id, o.name, o.member_id, o.joined_at, o.ended_at
), bursts AS (
  SELECT *, count_if(coalesce(left_at > back_before + INTERVAL {BURST_WITHIN_MINUTES} MINUTES, true)) OVER (
      PARTITION BY group_id ORDER BY left_at, member_id
    ) AS burst
  FROM (
    SELECT *, max(back_at) OVER (
        PARTITION BY group_id ORDER BY left_at, member_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
      ) AS back_before
    FROM restarts
  )
), counted AS (
  SELECT group_id, burst,
    min(left_at) AS from_at,
    max(back_at) AS back_at,
    count(*) AS restarts,
    count_if(since_at <= first_at) AS restarted,
    array_sort(collect_set(name)) AS clients
  FROM (SELECT *, min(left_at) OVER (PARTITION BY group_id, burst) AS first_at FROM bursts)
  GROUP BY group_id, burst
  HAVING count_if(since_at <= first_at) >= {CLIENTS}
), deployed AS (
  SELECT c.group_id, from_at, restarts, clients,
    greatest(max(back_at), max(coalesce(ended_at, known_from))) AS to_at,
    count(known_from) AS rebalances,
    coalesce(sum(duration_ms), 0) AS rebalancing_ms
  FROM counted c
  LEFT JOIN rebalances r ON r.group_id = c.group_id AND known_from BETWEEN from_at AND back_at
  GROUP BY c.group_id, from_at, restarts, clients
), stopped AS (
  SELECT group_id, d.from_at,
    sum(unix_millis(least(s.to_at, d.to_at)) - unix_millis(greatest(s.from_at, d.from_at))) AS stopped_ms
  FROM deployed d
  JOIN standstills s USING (group_id)
  WHERE s.from_at < d.to_at AND coalesce(s.to_at > d.from_at, true)
  GROUP BY group_id, d.from_at
), owners AS (
  SELECT group_id, d.from_at, topic, partition,
    count(DISTINCT client_id) > 1 AS is_moved,
    min_by(client_id, struct(a.from_at, a.generation_id, a.member_id))
      = max_by(client_id, struct(a.from_at, a.generation_id, a.member_id)) AS is_back
  FROM deployed d
  JOIN assignments a USING (group_id)
  WHERE a.from_at <= d.to_at AND coalesce(a.to_at >= d.from_at, true)
  GROUP BY group_id, d.from_at, topic, partition
), moved AS (
  SELECT group_id, from_at, count_if(is_moved) AS moved, count_if(is_moved AND is_back) AS moved_back
  FROM owners
  GROUP BY group_id, from_at
), shared AS (
  SELECT DISTINCT d.group_id, d.from_at
  FROM deployed d
  JOIN known a ON a.group_id = d.group_id AND a.joined_at <= d.to_at AND coalesce(a.ended_at >= d.from_at, true)
  JOIN known b ON b.group_id = d.group_id AND b.joined_at <= d.to_at AND coalesce(b.ended_at >= d.from_at, true)
    AND a.client_id = b.client_id AND a.member_id < b.member_id
  WHERE a.joined_at < coalesce(b.ended_at, timestamp'9999-12-31')
    AND b.joined_at < coalesce(a.ended_at, timestamp'9999-12-31')
)
SELECT group_id, from_at, to_at, unix_millis(to_at) - unix_millis(from_at) AS duration_ms,
  restarts, clients, rebalances, rebalancing_ms,
  coalesce(stopped_ms, 0) AS stopped_ms,
  CASE WHEN s.group_id IS NULL THEN coalesce(moved, 0) END AS partitions_moved,
  CASE WHEN s.group_id IS NULL THEN coalesce(moved_back, 0) END AS partitions_moved_back
FROM deployed
LEFT JOIN stopped USING (group_id, from_at)
LEFT JOIN moved USING (group_id, from_at)
LEFT JOIN shared s USING (group_id, from_at)
""",
    detector=Detector(
        "deploy",
        "deploys",
        "{restarts:restart} in {duration_ms}, {rebalances:rebalance}, nobody consumed for {stopped_ms}",
        severity="info",
    ),
    of_consumers=("The same; a member of one client id that comes back is a restart, whatever its member id."),
)
