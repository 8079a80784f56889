"""Every view, in the order in which they must be registered: one may stand on those above it.

Knows the views. Must not know where their tables are.
"""

from __future__ import annotations

from views.assignments import ASSIGNMENTS
from views.deploys import DEPLOYS
from views.double_owners import DOUBLE_OWNERS
from views.flapping_members import FLAPPING_MEMBERS
from views.groups import GROUPS
from views.heartbeat_slack import HEARTBEAT_SLACK
from views.join_waits import JOIN_WAITS
from views.leader_only_loops import LEADER_ONLY_LOOPS
from views.members import MEMBERS
from views.near_misses import NEAR_MISSES
from views.offsets import OFFSETS
from views.rebalances import REBALANCES
from views.replies import REPLIES
from views.sessions import SESSIONS
from views.standstills import STANDSTILLS
from views.storms import STORMS
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
    STANDSTILLS,
    STORMS,
    FLAPPING_MEMBERS,
    LEADER_ONLY_LOOPS,
    NEAR_MISSES,
    DEPLOYS,
    DOUBLE_OWNERS,
)
