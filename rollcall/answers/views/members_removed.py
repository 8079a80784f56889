"""The view `members_removed`: members that a coordinator removed, since they were silent or late."""

from __future__ import annotations

from rollcall.answers.views.view import GROUP_ID, Column, Detector, View
from rollcall.schemas.causes import REMOVING

MEMBERS_REMOVED = View(
    name="members_removed",
    row="a rebalance that began because a member was silent, or polled or synced too late, and was removed",
    rule=(
        "A rebalance whose cause is the end of a member's session, its poll timeout, or a request to sync or to join "
        "again that did not come in time."
    ),
    columns=(
        GROUP_ID,
        Column("member_id", "string", "the member that was removed, null: not known"),
        Column("client_id", "string", "its client id"),
        Column("client_host", "string", "its host"),
        Column("group_instance_id", "string", "its group.instance.id, null for a dynamic member"),
        Column("cause", "string", "why it was removed, as rebalances has it"),
        Column("from_at", "timestamp", "when that rebalance began, or the first moment at which it surely ran"),
        Column("to_at", "timestamp", "when it ended; from_at, if that is not known"),
        Column("from_generation_id", "int", "the generation that it left"),
        Column("is_inferred", "boolean", "the cause was inferred from other facts of a recording"),
    ),
    sql=f"""--sql
SELECT group_id, cause_member_id AS member_id, cause_client_id AS client_id, cause_client_host AS client_host,
  cause_group_instance_id AS group_instance_id, cause, known_from AS from_at, coalesce(ended_at, known_from) AS to_at,
  from_generation_id, is_inferred
FROM rebalances
WHERE cause IN ({", ".join(f"'{kind}'" for kind in REMOVING)})
""",
    detector=Detector(
        "member removed", "members removed", "a member[, {client_id},] was removed: {cause}", rebalance="first"
    ),
    of_consumers="Members send no requests to sync.",
)
