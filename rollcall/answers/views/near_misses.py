"""The view `near_misses`: members whose session all but ran out, and did not."""

from __future__ import annotations

from rollcall.answers.views.view import GAPS, GROUP_ID, Column, Detector, View

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
        Column("to_at", "timestamp", "when it was next seen"),
        Column("gap_ms", "bigint", "the time between, ms"),
        Column("session_timeout_ms", "bigint", "how long it might be silent then, ms"),
        Column("slack_ms", "bigint", "what was left of the session, ms; 0 or less: none, and it was lucky"),
    ),
    sql=f"""--sql
WITH {GAPS}
SELECT group_id, member_id, client_id, client_host, group_instance_id,
  timestamp_millis(from_ms) AS from_at,
  timestamp_millis(to_ms) AS to_at,
  gap_ms, then_ms AS session_timeout_ms, then_ms - gap_ms AS slack_ms
FROM gaps
WHERE NOT is_expiry AND gap_ms >= {SHARE} * then_ms
""",
    detector=Detector(
        "near miss",
        "near misses",
        "{client_id} was silent for {gap_ms} of its session of {session_timeout_ms}",
        severity="info",
    ),
    is_joined_as_written=True,
    of_consumers=("Heartbeats come at an interval that the group sets, by default a ninth of the session timeout."),
)
