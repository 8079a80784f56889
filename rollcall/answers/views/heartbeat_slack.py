"""The view `heartbeat_slack`: how close each member came to losing its session."""

from __future__ import annotations

from rollcall.answers.views.view import GAPS, GROUP_ID, Column, View

HEARTBEAT_SLACK = View(
    name="heartbeat_slack",
    row="a membership, over or not",
    rule=(
        "A gap is the time for which the session timer ran: from its restart to the next request that restarted or "
        "stopped it, or to the expiry. The longest is the one that left least of the session, which may have become "
        "shorter meanwhile. While a request of the member is parked the timer is stopped, so this silence "
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
WITH {GAPS}, longest AS (
  SELECT group_id, member_id, joined_at,
    max(struct(gap_ms - coalesce(then_ms, session_timeout_ms, 0) AS over_ms, gap_ms, from_ms, then_ms)) AS nearest
  FROM gaps
  GROUP BY group_id, member_id, joined_at
)
SELECT group_id, member_id, client_id, group_instance_id,
  CASE WHEN nearest IS NULL THEN sessions.session_timeout_ms ELSE nearest.then_ms END AS session_timeout_ms,
  nearest.gap_ms AS longest_gap_ms,
  nearest.then_ms - nearest.gap_ms AS slack_ms,
  timestamp_millis(nearest.from_ms) AS longest_gap_from,
  joined_at, ended_at, end_cause
FROM sessions
LEFT JOIN longest USING (group_id, member_id, joined_at)
""",
    is_joined_as_written=True,
    of_consumers=("A gap ends with the next heartbeat that is taken; commits do not restart the session."),
)
