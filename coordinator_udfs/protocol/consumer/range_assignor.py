"""The range assignor: each topic's partitions in runs of neighbours, made anew each time.

Source: Kafka's server-side RangeAssignor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rollcall.schemas.consumer_protocol import java_string_order


class MemberSpec(NamedTuple):
    """A member as an assignor sees it."""

    member_id: str
    instance_id: str | None
    topics: frozenset[str]
    """Those it subscribes to that exist."""
    target: Mapping[str, Sequence[int]]
    """What it was to own so far."""


Plan = dict[str, dict[str, list[int]]]
"""By member id: the partitions of each topic; who gets nothing has an empty entry."""


def assign_by_range(members: Sequence[MemberSpec], topics: Mapping[str, int]) -> Plan:
    """Of a topic's p partitions and n members, the first p mod n members get one more than the others.

    Static members come first, by instance id, then dynamic ones, by member id; texts in Java's order.
    """
    plan: Plan = {member.member_id: {} for member in members}
    subscribers: dict[str, list[str]] = {topic: [] for topic in topics}
    for member in sorted(members, key=_place):
        for topic in member.topics:
            subscribers[topic].append(member.member_id)
    for topic, member_ids in subscribers.items():
        least, extra = divmod(topics[topic], len(member_ids) or 1)
        start = 0
        for place, member_id in enumerate(member_ids):
            end = start + least + (place < extra)
            if end > start:
                plan[member_id][topic] = list(range(start, end))
            start = end
    return plan


def _place(member: MemberSpec) -> tuple[bool, bytes]:
    name = member.member_id if member.instance_id is None else member.instance_id
    return member.instance_id is None, java_string_order(name)
