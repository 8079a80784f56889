"""What brod prints (Erlang): who it is in a heading, and the message in the line behind it.

Source: `src/brod_group_coordinator.erl` of 2.2 to 4.3. It joins with the id that it has, so a coordinator that does not
know the id refuses the join, and brod joins again as a new member.
"""

from __future__ import annotations

import re

from rollcall.inputs.printed.dialects.dialect import Dialect, Heading
from rollcall.inputs.printed.lines.entries import Entry
from rollcall.inputs.printed.logged_facts import FactKind as F
from rollcall.inputs.printed.templates import Template, Templates, field_of

_HEADING = re.compile(
    r"[Gg]roup (?:coordinator|member) \((?:groupId=)?(?P<group_id>[^,()]{1,255}),"
    r"(?:memberId=(?P<member_id>[^,()]{0,400})|coor=(?P<client_id>[^,()]{1,40}),cb=[^,()]{1,40}),"
    r"generation=(?P<generation_id>\d{1,10})(?:,pid=[^,()]{1,40})?\):\s*"
)


def brod_heading(entry: Entry) -> Heading | None:
    """The fields of the heading, and the message behind it. Before it has joined there is no generation."""
    found = _HEADING.search(entry.printed)
    if found is None:
        return None
    fields: dict[str, object] = {key: value for key, value in found.groupdict().items() if value}
    fields["generation_id"] = field_of("generation_id", found["generation_id"]) or None
    return Heading(fields, entry.printed[found.end() :].replace("reason::", "reason:").rstrip(". "))


_AGAIN = "re-joining group, reason:"
_TEMPLATES = (
    *(
        Template(F.GROUP_IS_REBALANCING, _AGAIN + error, since=since)
        for error, since in (("RebalanceInProgress", "2.2"), ("rebalance_in_progress", "3.0"))
    ),
    *(
        Template(F.MEMBERSHIP_LOST, _AGAIN + error, since=since, error=error)
        for error, since in (
            ("UnknownMemberId", "2.2"),
            ("IllegalGeneration", "2.2"),
            ("unknown_member_id", "3.0"),
            ("illegal_generation", "3.0"),
        )
    ),
    Template(F.INSTANCE_FENCED, _AGAIN + "fenced_instance_id", since="3.0"),
    Template(F.COORDINATOR_LOST, _AGAIN + "{connection_down,{reason}", since="2.2"),
    Template(F.COORDINATOR_LOST, _AGAIN + "not_coordinator", since="3.0", reason="not_coordinator"),
    Template(F.REJOIN_WANTED, _AGAIN + "topics", since="2.2", reason="its subscription has changed"),
    Template(F.JOINED, "elected={}", since="2.2"),
    Template(F.SYNCED, "assignments received: {partitions}", since="2.2"),
    Template(F.SYNCED, "assignments received:[]", since="2.2", partitions="[]"),
    Template(F.JOIN_REFUSED, "failed to join group reason: {error}", since="2.2"),
    Template(F.JOIN_REFUSED, "failed to join group reason:{error}", since="2.2"),
    Template(F.HEARTBEATS_UNANSWERED, "Leaving group, reason: hb_timeout", since="2.2"),
    Template(F.LEAVE_SENT, "Leaving group, reason: {}", since="2.2"),
)

DIALECT = Dialect(
    name="brod",
    title="brod's log (Erlang)",
    marks=(",generation=",),
    example="[info] Group member (orders,coor=<0.412.0>,cb=<0.410.0>,generation=12): {}",
    heading=brod_heading,
    templates=Templates(_TEMPLATES),
)
