"""The target assignment: what each member is to own, computed only inside a heartbeat or a JoinGroup. Knows when one is
due, which assignor the members want and its input. Source: Kafka's TargetAssignmentBuilder,
GroupMetadataManager.maybeUpdateTargetAssignment, ConsumerGroup.computePreferredServerAssignor.
"""

from __future__ import annotations

from collections import Counter

from rollcall.coordinator_udfs.protocol.config import ConsumerConfig
from rollcall.coordinator_udfs.protocol.consumer import history
from rollcall.coordinator_udfs.protocol.consumer.assignors import (
    MemberSpec,
    Plan,
    assign_by_range,
    assign_mixed,
    assign_uniformly,
)
from rollcall.coordinator_udfs.protocol.consumer.group import ConsumerGroup, ConsumerMember
from rollcall.coordinator_udfs.protocol.consumer.subscription import existing_topics, is_homogeneous, topics_of
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.java_maps import hash_map_order
from rollcall.coordinator_udfs.protocol.turn import Turn


def maybe_assign(group: Group, consumer: ConsumerGroup, asking: ConsumerMember, turn: Turn) -> None:
    """Computes the target of the group's epoch unless it has one, or the last one is younger than the interval.

    asking: the member that sent the request; a new one comes last among equals.
    """
    if consumer.target_epoch >= group.generation_id:
        return
    interval_ms = turn.consumer.assignment_interval_ms
    if consumer.target_at_ms is not None and turn.now_ms < consumer.target_at_ms + interval_ms:
        return
    assignor = preferred_assignor(consumer, turn.consumer, asking)
    topics = existing_topics(consumer, turn.topics)
    specs = _specs(consumer, topics)
    group.work += 10 * len(specs) + sum(topics.values())
    if assignor == "range" or not is_homogeneous(consumer):
        group.work += sum(len(spec.topics) for spec in specs)
    plan = _plan(consumer, assignor, specs, topics)
    changed = []
    for member in consumer.members.values():
        target = {topic: tuple(sorted(ps)) for topic, ps in sorted(plan[member.member_id].items()) if ps}
        if target != member.target:
            member.target = target
            changed.append(member)
    consumer.target_epoch, consumer.target_at_ms = group.generation_id, turn.now_ms
    history.target_assigned(group, consumer, assignor, changed, turn)


def _plan(consumer: ConsumerGroup, assignor: str, members: list[MemberSpec], topics: dict[str, int]) -> Plan:
    match assignor:
        case "range":
            return assign_by_range(members, topics)
        case "uniform":
            assign = assign_uniformly if is_homogeneous(consumer) else assign_mixed
            return assign(members, topics, _ids(consumer, topics))
        case _:
            raise AssertionError(f"there is no assignor {assignor!r}")


def _ids(consumer: ConsumerGroup, topics: dict[str, int]) -> dict[str, str] | None:
    """The ids of these topics; None unless all of them are known."""
    if not topics.keys() <= consumer.topic_ids.keys():
        return None
    return {topic: consumer.topic_ids[topic] for topic in topics}


def _specs(consumer: ConsumerGroup, topics: dict[str, int]) -> list[MemberSpec]:
    """The members in the order in which Kafka's hash map walks them: its own table's, then those not in it yet."""
    subscriptions: dict[tuple[tuple[str, ...], str], frozenset[str]] = {}
    specs = []
    for member_id in hash_map_order([*consumer.table, *consumer.members]):
        member = consumer.members[member_id]
        subscription = (member.topics, member.pattern)
        if subscription not in subscriptions:
            subscriptions[subscription] = frozenset(topics.keys() & topics_of(consumer, member))
        specs.append(MemberSpec(member_id, member.instance_id, subscriptions[subscription], member.target or {}))
    return specs


def preferred_assignor(consumer: ConsumerGroup, config: ConsumerConfig, asking: ConsumerMember | None = None) -> str:
    """The assignor that most members name, the configured first one if none does.

    A tie goes to the first configured; but to the asking member's choice if only that member named one.
    """
    known = config.assignors
    votes = Counter(m.server_assignor for m in consumer.members.values() if m.server_assignor in known)
    if not votes:
        return known[0]
    most = max(votes.values())
    if asking is not None and asking.server_assignor in known and most == 1:
        return asking.server_assignor
    return next(name for name in known if votes[name] == most)
