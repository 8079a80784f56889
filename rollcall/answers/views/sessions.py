"""The view `sessions`: who was a member from when to when, and how it ended."""

from __future__ import annotations

from rollcall.answers.views.details import facts, opened
from rollcall.answers.views.view import GROUP_ID, Column, View
from rollcall.schemas.causes import CAUSES
from rollcall.schemas.effects import CauseFound, MemberJoined, MemberRemoved, MemberUpdated

_JOINED = opened(
    "client_host group_instance_id replaces_member_id is_inferred",
    MemberJoined,
    of="max(detail) FILTER (WHERE effect = 'member_joined')",
)

_TERMS = opened(
    "session_timeout_ms rebalance_timeout_ms topics",
    MemberUpdated,
    of="max(struct(at_ms, seq, detail)) FILTER (WHERE effect <> 'member_removed').detail",
)

_REMOVED = opened(
    "client_reason replaced_by_member_id candidates is_inferred",
    MemberRemoved,
    of="max(detail) FILTER (WHERE effect = 'member_removed')",
)

SESSIONS = View(
    name="sessions",
    row="a membership: from the join of a client to its leaving, expiry or replacement",
    rule=(
        "It begins with a member_joined fact and ends with the next member_removed of the same member id; "
        "member_updated changes its timeouts and topics. A static member that returns has one session for each member "
        "id: the old one ends with static_member_replaced as the new one begins."
    ),
    columns=(
        GROUP_ID,
        Column("member_id", "string", "the member"),
        Column("client_id", "string", "its client id"),
        Column("client_host", "string", "the host it joined from"),
        Column("group_instance_id", "string", "its group.instance.id, null for a dynamic member"),
        Column("joined_at", "timestamp", "when it became a member"),
        Column("ended_at", "timestamp", "when it was one no longer, null: it still is"),
        Column(
            "end_cause",
            "string",
            f"{', '.join(key for key, row in CAUSES.items() if row.ends)}: see Causes; null while it lasts",
        ),
        Column("session_timeout_ms", "bigint", "how long it may be silent, ms, as it said last; null: not known"),
        Column("rebalance_timeout_ms", "bigint", "how long others wait for it in a rebalance, ms, likewise"),
        Column("topics", "array<string>", "what it subscribes to, as it said last; null where its bytes do not say"),
        Column(
            "is_inferred", "boolean", "a recording showed it as a member without its JoinGroup, by then at the latest"
        ),
        Column("client_reason", "string", "the reason that the client gave on leaving; null: none"),
        Column("replaces_member_id", "string", "the id whose place it took, where it returned as a static member"),
        Column("replaced_by_member_id", "string", "the id that took the place of a static member's"),
        Column("end_is_inferred", "boolean", "nobody said how it ended: that was inferred; null while it lasts"),
        Column("end_candidates", "array<string>", "the possible ends, if end_cause is unknown; otherwise empty"),
    ),
    sql=f"""--sql
WITH turns AS (
  SELECT group_id, member_id, client_id, at_ms, seq, effect, cause, detail,
    count_if(effect = 'member_joined') OVER (PARTITION BY group_id, member_id ORDER BY at_ms, seq) AS session
  FROM effects
  WHERE effect IN ('member_joined', 'member_updated', 'member_removed')
), memberships AS (
  SELECT group_id, member_id, min_by(client_id, struct(at_ms, seq)) AS client_id,
    min(at_ms) FILTER (WHERE effect = 'member_joined') AS joined_at_ms,
    max(struct(at_ms, cause)) FILTER (WHERE effect = 'member_removed') AS ended,
    max(at_ms) FILTER (WHERE effect = 'member_removed') AS ended_at_ms,
    {_JOINED} AS joined,
    {_TERMS} AS terms,
    {_REMOVED} AS removed
  FROM turns
  WHERE session > 0
  GROUP BY group_id, member_id, session
), found AS (
  SELECT group_id, member_id, said.gone_at_ms AS ended_at_ms, max_by(cause, struct(at_ms, seq)) AS found_cause
  FROM {facts("gone_at_ms", CauseFound, columns="group_id, member_id, cause, at_ms, seq")}
  GROUP BY group_id, member_id, said.gone_at_ms
)
SELECT group_id, member_id, client_id, joined.client_host, joined.group_instance_id,
  timestamp_millis(joined_at_ms) AS joined_at,
  timestamp_millis(ended.at_ms) AS ended_at,
  coalesce(found_cause, ended.cause) AS end_cause,
  nullif(terms.session_timeout_ms, -1) AS session_timeout_ms,
  CASE WHEN terms.session_timeout_ms >= 0 OR terms.rebalance_timeout_ms >= 0 THEN terms.rebalance_timeout_ms END
    AS rebalance_timeout_ms,
  terms.topics,
  coalesce(joined.is_inferred, false) AS is_inferred,
  removed.client_reason, joined.replaces_member_id, removed.replaced_by_member_id,
  CASE WHEN ended.at_ms IS NOT NULL THEN found_cause IS NOT NULL OR coalesce(removed.is_inferred, false) END
    AS end_is_inferred,
  CASE WHEN found_cause IS NULL THEN coalesce(removed.candidates, array()) ELSE array() END AS end_candidates
FROM memberships
LEFT JOIN found USING (group_id, member_id, ended_at_ms)
""",
    of_consumers=(
        "The session timeout is the group's own setting, not the client's. A member that is fenced because it did "
        "not give partitions up ends with rebalance_timeout. A static member that left and means to return is a "
        "member until it is replaced or its session ends. A conversion ends no session."
    ),
)
