"""What a group's state says, in the words of the views."""

from __future__ import annotations

from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.members import Member
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.schemas.consumer_protocol import decode_assignment
from rollcall.schemas.layout import LayoutError


def settled_leader(group: Group) -> str | None:
    """A leader is shown once its generation is formed."""
    return group.leader_id if group.state in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE) else None


def waits_for(member: Member) -> str | None:
    if member.parked_join is not None:
        return "JoinGroup"
    return None if member.parked_sync is None else "SyncGroup"


def next_deadline_ms(group: Group) -> int | None:
    """The earliest deadline but the sweep's, and but those of members that an answer is owed to."""
    sessions = [member.session_deadline_ms for member in group.members.values() if waits_for(member) is None]
    pending = [pending.session_deadline_ms for pending in group.pending.values()]
    all_of_them = (group.join_deadline_ms, group.sync_deadline_ms, *sessions, *pending)
    return min((deadline for deadline in all_of_them if deadline is not None), default=None)


def partitions_of(group: Group, member: Member) -> list[str]:
    try:
        held = decode_assignment(member.assignment).partitions if member.assignment else ()
    except LayoutError:
        held = ()
    return (
        [f"{topic}-{partition}" for topic, partition in sorted(set(held))] if group.protocol_type == "consumer" else []
    )
