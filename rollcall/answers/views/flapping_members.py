"""The view `flapping_members`: clients that come and go again and again, how often, and which setting that matches."""

from __future__ import annotations

from rollcall.answers.views.view import GROUP_ID, Column, Detector, View

MEMBERSHIPS = 3
MULTIPLES = 5
TOLERANCE = 0.05
"""The share of a setting by which a match may miss it."""
WITHIN_MINUTES = 60
WITHIN_MS = WITHIN_MINUTES * 60_000

PAIRS = ",\n          ".join(
    f"struct('{measured}' AS what, {measured} AS ms, '{setting}' AS setting, {column} AS setting_ms)"
    for measured in ("lasted_ms", "period_ms")
    for setting, column in (
        ("session.timeout.ms", "session_timeout_ms"),
        ("max.poll.interval.ms", "max_poll_interval_ms"),
    )
)

FLAPPING_MEMBERS = View(
    name="flapping_members",
    row="a client that became a member again and again",
    rule=(
        f"At least {MEMBERSHIPS} memberships of one client, each begun within {WITHIN_MINUTES} minutes of the one "
        "before. A client is known by client id and host, a static one by its group.instance.id. The period is the "
        "median time from one join to the next, and lasted_ms the median time from a join to its end. A duration "
        f"matches a setting if it is within {TOLERANCE:.0%} of 1x to {MULTIPLES}x its value. The first match counts: "
        "lasted_ms before the period, session.timeout.ms before max.poll.interval.ms (known as the rebalance timeout, "
        "which most clients set to it), the smallest multiple first. A match is a hint, not a proof."
    ),
    columns=(
        GROUP_ID,
        Column("client_id", "string", "the client"),
        Column("client_host", "string", "its host; of a static member the latest"),
        Column("group_instance_id", "string", "its group.instance.id, null for a dynamic member"),
        Column("from_at", "timestamp", "when the first of these memberships began"),
        Column("to_at", "timestamp", "when the last of them began"),
        Column("memberships", "bigint", "how many there were"),
        Column(
            "end_cause", "string", "how most of them ended, see sessions; the first by name of equally frequent ones"
        ),
        Column("period_ms", "bigint", "the median time from one join to the next, ms"),
        Column("shortest_period_ms", "bigint", "the shortest such time, ms"),
        Column("longest_period_ms", "bigint", "the longest such time, ms"),
        Column("lasted_ms", "bigint", "the median length of a membership that ended, ms"),
        Column("session_timeout_ms", "bigint", "its session timeout, ms"),
        Column(
            "max_poll_interval_ms", "bigint", "its rebalance timeout, which most clients set to max.poll.interval.ms"
        ),
        Column("matching", "string", "what matches: lasted_ms or period_ms, null: nothing does"),
        Column("matching_setting", "string", "the setting that it matches: session.timeout.ms or max.poll.interval.ms"),
        Column("matching_multiple", "int", "how many times that setting"),
        Column("is_ambiguous", "boolean", "two of these memberships ran at one time, so it may be several clients"),
    ),
    sql=f"""--sql
WITH known AS (
  SELECT *,
    coalesce('static ' || group_instance_id, 'dynamic ' || client_id || ' ' || client_host) AS client,
    unix_millis(joined_at) AS joined_ms,
    unix_millis(ended_at) AS ended_ms
  FROM sessions
), turns AS (
  SELECT *,
    joined_ms - lag(joined_ms) OVER in_time AS period_ms,
    coalesce(max(coalesce(ended_ms, {2**53})) OVER (
      PARTITION BY group_id, client ORDER BY joined_ms, member_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) > joined_ms, false) AS is_overlap
  FROM known
  WINDOW in_time AS (PARTITION BY group_id, client ORDER BY joined_ms, member_id)
), runs AS (
  SELECT *, count_if(coalesce(period_ms > {WITHIN_MS}, true)) OVER (
      PARTITION BY group_id, client ORDER BY joined_ms, member_id
    ) AS run
  FROM turns
), flapping AS (
  SELECT group_id, client, run,
    max_by(client_id, struct(joined_ms, member_id)) AS client_id,
    max_by(client_host, struct(joined_ms, member_id)) AS client_host,
    max(group_instance_id) AS group_instance_id,
    min(joined_at) AS from_at,
    max(joined_at) AS to_at,
    count(*) AS memberships,
    collect_list(end_cause) AS end_causes,
    CAST(percentile(period_ms, 0.5) FILTER (WHERE period_ms <= {WITHIN_MS}) AS BIGINT) AS period_ms,
    min(period_ms) FILTER (WHERE period_ms <= {WITHIN_MS}) AS shortest_period_ms,
    max(period_ms) FILTER (WHERE period_ms <= {WITHIN_MS}) AS longest_period_ms,
    CAST(percentile(ended_ms - joined_ms, 0.5) AS BIGINT) AS lasted_ms,
    max_by(session_timeout_ms, struct(joined_ms, member_id)) AS session_timeout_ms,
    max_by(rebalance_timeout_ms, struct(joined_ms, member_id)) AS max_poll_interval_ms,
    max(is_overlap AND period_ms <= {WITHIN_MS}) AS is_ambiguous
  FROM runs
  GROUP BY group_id, client, run
  HAVING count(*) >= {MEMBERSHIPS}
), matched AS (
  SELECT *,
    get(filter(
      flatten(transform(
        array(
          {PAIRS}
        ),
        pair -> transform(sequence(1, {MULTIPLES}), times -> struct(pair, times))
      )),
      one -> abs(one.pair.ms - one.times * one.pair.setting_ms) <= {TOLERANCE} * one.pair.setting_ms
    ), 0) AS match,
    array_sort(
      transform(array_distinct(end_causes), c -> struct(-size(filter(end_causes, e -> e = c)) AS rank, c AS cause))
    ) AS endings
  FROM flapping
)
SELECT group_id, client_id, client_host, group_instance_id, from_at, to_at, memberships,
  get(endings, 0).cause AS end_cause,
  period_ms, shortest_period_ms, longest_period_ms, lasted_ms, session_timeout_ms, max_poll_interval_ms,
  match.pair.what AS matching, match.pair.setting AS matching_setting, match.times AS matching_multiple,
  coalesce(is_ambiguous, false) AS is_ambiguous
FROM matched
""",
    detector=Detector(
        "flapping member",
        "flapping members",
        "{client_id} came {memberships} times, every {period_ms}[; how most of these memberships ended: {end_cause}]"
        "[; its {matching} matches {matching_setting}]",
        rebalance="latest",
    ),
    of_consumers=("A member that polls too late leaves and comes back under the same id."),
)
