"""A world that is looked at after everything that happens: do two consumers with a valid session own one partition?

Knows what applications are notified of and what the coordinator answers; see `tests.simulation.ownership`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from rollcall.answers.clients.events import Closed, PartitionsAssigned, PartitionsLost, PartitionsRevoked
from rollcall.answers.simulation.plan import WorldPlan
from rollcall.answers.simulation.record import ConsumerEvent, GroupEffect
from rollcall.answers.simulation.world import World
from rollcall.schemas.effects import Reply
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import JoinGroupResponse
from tests.simulation.lossy import LossyNetwork, LostMessage
from tests.simulation.ownership import DoubleOwnership, Ownership

T = TypeVar("T")


class WatchedWorld(World):
    """A world with its double ownerships, whose network may lose messages."""

    network_kind = LossyNetwork

    def __init__(self, plan: WorldPlan) -> None:
        super().__init__(plan)
        self._ownership = Ownership(self._time, self.has_valid_session)
        self._joined: dict[str, int] = {}
        self._schedules = {name: consumer.member for name, consumer in self.consumers.items()}
        self.record.events = _Heard(self._reported)
        self.record.effects = _Heard(self._answered)

    @property
    def double_ownerships(self) -> list[DoubleOwnership]:
        return self._ownership.doubles

    @property
    def lost(self) -> list[LostMessage]:
        assert isinstance(self._network, LossyNetwork)
        return self._network.lost

    def has_valid_session(self, name: str) -> bool:
        """Whether the coordinator counts the consumer among the members of the current generation."""
        consumer = self.consumers[name]
        if consumer.member is None or not consumer.is_present:
            return False
        group = self.group(consumer.member.config.group_id)
        member_id = consumer.member.member_id
        if group.consumer is not None:
            return member_id in group.consumer.members
        return member_id in group.members and self._joined.get(member_id) == group.generation_id

    def _reported(self, happened: ConsumerEvent) -> None:
        self._forget_who_is_gone()
        group_id = self.consumers[happened.consumer].plan.config.group_id
        match happened.event:
            case PartitionsAssigned(partitions=partitions):
                self._ownership.take(happened.consumer, group_id, partitions)
            case PartitionsRevoked(partitions) | PartitionsLost(partitions):
                self._ownership.drop(happened.consumer, group_id, partitions)
            case Closed():
                self._ownership.drop_all(happened.consumer)

    def _answered(self, effect: GroupEffect) -> None:
        if not isinstance(effect.effect, Reply):
            return
        response = effect.effect.response
        if isinstance(response, JoinGroupResponse) and response.error_code is Error.NONE:
            self._joined[response.member_id] = response.generation_id
        self._forget_who_is_gone()
        self._ownership.check()

    def _forget_who_is_gone(self) -> None:
        """A process that was killed, or has another schedule, owns nothing of what it did."""
        for name, consumer in self.consumers.items():
            if consumer.member is not self._schedules[name] or not consumer.is_present:
                self._schedules[name] = consumer.member
                self._ownership.drop_all(name)


class _Heard(list[T], Generic[T]):
    """A list that says what is added to it."""

    def __init__(self, hear: Callable[[T], None]) -> None:
        super().__init__()
        self._hear = hear

    def append(self, one: T) -> None:
        super().append(one)
        self._hear(one)
