"""The leader's part: reads the members' subscriptions and assigns the partitions.

Knows how an assignor is called; knows no assignor's rule. Source: ConsumerCoordinator.onLeaderElected.
"""

from __future__ import annotations

from rollcall.answers.clients.assignors import MemberSubscription
from rollcall.answers.clients.membership import Membership
from rollcall.schemas.consumer_protocol import (
    Assignment,
    decode_subscription,
    encode_assignment,
)
from rollcall.schemas.layout import LayoutError
from rollcall.schemas.messages import JoinGroupResponse, JoinGroupResponseMember, SyncGroupAssignment


class AssignmentError(ValueError):
    """The leader cannot assign the partitions; the text says why."""


def lead(member: Membership, response: JoinGroupResponse) -> list[SyncGroupAssignment]:
    """Every member's assignment; empty where the coordinator says that the old assignment stays (KIP-814).

    From now on this member watches the partition counts of all topics that any member subscribes to. Raises
    AssignmentError: bytes that cannot be read.
    """
    members = {each.member_id: _read(each) for each in response.members}
    member.is_leader = True
    counts = member.subscription.partition_counts
    topics = (member.subscription.topics or frozenset()).union(*(each.subscription.topics for each in members.values()))
    member.subscription.assignment_snapshot = {topic: counts.get(topic, 0) for topic in sorted(topics)}
    if response.skip_assignment:
        return []
    assigned = member.assignors[response.protocol_name or ""].assign(counts, members)
    version = member.config.consumer_protocol_version
    return [
        SyncGroupAssignment(member_id=member_id, assignment=encode_assignment(Assignment(tuple(partitions)), version))
        for member_id, partitions in assigned.items()
    ]


def _read(each: JoinGroupResponseMember) -> MemberSubscription:
    try:
        return MemberSubscription(each.member_id, each.group_instance_id, decode_subscription(each.metadata))
    except LayoutError as error:
        raise AssignmentError(f"the subscription of member {each.member_id} cannot be read: {error}") from None


def has_metadata_changed(member: Membership) -> bool:
    """Whether this member was the leader and partition counts have changed since then."""
    snapshot, counts = member.subscription.assignment_snapshot, member.subscription.partition_counts
    return snapshot is not None and any(counts.get(topic, 0) != count for topic, count in snapshot.items())
