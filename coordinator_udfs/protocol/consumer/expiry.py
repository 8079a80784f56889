"""What happens when a timer of a consumer group's member fires: it is removed.

The rebalance timer spares a member that has progressed since it was armed. Source: GroupMetadataManager.
scheduleConsumerGroupSessionTimeout, scheduleConsumerGroupRebalanceTimeout and the timers of classic members.
"""

from __future__ import annotations

from rollcall.coordinator_udfs.protocol.consumer.fencing import remove_members
from rollcall.coordinator_udfs.protocol.consumer.group import ConsumerGroup
from rollcall.coordinator_udfs.protocol.consumer.states import MemberTimer
from rollcall.coordinator_udfs.protocol.deadlines import Due
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.history import Gone, cause_by
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas.causes import CauseKind, EndCause

_CAUSES = {
    None: (CauseKind.SESSION_EXPIRED, EndCause.SESSION_EXPIRED),
    MemberTimer.REBALANCE: (CauseKind.REBALANCE_TIMEOUT, EndCause.REBALANCE_TIMEOUT),
    MemberTimer.JOIN: (CauseKind.REBALANCE_TIMEOUT, EndCause.REBALANCE_TIMEOUT),
    MemberTimer.SYNC: (CauseKind.SYNC_TIMEOUT, EndCause.SYNC_TIMEOUT),
}


def expire_member(group: Group, consumer: ConsumerGroup, due: Due, turn: Turn) -> None:
    """Removes the member whose timer this is."""
    member = consumer.members[due.member_id]
    if due.member_timer is None:
        member.session_deadline_ms = None
    else:
        armed = member.timers.pop(due.member_timer)
        if due.member_timer is MemberTimer.REBALANCE and armed.member_epoch != member.member_epoch:
            return
    kind, end_cause = _CAUSES[due.member_timer]
    remove_members(group, consumer, [Gone(member, end_cause)], cause_by(kind, member), turn)
