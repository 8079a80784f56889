"""A plan that is run: every part of a simulation joined together.

    world = World(plan)
    world.run_until(120_000)
    world.record, world.group("orders"), world.consumers["a"]

Knows which part needs which; knows no behaviour of any.
"""

from __future__ import annotations

from rollcall.answers.simulation.broker import SimulatedCoordinator
from rollcall.answers.simulation.consumer import SimulatedConsumer
from rollcall.answers.simulation.network import Network
from rollcall.answers.simulation.plan import GroupProtocol, TopicChange, WorldPlan
from rollcall.answers.simulation.record import Record
from rollcall.answers.simulation.virtual_time import VirtualTime
from rollcall.coordinator_udfs.protocol.group import Group


class World:
    """One run of a plan, as far as it has been run."""

    network_kind: type[Network] = Network

    def __init__(self, plan: WorldPlan) -> None:
        self.plan = plan
        self.record = Record()
        self._time = VirtualTime()
        self._network = self.network_kind(plan.network, plan.seed, self._time, self.record)
        self._topics = dict(plan.topics)
        self._coordinator = SimulatedCoordinator(plan.group_config, self._time, self.record, self._network.answer)
        self._show_coordinator()
        self._network.connect(self._coordinator)
        self.consumers = {
            each.name: SimulatedConsumer(each, self._time, self._network, self.record) for each in plan.consumers
        }
        for change in plan.topic_changes:
            self._time.at(change.at_ms, self._change_topic, change)
        for consumer in self.consumers.values():
            consumer.topics_changed(self.topics)
            consumer.schedule()

    @property
    def now_ms(self) -> int:
        return self._time.now_ms

    @property
    def topics(self) -> dict[str, int]:
        """The topics that exist now, with their partition counts."""
        return {topic: count for topic, count in self._topics.items() if count > 0}

    def run_until(self, until_ms: int) -> None:
        """Lets time pass up to and at until_ms."""
        self._time.run_until(until_ms)

    def group(self, group_id: str) -> Group:
        """A group as the coordinator has it; one that it does not know is empty."""
        return self._coordinator.groups.get(group_id) or Group(group_id)

    def _change_topic(self, change: TopicChange) -> None:
        """The topic changes now, and everybody sees it."""
        self._topics[change.topic] = change.partitions
        self._show_coordinator()
        for consumer in self.consumers.values():
            self._time.at(self.now_ms, consumer.topics_changed, self.topics)

    def _show_coordinator(self) -> None:
        """Show the coordinator the topics; only groups of the newer protocol depend on them."""
        if any(each.protocol is GroupProtocol.CONSUMER for each in self.plan.consumers):
            self._coordinator.see_topics(self.topics)
