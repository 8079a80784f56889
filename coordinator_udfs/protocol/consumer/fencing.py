"""Members that are members no longer: they leave, expire, are removed or do not give up in time.

Several at once raise the epoch once. No target is computed here: the next heartbeat of a member does that. Where only
classic members stay, the group becomes a classic one again if it may. Source: consumerGroupFenceMembers.
"""

from __future__ import annotations

from collections.abc import Sequence

from coordinator_udfs.protocol.consumer import history
from coordinator_udfs.protocol.consumer.conversion import downgrade, may_downgrade
from coordinator_udfs.protocol.consumer.group import ConsumerGroup, ConsumerMember
from coordinator_udfs.protocol.consumer.lifecycle import look_at_topics, raise_epoch, settle_state
from coordinator_udfs.protocol.consumer.regex import forget_unused_patterns
from coordinator_udfs.protocol.group import Group
from coordinator_udfs.protocol.turn import Turn
from schemas.causes import Cause, EndCause

Gone = tuple[ConsumerMember, EndCause, str | None]
"""Who goes, why, and the reason it gave."""


def remove_members(group: Group, consumer: ConsumerGroup, gone: Sequence[Gone], cause: Cause, turn: Turn) -> None:
    """Removes these members. Their partitions are free at once; the epoch rises, or the group is converted."""
    is_last = may_downgrade(consumer, {member.member_id for member, _, _ in gone}, turn)
    for member, end_cause, reason in gone:
        history.member_removed(group, member, end_cause, turn, client_reason=reason)
        consumer.remove(member.member_id)
    named = [(member, end_cause) for member, end_cause, _ in gone]
    if is_last:
        downgrade(group, consumer, cause, named, turn)
        return
    forget_unused_patterns(consumer)
    look_at_topics(group, consumer, turn)
    raise_epoch(group, consumer, cause, turn, gone=named)
    settle_state(group, consumer, turn)
