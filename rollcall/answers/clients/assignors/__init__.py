"""The assignors a member runs when it leads its group: pure, deterministic, by Kafka's protocol names.

What it knows: the one interface of an assignor, and the four that Kafka's own clients have.
What it must not know: sockets, clocks, the group's state; a leader hands over what it was given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from rollcall.answers.clients.assignors.common import MemberSubscription, RebalanceProtocol
from rollcall.answers.clients.assignors.cooperative_sticky import CooperativeStickyAssignor
from rollcall.answers.clients.assignors.range import RangeAssignor
from rollcall.answers.clients.assignors.roundrobin import RoundRobinAssignor
from rollcall.answers.clients.assignors.sticky import StickyAssignor
from rollcall.schemas.consumer_protocol import TopicPartition

__all__ = ["ASSIGNORS", "Assignor", "MemberSubscription", "RebalanceProtocol"]


class Assignor(Protocol):
    """How a group shares out its partitions."""

    @property
    def name(self) -> str:
        """Kafka's protocol name, as in JoinGroup."""

    @property
    def rebalance_protocols(self) -> frozenset[RebalanceProtocol]:
        """The rebalance protocols it can be used with; a consumer uses the highest all its assignors share."""

    def subscription_user_data(self, owned: Sequence[TopicPartition] | None, generation: int) -> bytes | None:
        """The userData of the subscription of a member that was last assigned `owned` (None: never) in `generation`."""

    def assign(
        self, partitions_by_topic: Mapping[str, int], members: Mapping[str, MemberSubscription]
    ) -> dict[str, list[TopicPartition]]:
        """The partitions of every member, by member id; topics without partitions or subscribers are skipped."""


ASSIGNORS: dict[str, Assignor] = {
    assignor.name: assignor
    for assignor in (RangeAssignor(), RoundRobinAssignor(), StickyAssignor(), CooperativeStickyAssignor())
}
