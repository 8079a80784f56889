"""Kafka's "sticky" assignor: balanced, moving as little as it can, by the eager protocol.

What it knows: its userData, which keeps a member's last assignment although all partitions are revoked. What it must
not know: the algorithm (abstract_sticky), brokers, sockets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rollcall.answers.clients.assignors.abstract_sticky import Claim, plan_sticky
from rollcall.answers.clients.assignors.common import MemberSubscription
from rollcall.schemas.consumer_protocol import (
    NO_GENERATION,
    StickyUserData,
    Subscription,
    TopicPartition,
    decode_sticky_user_data,
    encode_sticky_user_data,
)
from rollcall.schemas.layout import LayoutError


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
    claims = {member_id: _claim(member.subscription) for member_id, member in members.items()}
    return plan_sticky(partitions_by_topic, members, claims).assignment


def _claim(subscription: Subscription) -> Claim:
    """What a member's userData claims; one that cannot be read claims nothing, as in Kafka."""
    if subscription.user_data is None:
        return Claim()
    try:
        user_data = decode_sticky_user_data(subscription.user_data)
    except LayoutError:
        return Claim()
    return Claim(user_data.partitions, NO_GENERATION if user_data.generation is None else user_data.generation)
