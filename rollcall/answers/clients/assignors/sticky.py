"""Kafka's "sticky" and "cooperative-sticky" assignors: balanced, moving as little as they can.

What it knows: where a member says what it owned, how conflicting claims are decided, and which partitions must wait for
their old owner by the cooperative protocol (KIP-429). What it must not know: how the rest is planned, brokers, sockets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rollcall.answers.clients.assignors.common import (
    MemberSubscription,
    subscribed_partition_counts,
    subscribers_by_topic,
)
from rollcall.answers.clients.assignors.sticky_constrained import assign_constrained
from rollcall.answers.clients.assignors.sticky_general import assign_general
from rollcall.schemas.consumer_protocol import (
    NO_GENERATION,
    StickyUserData,
    Subscription,
    TopicPartition,
    decode_cooperative_sticky_user_data,
    decode_sticky_user_data,
    encode_cooperative_sticky_user_data,
    encode_sticky_user_data,
)
from rollcall.schemas.layout import LayoutError


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


def last_assignment(owned: Sequence[TopicPartition] | None, generation: int) -> bytes | None:
    """The last assignment and its generation as userData; None before the first assignment."""
    return None if owned is None else encode_sticky_user_data(StickyUserData(tuple(owned), generation))


def assign_sticky(
    partitions_by_topic: Mapping[str, int], members: Mapping[str, MemberSubscription]
) -> dict[str, list[TopicPartition]]:
    """Every member's partitions, those it keeps first; members without any get an empty list.

    A member's claim is in its userData, not in its owned partitions, which an eager member has given up. Source:
    StickyAssignor.
    """
    claims = {member_id: _claim_of_user_data(member.subscription) for member_id, member in members.items()}
    return plan_sticky(partitions_by_topic, members, claims).assignment


def _claim_of_user_data(subscription: Subscription) -> Claim:
    """What a member's userData claims; one that cannot be read claims nothing, as in Kafka."""
    if subscription.user_data is None:
        return Claim()
    try:
        user_data = decode_sticky_user_data(subscription.user_data)
    except LayoutError:
        return Claim()
    return Claim(user_data.partitions, NO_GENERATION if user_data.generation is None else user_data.generation)


def generation_alone(owned: Sequence[TopicPartition] | None, generation: int) -> bytes:
    """The generation as userData, for leaders that read subscriptions below version 2; owned partitions have a field of
    their own.
    """
    return encode_cooperative_sticky_user_data(generation)


def assign_cooperative_sticky(
    partitions_by_topic: Mapping[str, int], members: Mapping[str, MemberSubscription]
) -> dict[str, list[TopicPartition]]:
    """Every member's partitions, those it keeps first, without those that must wait for a follow-up rebalance.

    It assigns no partition that another member still claims: that member revokes it and rejoins, then it is free.
    Source: CooperativeStickyAssignor.
    """
    claims = {member_id: _claim_owned(member.subscription) for member_id, member in members.items()}
    return _hold_back(plan_sticky(partitions_by_topic, members, claims), claims)


def _claim_owned(subscription: Subscription) -> Claim:
    """The owned partitions, in the generation of the subscription, or of its userData where it has none."""
    if subscription.generation_id != NO_GENERATION:
        return Claim(subscription.owned_partitions, subscription.generation_id)
    try:
        generation = decode_cooperative_sticky_user_data(subscription.user_data or b"")
    except LayoutError:
        generation = NO_GENERATION
    return Claim(subscription.owned_partitions, generation)


def _hold_back(plan: StickyPlan, claims: Mapping[str, Claim]) -> dict[str, list[TopicPartition]]:
    """The plan without the partitions that are new to their member while another member claims them."""
    claimants: dict[TopicPartition, set[str]] = {}
    for member_id, claim in claims.items():
        for partition in claim.partitions:
            claimants.setdefault(partition, set()).add(member_id)

    def is_free(member_id: str, partition: TopicPartition) -> bool:
        is_kept = plan.previous_owner.get(partition) == member_id
        return is_kept or claimants.get(partition, set()) <= {member_id}

    return {
        member_id: [partition for partition in partitions if is_free(member_id, partition)]
        for member_id, partitions in plan.assignment.items()
    }
