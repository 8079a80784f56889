"""Kafka's "cooperative-sticky" assignor: sticky, but a partition changes hands over two rebalances (KIP-429).

What it knows: where a member says what it owns, and which partitions must wait for their old owner.
What it must not know: the algorithm (abstract_sticky), brokers, sockets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rollcall.answers.clients.assignors.abstract_sticky import Claim, StickyPlan, plan_sticky
from rollcall.answers.clients.assignors.common import MemberSubscription
from rollcall.schemas.consumer_protocol import (
    NO_GENERATION,
    Subscription,
    TopicPartition,
    decode_cooperative_sticky_user_data,
    encode_cooperative_sticky_user_data,
)
from rollcall.schemas.layout import LayoutError


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
    claims = {member_id: _claim(member.subscription) for member_id, member in members.items()}
    return _hold_back(plan_sticky(partitions_by_topic, members, claims), claims)


def _claim(subscription: Subscription) -> Claim:
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
