"""Removes members that leave, expire, are removed by an administrator, or do not give partitions up in time.

The epoch rises once for all of them. No target is computed here: the next heartbeat does that, unless the group is
Empty and counts as assigned (`kafka_versions`). If only classic members stay, the group becomes a classic one again if
the policy allows it. Source: GroupMetadataManager.consumerGroupFenceMembers, scheduleConsumerGroupSessionTimeout,
scheduleConsumerGroupRebalanceTimeout and the timers of classic members.
"""

from __future__ import annotations

from collections.abc import Sequence

from rollcall.coordinator_udfs.protocol.consumer.conversion import downgrade, may_downgrade
from rollcall.coordinator_udfs.protocol.consumer.group import ConsumerGroup
from rollcall.coordinator_udfs.protocol.consumer.lifecycle import look_at_topics, raise_epoch, update_state
from rollcall.coordinator_udfs.protocol.consumer.regex import forget_unused_patterns
from rollcall.coordinator_udfs.protocol.consumer.states import MemberTimer
from rollcall.coordinator_udfs.protocol.deadlines import Due
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.history import Gone, member_removed
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas import makers
from rollcall.schemas.causes import Cause, cause_of_end


def remove_members(group: Group, consumer: ConsumerGroup, gone: Sequence[Gone], cause: Cause, turn: Turn) -> None:
    """Removes these members. Their partitions are free at once; the epoch rises, or the group is converted."""
    is_last = may_downgrade(consumer, {each.member.member_id for each in gone}, turn)
    for each in gone:
        member_removed(group, each, turn)
        consumer.remove(each.member.member_id)
    if is_last:
        downgrade(group, consumer, cause, gone, turn)
        return
    forget_unused_patterns(consumer)
    look_at_topics(group, consumer, turn)
    raise_epoch(group, consumer, cause, turn, gone=gone)
    if not consumer.members and turn.config.kafka.is_empty_group_assigned:
        consumer.target_epoch, consumer.target_at_ms = group.generation_id, None
    update_state(group, consumer, turn)


def expire_member(group: Group, consumer: ConsumerGroup, due: Due, turn: Turn) -> None:
    """Removes the member whose timer this is; the rebalance timer spares one that has progressed since it was armed."""
    member = consumer.members[due.member_id]
    if due.member_timer is None:
        member.session_deadline_ms = None
    else:
        armed = member.timers.pop(due.member_timer)
        if due.member_timer is MemberTimer.REBALANCE and armed.member_epoch != member.member_epoch:
            return
    cause = makers.cause_by(cause_of_end(due.end_cause), member)
    remove_members(group, consumer, [Gone(member, due.end_cause)], cause, turn)
