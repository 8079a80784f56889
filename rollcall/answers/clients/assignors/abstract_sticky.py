"""What the two sticky assignors share: who validly owns what, and which of the two algorithms plans the rest.

What it knows: members' claims, their generations, and how conflicts between them are decided. What it must not know:
where a member's claim is written (the assignor's file), and what a follow-up rebalance is for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rollcall.answers.clients.assignors.common import (
    MemberSubscription,
    subscribed_partition_counts,
    subscribers_by_topic,
)
from rollcall.answers.clients.assignors.sticky_constrained import assign_constrained
from rollcall.answers.clients.assignors.sticky_general import assign_general
from rollcall.schemas.consumer_protocol import NO_GENERATION, TopicPartition


@dataclass(frozen=True, slots=True)
class Claim:
    """The partitions a member says it owns, and the generation it owned them in (-1: it does not say)."""

    partitions: tuple[TopicPartition, ...] = ()
    generation: int = NO_GENERATION


@dataclass(frozen=True, slots=True)
class StickyPlan:
    """The assignment to reach, and each claimed partition's valid owner before it."""

    assignment: dict[str, list[TopicPartition]]
    previous_owner: dict[TopicPartition, str]


def plan_sticky(
    partitions_by_topic: Mapping[str, int],
    members: Mapping[str, MemberSubscription],
    claims: Mapping[str, Claim],
) -> StickyPlan:
    """A balanced assignment that moves as few validly owned partitions as balance allows.

    Members that all subscribe to the same topics take the constrained algorithm, others the general one. Members are
    visited in the mapping's order, which decides who keeps the extra partition. Source: AbstractStickyAssignor.
    """
    counts = subscribed_partition_counts(partitions_by_topic, members)
    owner = _valid_owners(counts, claims)
    owned: dict[str, list[TopicPartition]] = {member_id: [] for member_id in members}
    for partition, member_id in owner.items():
        owned[member_id].append(partition)
    if len({frozenset(member.subscription.topics) for member in members.values()}) <= 1:
        return StickyPlan(assign_constrained(counts, owned), owner)
    subscribers = {
        topic: [member.member_id for member in subscribed]
        for topic, subscribed in subscribers_by_topic(counts, members.values()).items()
    }
    return StickyPlan(assign_general(counts, subscribers, owned, _earlier_owners(claims)), owner)


def _valid_owners(counts: Mapping[str, int], claims: Mapping[str, Claim]) -> dict[TopicPartition, str]:
    """The one member that claims a partition in the highest generation; none if several do."""
    owner: dict[TopicPartition, str] = {}
    claimed_in: dict[TopicPartition, int] = {}
    contested: set[TopicPartition] = set()
    for member_id, claim in claims.items():
        for partition in dict.fromkeys(claim.partitions):
            generation = claimed_in.get(partition)
            if generation is None or claim.generation > generation:
                owner[partition] = member_id
                claimed_in[partition] = claim.generation
                contested.discard(partition)
            elif claim.generation == generation:
                contested.add(partition)
    return {
        partition: member_id
        for partition, member_id in owner.items()
        if partition not in contested and 0 <= partition.partition < counts.get(partition.topic, 0)
    }


def _earlier_owners(claims: Mapping[str, Claim]) -> dict[TopicPartition, str]:
    """For each partition the member that claims it in the highest generation before the newest one of the group."""
    newest = max(claim.generation for claim in claims.values())
    earlier: dict[TopicPartition, tuple[int, str]] = {}
    for member_id, claim in claims.items():
        if claim.generation == newest:
            continue
        for partition in claim.partitions:
            if partition not in earlier or claim.generation > earlier[partition][0]:
                earlier[partition] = (claim.generation, member_id)
    return {partition: member_id for partition, (_, member_id) in earlier.items()}
