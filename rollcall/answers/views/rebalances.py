"""The view `rebalances`: each one's cause and culprit, who joined and left, and who kept the others waiting."""

from __future__ import annotations

from rollcall.answers.views.details import facts, opened
from rollcall.answers.views.view import AT_DATE, GROUP_ID, Column, View
from rollcall.schemas.causes import listed
from rollcall.schemas.effects import UNKNOWN_END, CauseFound, RebalanceEnded, RebalanceStarted

FIELDS = (
    "at_ms started_at_ms known_from_ms from_generation_id to_generation_id cause outcome members_before members_after "
    "joined left expired gone slowest_member_id slowest_client_id slowest_wait_ms"
)

REBALANCES = View(
    name="rebalances",
    row="a rebalance",
    rule=(
        "What rebalance_ended says. While a rebalance runs, what rebalance_started says, with null for what only the "
        "end shows. If a later fact names a better cause (cause_found), that one is shown. For a classic group known "
        "only from __consumer_offsets, started_at and the slowest_ columns are null. Of a consumer group known only "
        "from a broker's log, ended_at is null, for no line says when an epoch was reached."
    ),
    columns=(
        GROUP_ID,
        Column("from_generation_id", "int", "the generation it left"),
        Column("to_generation_id", "int", "the generation it led to, null while it runs"),
        Column("started_at", "timestamp", "when it began, null: not known"),
        Column("ended_at", "timestamp", "when it ended, null: it runs, or its end is not known"),
        Column("duration_ms", "bigint", "from its beginning to its end, ms"),
        Column(
            "cause",
            "string",
            f"{', '.join(listed())}: see Causes",
        ),
        Column("cause_member_id", "string", "the member that set it off, null where nobody did"),
        Column("cause_client_id", "string", "its client id"),
        Column("cause_client_host", "string", "its host"),
        Column("cause_group_instance_id", "string", "its group.instance.id"),
        Column("client_reason", "string", "what it said itself, where it gave a reason"),
        Column("is_inferred", "boolean", "the cause was inferred from other facts of a recording"),
        Column("cause_candidates", "array<string>", "the possible causes, if there is more than one; otherwise empty"),
        Column(
            "cause_candidate_clients",
            "array<string>",
            "the clients that may have caused it, if that is unknown; otherwise empty",
        ),
        Column("members_before", "bigint", "how many members before, null: not known"),
        Column("members_after", "bigint", "how many members after, likewise"),
        Column("joined", "array<string>", "client ids of those that became members"),
        Column("left", "array<string>", "client ids of those that left or were removed by an administrator"),
        Column("expired", "array<string>", "client ids of those that timed out, in whatever phase"),
        Column("gone", "array<string>", "client ids of those that went, it is not known how"),
        Column("slowest_client_id", "string", "who kept the others waiting longest, null where nobody waited"),
        Column("slowest_member_id", "string", "its member id"),
        Column("slowest_wait_ms", "bigint", "for how long, ms"),
        Column(
            "outcome",
            "string",
            "completed, superseded (another began first), empty (no member left), unknown; null: it runs",
        ),
        Column("known_from", "timestamp", "the first moment at which it surely ran: started_at where that is known"),
        AT_DATE,
    ),
    sql=f"""--sql
WITH turns AS (
  SELECT group_id, effect, at_ms, at_date, detail,
    lead(effect) OVER (PARTITION BY group_id ORDER BY at_ms, seq) IS NULL AS is_latest
  FROM effects
  WHERE effect IN ('rebalance_started', 'rebalance_ended')
), facts AS (
  SELECT group_id, at_date,
    CASE WHEN effect = 'rebalance_ended' THEN at_ms END AS ended_at_ms,
    {opened(FIELDS, RebalanceStarted, RebalanceEnded)} AS fact
  FROM turns
  WHERE effect = 'rebalance_ended' OR is_latest
), found AS (
  SELECT group_id, said.gone_at_ms AS started_at_ms, max_by(said.cause, struct(at_ms, seq)) AS found_cause
  FROM {facts("gone_at_ms cause", CauseFound)}
  GROUP BY group_id, said.gone_at_ms
), known AS (
  SELECT group_id, at_date, fact,
    CASE WHEN ended_at_ms IS NULL THEN fact.at_ms ELSE fact.started_at_ms END AS started_at_ms,
    CASE WHEN fact.outcome IS NULL OR fact.outcome <> '{UNKNOWN_END}' THEN ended_at_ms END AS ended_at_ms
  FROM facts
), explained AS (
  SELECT *, coalesce(found_cause, fact.cause) AS why
  FROM known
  LEFT JOIN found USING (group_id, started_at_ms)
)
SELECT group_id, fact.from_generation_id, fact.to_generation_id,
  timestamp_millis(started_at_ms) AS started_at,
  timestamp_millis(ended_at_ms) AS ended_at,
  ended_at_ms - started_at_ms AS duration_ms,
  why.kind AS cause,
  nullif(why.member_id, '') AS cause_member_id,
  nullif(why.client_id, '') AS cause_client_id,
  nullif(why.client_host, '') AS cause_client_host,
  why.group_instance_id AS cause_group_instance_id,
  why.client_reason AS client_reason,
  coalesce(why.is_inferred, false) AS is_inferred,
  array_distinct(transform(coalesce(why.candidates, array()), c -> c.kind)) AS cause_candidates,
  array_distinct(transform(filter(coalesce(why.candidates, array()), c -> c.client_id <> ''), c -> c.client_id))
    AS cause_candidate_clients,
  fact.members_before, fact.members_after, fact.joined, fact.left, fact.expired, fact.gone,
  fact.slowest_client_id, fact.slowest_member_id, fact.slowest_wait_ms, fact.outcome,
  timestamp_millis(coalesce(started_at_ms, fact.known_from_ms)) AS known_from, at_date
FROM explained
""",
    of_consumers=(
        "A rebalance begins when the group's epoch rises, and is completed when every member has reached that "
        "epoch and has what it gives it; the generations are epochs. The next epoch supersedes it. The slowest is "
        "the member that held on longest to partitions that others were to have."
    ),
)
