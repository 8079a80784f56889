"""The view `group_configs`: what was set for a single group, by whom, from when to when."""

from __future__ import annotations

from rollcall.answers.views.details import facts
from rollcall.answers.views.view import GROUP_ID, Column, View
from rollcall.schemas.consumer_effects import GroupConfigsChanged

GROUP_CONFIGS = View(
    name="group_configs",
    row="a change of a setting of a single group",
    rule=(
        "A key of a group_configs_changed fact, until the next such fact names that key. A member uses the value from "
        "its next heartbeat on. If nothing is set, the broker's setting is used, whose key begins with `group.`."
    ),
    columns=(
        GROUP_ID,
        Column("name", "string", "the key, as consumer.session.timeout.ms"),
        Column("value", "string", "what is set from then on; null: it was removed"),
        Column("was", "string", "what was set before; null: nothing, or a recording does not tell"),
        Column("from_at", "timestamp", "when it was changed"),
        Column("to_at", "timestamp", "when it was changed again; null: it holds"),
        Column("client_id", "string", "whose request changed it, null where a recording shows no request"),
        Column("client_host", "string", "from where"),
        Column("principal", "string", "who authenticated there, where known"),
        Column("is_inferred", "boolean", "no request set it: it was inferred, or given by --set"),
        Column("why", "string", "what it was inferred from, where it was"),
    ),
    sql=f"""--sql
WITH changes AS (
  SELECT group_id, at_ms, seq, said, explode(said.changed) AS one
  FROM {facts("changed client_id client_host principal is_inferred why", GroupConfigsChanged)}
)
SELECT group_id, one.name AS name, one.value AS value, one.was AS was,
  timestamp_millis(at_ms) AS from_at,
  timestamp_millis(lead(at_ms) OVER (PARTITION BY group_id, one.name ORDER BY at_ms, seq)) AS to_at,
  nullif(said.client_id, '') AS client_id,
  nullif(said.client_host, '') AS client_host,
  said.principal AS principal,
  said.is_inferred AS is_inferred,
  nullif(said.why, '') AS why
FROM changes
""",
    of_consumers="What is set for share and streams groups is kept, and nothing here goes by it.",
)
