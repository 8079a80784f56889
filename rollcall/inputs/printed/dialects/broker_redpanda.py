"""A Redpanda broker's lines about groups, all of them at TRACE, and how its log is told without them.

Source: `kafka/server/group.cc` and `group.h` of Redpanda 24.3. A line has the generation of the moment at which it is
printed. There is no line of its own for a leave.
"""

from __future__ import annotations

import re

from rollcall.inputs.printed.logged_facts import FactKind as F
from rollcall.inputs.printed.templates import Template

PRINTS_NO_REBALANCES = (
    "its first line is laid out as Redpanda's are: Redpanda prints rebalances only at TRACE, and no such line is in "
    "it. The logs of the group's clients show these clients' part"
)
PLACE = r"[\w/:.-]{1,60}\.(?:cc|h):\d{1,6} - "
"""The place in the source, which stands before a message."""
_LAYOUT = re.compile(rf"\[shard +\d{{1,4}}(?::\w{{1,20}})?\] [\w/:.-]{{1,60}} - {PLACE}")
"""Seastar's layout with the place in the source. ScyllaDB's, which is Seastar's too, has none."""
_G = "[N:{group_id} S:{old_state} G:{generation_id}] "
_STATE = _G + "Changing state from {old_state} to "

OF_REDPANDA = (
    Template(F.REBALANCE_BEGAN, _STATE + "PreparingRebalance"),
    Template(F.JOIN_PHASE_ENDED, _STATE + "CompletingRebalance"),
    Template(F.ASSIGNMENT_RECEIVED, _STATE + "Stable"),
    Template(F.GROUP_EMPTIED, _STATE + "Empty"),
    Template(F.GROUP_DIED, _STATE + "Dead"),
    Template(F.MEMBER_ID_GIVEN, _G + "Requesting rejoin for unknown member with new id {member_id}", is_static=False),
    Template(F.MEMBER_ADDED, _G + "Added member id={member_id} group={} group_inst={}"),
    Template(F.MEMBER_EXPIRED, _G + "Heartbeat expired for keep_alive=false member {member_id}"),
    Template(F.PENDING_MEMBER_EXPIRED, _G + "Handling expired heartbeat for pending member {member_id}"),
    Template(F.MEMBERS_NOT_BACK, _G + "Removing unjoined member {member_ids}"),
)


def is_laid_out_as_redpanda_s(line: str) -> bool:
    """Whether a line has the layout of Redpanda's log."""
    return _LAYOUT.search(line) is not None
