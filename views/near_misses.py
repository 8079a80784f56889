"""The view `near_misses`: members whose session all but ran out, and did not."""

from __future__ import annotations

from views.view import EARLIER_SESSIONS, GROUP_ID, SILENCES, Column, Detector, View

SHARE = 0.75

NEAR_MISSES = View(
    name="near_misses",
    row="a silence that nearly cost a member its session",
    rule=(
        f"A gap, as heartbeat_slack has it, of at least {SHARE:.0%} of the member's session timeout that ended with a "
        "request of the member and not with its expiry. A client that sends a heartbeat every third of its session "
        "timeout, as the libraries do, missed at least one for it."
    ),
    columns=(
        GROUP_ID,
        Column("member_id", "string", "the member"),
        Column("client_id", "string", "its client id"),
        Column("client_host", "string", "its host"),
        Column("group_instance_id", "string", "its group.instance.id, null for a dynamic member"),
        Column("from_at", "timestamp", "when its session timer was restarted"),
        Column("to_at", "timestamp", "when it was heard of again"),
        Column("gap_ms", "bigint", "the time between, ms"),
        Column("session_timeout_ms", "bigint", "how long it might be silent then, ms"),
        Column("slack_ms", "bigint", "what was left of the session, ms; 0 or less: none, and it was lucky"),
    ),
    sql=f"""--sql
WITH {SILENCES}
SELECT group_id, member_id, client_id, client_host, group_instance_id, from_at, to_at, gap_ms, session_timeout_ms,
  session_timeout_ms - gap_ms AS slack_ms
FROM (
  SELECT silences.group_id, silences.member_id, client_id, client_host, group_instance_id,
    timestamp_millis(from_ms) AS from_at,
    timestamp_millis(to_ms) AS to_at,
    gap_ms,
    CASE WHEN until_ms IS NULL THEN sessions.session_timeout_ms ELSE earlier.session_timeout_ms END
      AS session_timeout_ms
  FROM silences
  JOIN sessions ON sessions.group_id = silences.group_id AND sessions.member_id = silences.member_id
  LEFT JOIN ({EARLIER_SESSIONS}) AS earlier
    ON earlier.group_id = silences.group_id AND earlier.member_id = silences.member_id
      AND from_ms >= said_ms AND from_ms < until_ms
  WHERE is_request AND NOT is_expiry AND timestamp_millis(joined_ms) = joined_at
)
WHERE gap_ms >= {SHARE} * session_timeout_ms
""",
    detector=Detector(
        "near miss",
        "near misses",
        "{client_id} was silent for {gap_ms} of its session of {session_timeout_ms}",
        severity="info",
    ),
    of_consumers=("Heartbeats come at an interval that the group sets, by default a ninth of the session timeout."),
)
