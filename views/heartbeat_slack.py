"""The view `heartbeat_slack`: how close each member came to losing its session."""

from __future__ import annotations

from views.view import EARLIER_SESSIONS, GROUP_ID, SILENCES, Column, View

HEARTBEAT_SLACK = View(
    name="heartbeat_slack",
    row="a membership, over or not",
    rule=(
        "A gap is the time for which the session timer ran: from its restart to the next request that restarted or "
        "stopped it, or to the expiry. While a request of the member is parked the timer is stopped, so this silence "
        "is no gap; the answer restarts the timer. A session also begins anew, without a request, when a coordinator "
        "has loaded the group, when the group's type changes, and when a recording shows that the member lives on."
    ),
    columns=(
        GROUP_ID,
        Column("member_id", "string", "the member"),
        Column("client_id", "string", "its client id"),
        Column("group_instance_id", "string", "its group.instance.id, null for a dynamic member"),
        Column("session_timeout_ms", "bigint", "how long it might be silent in its longest gap, ms"),
        Column("longest_gap_ms", "bigint", "its longest gap, ms; null: there was none yet"),
        Column("slack_ms", "bigint", "what was left of the session then, ms; 0 or less: none"),
        Column("longest_gap_from", "timestamp", "when that gap began"),
        Column("joined_at", "timestamp", "when it became a member"),
        Column("ended_at", "timestamp", "when it was one no longer, null: it still is"),
        Column("end_cause", "string", "see sessions"),
    ),
    sql=f"""--sql
WITH {SILENCES}, gaps AS (
  SELECT group_id, member_id, timestamp_millis(joined_ms) AS joined_at, max(struct(gap_ms, from_ms)) AS longest
  FROM silences
  WHERE is_request AND gap_ms IS NOT NULL
  GROUP BY group_id, member_id, joined_ms
)
SELECT group_id, member_id, client_id, group_instance_id, session_timeout_ms,
  longest.gap_ms AS longest_gap_ms,
  session_timeout_ms - longest.gap_ms AS slack_ms,
  timestamp_millis(longest.from_ms) AS longest_gap_from,
  joined_at, ended_at, end_cause
FROM (
  SELECT sessions.group_id, sessions.member_id, client_id, group_instance_id,
    longest, sessions.joined_at, ended_at, end_cause,
    CASE WHEN until_ms IS NULL THEN sessions.session_timeout_ms ELSE earlier.session_timeout_ms END
      AS session_timeout_ms
  FROM sessions
  LEFT JOIN gaps USING (group_id, member_id, joined_at)
  LEFT JOIN ({EARLIER_SESSIONS}) AS earlier
    ON earlier.group_id = sessions.group_id AND earlier.member_id = sessions.member_id
      AND gaps.longest.from_ms >= said_ms AND gaps.longest.from_ms < until_ms
)
""",
    of_consumers=("A gap ends with the next heartbeat that is taken; commits do not restart the session."),
)
