"""The assignors a member runs when it leads its group: pure, deterministic, by Kafka's protocol names.

What it knows: what an assignor is, and the four that Kafka's own clients have.
What it must not know: sockets, clocks, the group's state; a leader hands over what it was given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from rollcall.answers.clients.assignors.common import MemberSubscription, RebalanceProtocol
from rollcall.answers.clients.assignors.range import assign_range
from rollcall.answers.clients.assignors.roundrobin import assign_roundrobin
from rollcall.answers.clients.assignors.sticky import (
    assign_cooperative_sticky,
    assign_sticky,
    generation_alone,
    last_assignment,
)
from rollcall.schemas.consumer_protocol import TopicPartition

__all__ = ["ASSIGNORS", "Assignor", "MemberSubscription", "RebalanceProtocol"]


def _nothing(owned: Sequence[TopicPartition] | None, generation: int) -> None:
    """The leader gets only the topics."""


class Assignor(NamedTuple):
    """How a group shares out its partitions."""

    assign: Callable[[Mapping[str, int], Mapping[str, MemberSubscription]], dict[str, list[TopicPartition]]]
    """The partitions of every member, by member id, of topics' partition counts and the members' subscriptions; topics
    without partitions or subscribers are skipped."""
    subscription_user_data: Callable[[Sequence[TopicPartition] | None, int], bytes | None] = _nothing
    """The userData of the subscription of a member that was last assigned partitions (None: never) in a generation."""
    rebalance_protocols: frozenset[RebalanceProtocol] = frozenset({RebalanceProtocol.EAGER})
    """The rebalance protocols it can be used with; a consumer uses the highest all its assignors share."""


ASSIGNORS = {
    "range": Assignor(assign_range),
    "roundrobin": Assignor(assign_roundrobin),
    "sticky": Assignor(assign_sticky, last_assignment),
    "cooperative-sticky": Assignor(assign_cooperative_sticky, generation_alone, frozenset(RebalanceProtocol)),
}
"""By Kafka's protocol names, as in JoinGroup."""
