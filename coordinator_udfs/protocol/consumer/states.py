"""The states of a consumer group and of its members. Knows nothing but the names.

| group | when | ends by |
|---|---|---|
| Empty | it has no members; it may hold offsets | a member |
| Assigning | its epoch is above that of its target assignment | a heartbeat once the assignment interval has passed |
| Reconciling | some member has not reached the target's epoch, or waits | the members' own heartbeats |
| Stable | every member has what the target gives it | any new epoch |

| member | it | ends when |
|---|---|---|
| stable | has what its epoch's target gave it | the target's epoch is another one |
| unrevoked | must give partitions up; its epoch stays | a heartbeat shows that it no longer owns them |
| unreleased | has the target's epoch, and waits for what others hold | others have let go and it heartbeats |

Source: Kafka's ConsumerGroup.ConsumerGroupState and MemberState.
"""

from __future__ import annotations

from enum import StrEnum


class GroupType(StrEnum):
    """Which of the two protocols a group is under, spelt as ListGroups shows it."""

    CLASSIC = "classic"
    CONSUMER = "consumer"


class ConsumerGroupState(StrEnum):
    """A consumer group's state, spelt as Kafka's tools show it; always derived."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


class MemberState(StrEnum):
    """Where a member stands on its way to its target."""

    STABLE = "stable"
    UNREVOKED = "unrevoked"
    UNRELEASED = "unreleased"


class MemberTimer(StrEnum):
    """A member's timers beside its session; each of them removes the member."""

    REBALANCE = "rebalance"
    """It must give partitions up."""
    JOIN = "join"
    """A classic member must join again."""
    SYNC = "sync"
    """A classic member has joined and must sync."""
