"""Every view, in the order in which they must be registered: one may stand on those above it.

Knows the views. Must not know where their tables are.
"""

from __future__ import annotations

from views.assignments import ASSIGNMENTS
from views.groups import GROUPS
from views.heartbeat_slack import HEARTBEAT_SLACK
from views.join_waits import JOIN_WAITS
from views.members import MEMBERS
from views.offsets import OFFSETS
from views.rebalances import REBALANCES
from views.replies import REPLIES
from views.sessions import SESSIONS
from views.view import View

VIEWS: tuple[View, ...] = (
    REPLIES,
    SESSIONS,
    ASSIGNMENTS,
    MEMBERS,
    GROUPS,
    REBALANCES,
    JOIN_WAITS,
    HEARTBEAT_SLACK,
    OFFSETS,
)
