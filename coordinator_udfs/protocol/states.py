"""The states of a classic group and the moves between them.

| state | what it waits for | JoinGroup | SyncGroup | Heartbeat |
|---|---|---|---|---|
| Empty | a first member; may hold offsets | added after the initial delay | UNKNOWN_MEMBER_ID | UNKNOWN_MEMBER_ID |
| PreparingRebalance | every member to join again | parked | REBALANCE_IN_PROGRESS | REBALANCE_IN_PROGRESS |
| CompletingRebalance | the leader's assignment | parked, or answered if nothing changed | parked | NONE |
| Stable | nothing | rebalance, or answered if a follower changed nothing | own assignment | NONE |
| Dead | removal: its coordinator moved away | COORDINATOR_NOT_AVAILABLE | same | same |

Change the table below and the handlers of the APIs together. Knows nothing but the names.
Source: Kafka's ClassicGroupState.
"""

from __future__ import annotations

from enum import StrEnum


class GroupState(StrEnum):
    """A group's state, spelt as Kafka's tools show it."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


VALID_PREVIOUS: dict[GroupState, frozenset[GroupState]] = {
    GroupState.EMPTY: frozenset({GroupState.PREPARING_REBALANCE}),
    GroupState.PREPARING_REBALANCE: frozenset({GroupState.EMPTY, GroupState.COMPLETING_REBALANCE, GroupState.STABLE}),
    GroupState.COMPLETING_REBALANCE: frozenset({GroupState.PREPARING_REBALANCE}),
    GroupState.STABLE: frozenset({GroupState.COMPLETING_REBALANCE}),
    GroupState.DEAD: frozenset(GroupState),
}

CAN_REBALANCE = frozenset({GroupState.EMPTY, GroupState.COMPLETING_REBALANCE, GroupState.STABLE})
