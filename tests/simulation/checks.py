"""What must hold of a run: at every moment, and once a group has been left in quiet.

Knows the record of a run; knows nothing of how it came about.
"""

from __future__ import annotations

from collections import Counter

from rollcall.answers.clients.assignors import ASSIGNORS, RebalanceProtocol
from rollcall.answers.clients.events import PartitionsAssigned, PartitionsLost, PartitionsRevoked
from rollcall.answers.clients.member import GroupMember
from rollcall.answers.clients.membership import MemberState
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.schemas.consumer_protocol import TopicPartition, decode_assignment
from rollcall.schemas.effects import GroupRemoved, Reply, RequestDropped, RequestParked, StateChanged
from rollcall.schemas.errors import Error
from rollcall.schemas.layout import LayoutError
from rollcall.schemas.messages import JoinGroupResponse
from tests.simulation.watched import WatchedWorld

GROUP = "fleet"


def assert_always(world: WatchedWorld) -> None:
    """What no loss, stall or death may break."""
    assert world.double_ownerships == []
    assert_generations_grow(world)
    assert_callbacks_add_up(world)
    assert_answered_once(world)


def assert_generations_grow(world: WatchedWorld) -> None:
    """Each join phase ends exactly one generation later, and no member is answered an earlier one than before."""
    last, reported = 0, Counter[str]()
    for each in world.record.effects:
        match each.effect:
            case GroupRemoved():
                last, reported = 0, Counter()
            case StateChanged(from_state=GroupState.PREPARING_REBALANCE, generation_id=generation_id):
                assert generation_id == last + 1
                last = generation_id
            case StateChanged(generation_id=generation_id):
                assert generation_id == last
            case Reply(response=JoinGroupResponse(error_code=Error.NONE) as joined):
                assert joined.generation_id >= reported[joined.member_id]
                reported[joined.member_id] = joined.generation_id


def assert_callbacks_add_up(world: WatchedWorld) -> None:
    """An application is given only what it does not have, and loses only what it has."""
    owned: dict[str, set[TopicPartition]] = {}
    for each in world.record.events:
        mine = owned.setdefault(each.consumer, set())
        match each.event:
            case PartitionsAssigned(partitions=partitions):
                assert mine.isdisjoint(partitions)
                mine |= set(partitions)
            case PartitionsRevoked(partitions) | PartitionsLost(partitions):
                assert mine.issuperset(partitions)
                mine -= set(partitions)
    for name, consumer in world.consumers.items():
        if consumer.is_present:
            assert consumer.owned_partitions == owned.get(name, set())


def assert_answered_once(world: WatchedWorld) -> None:
    """Every request the coordinator took is answered once, dropped as Kafka drops it, or still parked on a member."""
    ends: Counter[str] = Counter()
    parked: set[str] = set()
    for each in world.record.effects:
        match each.effect:
            case Reply(request_id=request_id) | RequestDropped(request_id=request_id):
                ends[request_id] += 1
            case RequestParked(request_id=request_id):
                parked.add(request_id)
    waiting = {
        each.request_id
        for member in world.group(GROUP).members.values()
        for each in (member.parked_join, member.parked_sync)
        if each is not None
    }
    assert set(ends.values()) <= {1}
    assert parked - ends.keys() == waiting


def assert_settled(world: WatchedWorld) -> None:
    """The group is Stable, its members are the living consumers, and every partition is owned once, in both views."""
    group = world.group(GROUP)
    present = {name: consumer for name, consumer in world.consumers.items() if consumer.is_present}
    members = {name: consumer.member for name, consumer in present.items() if consumer.member is not None}
    assert group.state is (GroupState.STABLE if present else GroupState.EMPTY)
    assert {member.member_id for member in members.values()} == set(group.members)
    classic = [member for member in members.values() if isinstance(member, GroupMember)]
    assert len(classic) == len(members)
    assert {member.state for member in classic} <= {MemberState.STABLE}
    assert all(member.parked_join is None and member.parked_sync is None for member in group.members.values())
    believed = {member.member_id: set(member.owned_partitions) for member in members.values()}
    stored = {member_id: set(partitions) for member_id, partitions in assigned_partitions(world).items()}
    assert believed == stored
    owned = Counter(partition for partitions in believed.values() for partition in partitions)
    assert owned == Counter(wanted_partitions(world))
    for consumer in present.values():
        assert consumer.member is not None
        due_ms = consumer.member.next_deadline_ms()
        assert due_ms is not None
        assert due_ms > world.now_ms


def assigned_partitions(world: WatchedWorld) -> dict[str, list[TopicPartition]]:
    """By member id, what the coordinator has stored as its assignment; nothing where it has none it can read."""
    assigned: dict[str, list[TopicPartition]] = {}
    for member in world.group(GROUP).members.values():
        try:
            assigned[member.member_id] = list(decode_assignment(member.assignment).partitions)
        except LayoutError:
            assigned[member.member_id] = []
    return assigned


def wanted_partitions(world: WatchedWorld) -> set[TopicPartition]:
    """Every partition of every topic that a living consumer subscribes to."""
    topics = {topic for each in world.consumers.values() if each.is_present for topic in each.plan.topics}
    counts = world.topics
    return {TopicPartition(topic, number) for topic in topics for number in range(counts.get(topic, 0))}


def is_cooperative(strategy: tuple[str, ...]) -> bool:
    return all(RebalanceProtocol.COOPERATIVE in ASSIGNORS[name].rebalance_protocols for name in strategy)
