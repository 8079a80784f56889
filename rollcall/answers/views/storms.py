"""The view `storms`: groups that rebalance again and again, and what mostly sets it off."""

from __future__ import annotations

from rollcall.answers.views.view import GROUP_ID, IN_ORDER, Column, Detector, View

REBALANCES = 6
"""The minimum number of rebalances within WITHIN_HOURS that are a storm."""
WITHIN_HOURS = 1
DOMINANT_THIRDS = 2
"""The cause member_joined dominates a storm when it has at least this many thirds of the rebalances."""

AGAIN = 3
"""In a deploy or a change of scale each client joins and leaves less often."""

STORMS = View(
    name="storms",
    row="a storm: a time in which a group rebalanced more often than is healthy",
    rule=(
        f"A rebalance belongs to a storm if {REBALANCES} rebalances of its group, itself among them, began within "
        f"{WITHIN_HOURS} hour; rebalances that follow each other within {WITHIN_HOURS} hour belong to the same storm. "
        "The cause that dominates is the most frequent one; a client's joining only if "
        f"{DOMINANT_THIRDS}/3 of all have it, since a client that left and comes back joins too. The client is the one "
        "that set off most rebalances with that cause. Of equally frequent ones the first by name is shown."
    ),
    columns=(
        GROUP_ID,
        Column("from_at", "timestamp", "when the first of its rebalances began"),
        Column("to_at", "timestamp", "when the last of them ended, or began if it is running"),
        Column("rebalances", "bigint", "how many rebalances it has"),
        Column("most_in_an_hour", "bigint", f"how many of them began within {WITHIN_HOURS} hour at most"),
        Column("rebalancing_ms", "bigint", "how long the group was rebalancing altogether, ms"),
        Column("cause", "string", "the cause that dominates, see rebalances"),
        Column("cause_rebalances", "bigint", "how many of its rebalances had that cause"),
        Column("cause_client_id", "string", "the client that set off most of those, null where none is known"),
        Column("cause_client_host", "string", "that client's host"),
        Column("cause_client_rebalances", "bigint", "how many of its rebalances that client set off by that cause"),
    ),
    sql=f"""--sql
WITH begun AS (
  SELECT group_id, started_at, ended_at, duration_ms, cause, cause_client_id, cause_client_host, cause_member_id,
    from_generation_id,
    lead(started_at, {REBALANCES - 1}) OVER in_time <= started_at + INTERVAL {WITHIN_HOURS} HOUR AS is_dense,
    started_at > lag(started_at) OVER in_time + INTERVAL {WITHIN_HOURS} HOUR AS is_late,
    count(*) OVER (
      PARTITION BY group_id ORDER BY started_at RANGE BETWEEN INTERVAL {WITHIN_HOURS} HOUR PRECEDING AND CURRENT ROW
    ) AS in_the_hour
  FROM (SELECT * EXCEPT (started_at), known_from AS started_at FROM rebalances)
  WINDOW in_time AS (PARTITION BY group_id ORDER BY {IN_ORDER})
), stormy AS (
  SELECT *, count_if(coalesce(is_late, true)) OVER (
      PARTITION BY group_id ORDER BY {IN_ORDER}
    ) AS storm
  FROM (
    SELECT *, max(coalesce(is_dense, false)) OVER (
        PARTITION BY group_id ORDER BY {IN_ORDER}
        ROWS BETWEEN {REBALANCES - 1} PRECEDING AND CURRENT ROW
      ) AS is_stormy
    FROM begun
  )
  WHERE is_stormy
), storms AS (
  SELECT group_id, storm,
    min(started_at) AS from_at,
    max(coalesce(ended_at, started_at)) AS to_at,
    count(*) AS rebalances,
    max(in_the_hour) AS most_in_an_hour,
    sum(duration_ms) AS rebalancing_ms,
    collect_list(struct(cause, cause_client_id, cause_client_host)) AS begun_by
  FROM stormy
  GROUP BY group_id, storm
), causes AS (
  SELECT *, array_sort(transform(
      transform(
        array_distinct(transform(begun_by, b -> b.cause)),
        one -> struct(one AS cause, CAST(size(filter(begun_by, b -> b.cause = one)) AS BIGINT) AS times)
      ),
      one -> struct(
        one.cause = 'member_joined' AND 3 * one.times < {DOMINANT_THIRDS} * rebalances AS is_return, -one.times AS rank,
        one.cause, one.times
      )
    ))[0] AS first
  FROM storms
), clients AS (
  SELECT *, filter(begun_by, b -> b.cause = first.cause AND b.cause_client_id IS NOT NULL) AS clients
  FROM causes
), named AS (
  SELECT *, get(array_sort(transform(
      array_distinct(clients),
      one -> struct(
        -size(filter(clients, c -> c = one)) AS rank, one.cause_client_id, coalesce(one.cause_client_host, '') AS host,
        one.cause_client_host
      )
    )), 0) AS client
  FROM clients
)
SELECT group_id, from_at, to_at, rebalances, most_in_an_hour, rebalancing_ms,
  first.cause, first.times AS cause_rebalances,
  client.cause_client_id, client.cause_client_host, CAST(-client.rank AS BIGINT) AS cause_client_rebalances
FROM named
""",
    detector=Detector(
        "storm",
        "storms",
        "{rebalances:rebalance}, {most_in_an_hour} within an hour; the most frequent cause: {cause}"
        "[, by {cause_client_id}][; rebalancing for {rebalancing_ms} in total]",
        worth_an_alarm=(
            f"(cause NOT IN ('member_joined', 'member_left', 'static_member_replaced') "
            f"OR cause_client_rebalances >= {AGAIN}) AND cause <> 'cooperative_followup'"
        ),
        rebalance="latest",
    ),
    of_consumers=(
        "A deploy of several members raises the epoch once for each that leaves or comes: it takes fewer restarts "
        "to make a storm."
    ),
)
