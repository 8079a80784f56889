"""The plan of the demo fleet: its groups, their topics and members, and what each member does when.

`rollcall.cli.run.demo_fleet` shows it as a table. Knows the plan; must not know who runs it, so that `rollcall run` can
refuse what it was asked before it has loaded a Kafka client.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class DemoMember:
    """One member's plan."""

    client_id: str
    joins_after_s: float | None = None
    """How long after others of its group are at work it joins; None: at once."""
    restarts_after_s: float | None = None
    """How long after it first got partitions it leaves and comes back, once; None: never."""
    sticks_after_commits: int | None = None
    """After how many commits it commits nothing more of the first of its partitions; None: never."""
    records_per_s: int | None = None
    """How many records it works through; None: all there are."""
    is_alone: bool = False
    """Whether it is a process of its own, which is killed."""


@dataclass(frozen=True)
class DemoGroup:
    """One group's plan."""

    group_id: str
    topics: Mapping[str, int]
    assignor: str
    members: tuple[DemoMember, ...]


FLEET = (
    DemoGroup(
        "payments",
        {"payments": 6},
        "range",
        (
            DemoMember("payments-0", sticks_after_commits=20),
            DemoMember("payments-1"),
            DemoMember("payments-2", joins_after_s=4.0),
        ),
    ),
    DemoGroup(
        "orders",
        {"orders": 8, "returns": 4},
        "cooperative-sticky",
        (
            DemoMember("orders-0", restarts_after_s=6.0),
            DemoMember("orders-1", restarts_after_s=12.0),
            DemoMember("orders-2", restarts_after_s=18.0),
        ),
    ),
    DemoGroup(
        "audit",
        {"audit": 4},
        "roundrobin",
        (DemoMember("audit-0"), DemoMember("audit-1"), DemoMember("audit-2", is_alone=True)),
    ),
    DemoGroup(
        "reports",
        {"orders": 8},
        "range",
        (DemoMember("reports-0", records_per_s=10), DemoMember("reports-1", records_per_s=10)),
    ),
)
TOPICS = {topic: count for group in FLEET for topic, count in group.topics.items()}
RECORDS_PER_SECOND = {"payments": 10, "orders": 5, "returns": 2, "audit": 5}
"""How many records each partition of a topic grows by."""
KILL_AFTER_S = 5.0
"""How long after its group is at work the lone member of `audit` is killed."""
