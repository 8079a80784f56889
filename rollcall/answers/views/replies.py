"""The view `replies`: the answer to every client, and how long it waited for it."""

from __future__ import annotations

from rollcall.answers.views.view import AT_DATE, BEATS, GROUP_ID, Column, View

REPLIES = View(
    name="replies",
    row="a reply",
    rule=(
        "Every reply fact, and every accepted heartbeat of a run, which was answered NONE when it arrived. While a "
        "request is parked it waits for the group, not for the coordinator."
    ),
    columns=(
        GROUP_ID,
        Column("request_id", "string", "the request"),
        Column("api", "string", "JoinGroup, SyncGroup, Heartbeat, ..."),
        Column("api_version", "int", "the version the reply is shaped for"),
        Column("error_code", "string", "Kafka's name of the error, NONE if there was none"),
        Column("member_id", "string", "the member that asked, or the id it was given"),
        Column("client_id", "string", "the client that asked"),
        Column("generation_id", "int", "the generation it is about, -1: none"),
        Column("received_at", "timestamp", "when the request arrived"),
        Column("replied_at", "timestamp", "when it was answered"),
        Column("parked_ms", "bigint", "the time between, ms"),
        Column("response", "string", "the response as JSON, null where it carries no more than its error"),
        AT_DATE,
    ),
    sql=f"""--sql
SELECT group_id, request_id, api, api_version, error_code, member_id, client_id, generation_id,
  timestamp_millis(received_at_ms) AS received_at,
  timestamp_millis(at_ms) AS replied_at,
  at_ms - received_at_ms AS parked_ms,
  get_json_object(detail, '$.response') AS response,
  at_date
FROM effects
WHERE effect = 'reply'
UNION ALL
SELECT group_id, concat(run_id, '/', place, '/', beat) AS request_id, 'Heartbeat' AS api, api_version,
  'NONE' AS error_code, member_id, client_id, generation_id,
  timestamp_millis(from_ms + beat) AS received_at,
  timestamp_millis(from_ms + beat) AS replied_at,
  cast(0 AS BIGINT) AS parked_ms,
  cast(NULL AS STRING) AS response,
  date_add(date'1970-01-01', cast((from_ms + beat) div 86400000 AS INT)) AS at_date
FROM ({BEATS})
""",
    of_consumers=("`generation_id` is the member's epoch that the answer names, -1 or -2 where the member left."),
)
