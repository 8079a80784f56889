"""The uniform assignor where all members subscribe to the same: balanced within one, and sticky.

For members with different subscriptions see `uniform_mixed`. Source: UniformHomogeneousAssignmentBuilder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from rollcall.coordinator_udfs.protocol.consumer.range_assignor import MemberSpec, Plan
from rollcall.coordinator_udfs.protocol.java_maps import set_order, topic_set_order


def assign_uniformly(
    members: Sequence[MemberSpec], topics: Mapping[str, int], ids: Mapping[str, str] | None = None
) -> Plan:
    """Each member keeps what it may of its old target, up to its quota; the rest is handed out in order.

    members: in the order in which they choose. ids: by topic; topics go in the order of Kafka's set of them, or in that
    of their names. Free partitions go by number.
    """
    subscribed = _in_order(members[0].topics, ids) if members else []
    total = sum(topics[topic] for topic in subscribed)
    least, extra = divmod(total, len(members)) if members else (0, 0)
    held = {(t, p) for member in members for t, partitions in member.target.items() for p in partitions}
    free = [(topic, p) for topic in subscribed for p in range(topics[topic]) if (topic, p) not in held]
    plan: Plan = {}
    unfilled: list[tuple[str, int]] = []
    for place, member in enumerate(members):
        may_have_extra = extra > 0
        quota = least + may_have_extra
        kept, quota = _keep(member, quota, topics, ids, free)
        plan[member.member_id] = kept
        if quota > 0 and may_have_extra and len(members) - place > extra:
            quota -= 1
            may_have_extra = False
        if quota > 0:
            unfilled.append((member.member_id, quota))
        if may_have_extra:
            extra -= 1
    remaining = iter(free)
    for member_id, quota in unfilled:
        for topic, partition in islice(remaining, quota):
            plan[member_id].setdefault(topic, []).append(partition)
    return plan


def _keep(
    member: MemberSpec,
    quota: int,
    topics: Mapping[str, int],
    ids: Mapping[str, str] | None,
    free: list[tuple[str, int]],
) -> tuple[dict[str, list[int]], int]:
    """What a member keeps of its old target, and how much of its quota is left; what is too much becomes free."""
    kept: dict[str, list[int]] = {}
    for topic in _in_order(member.target.keys() & member.topics, ids):
        partitions = [p for p in member.target[topic] if p < topics[topic]]
        if len(partitions) > quota:
            partitions = set_order(partitions)
            free += [(topic, p) for p in partitions[quota:]]
            partitions = partitions[:quota]
        if partitions:
            kept[topic] = partitions
            quota -= len(partitions)
    return kept, quota


def _in_order(topics: Iterable[str], ids: Mapping[str, str] | None) -> list[str]:
    return topic_set_order(topics, ids) if ids else sorted(topics)
