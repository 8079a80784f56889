"""The history of a group's rebalances: who set one off, who joined and left, who kept the others waiting.

No answer to a client depends on anything here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rollcall.coordinator_udfs.protocol.claims import claimed, gives_up, owned, topics_of
from rollcall.coordinator_udfs.protocol.consumer.group import ConsumerMember
from rollcall.coordinator_udfs.protocol.consumer.states import MemberState
from rollcall.coordinator_udfs.protocol.group import Group, MemberPart, Rebalance
from rollcall.coordinator_udfs.protocol.members import Member, PendingMember, size_of_pending
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas import makers
from rollcall.schemas.causes import Cause, EndCause
from rollcall.schemas.effects import JoinReceived, MemberWait, SyncReceived
from rollcall.schemas.makers import Terms

AnyMember = Member | ConsumerMember
"""A member of a group of either kind."""


class Gone(NamedTuple):
    """Which member is removed, why, the reason it gave, and whether the cause was inferred."""

    member: AnyMember
    end_cause: EndCause
    client_reason: str | None = None
    is_inferred: bool = False
    replaced_by: str | None = None
    """The member id that takes its place."""


# ---------------------------------------------------------------- members


def terms_of(group: Group, member: Member) -> Terms:
    """The terms of a member's JoinGroup; its topics by its preferred protocol, None where the bytes do not say."""
    topics = topics_of(group.protocol_type, _preferred(member)) if member.protocols else None
    return member.session_timeout_ms, member.rebalance_timeout_ms, topics


def member_removed(group: Group, gone: Gone, turn: Turn) -> None:
    """Emits that a member was removed, and notes until when it kept the rebalance under way waiting.

    In a classic group's states other than PreparingRebalance a rebalance follows, and its own record says who went. A
    member of a consumer group kept the others waiting if it had partitions to give up.
    """
    rebalance, member = group.rebalance, gone.member
    if rebalance is not None and isinstance(member, ConsumerMember):
        if member.state is MemberState.UNREVOKED and member.pending_revocation:
            part = part_of(rebalance, member)
            part.held_others_ms = max(part.held_others_ms, turn.now_ms - rebalance.started_at_ms)
            part.gone_at_ms = turn.now_ms
    elif rebalance is not None and group.state is GroupState.PREPARING_REBALANCE:
        group.note_gone(member, gone.end_cause)
        if gone.replaced_by is None:
            part_of(rebalance, member).gone_at_ms = turn.now_ms
    turn.emit(
        makers.member_removed(
            *(turn.now_ms, member, group.generation_id, gone.end_cause, gone.client_reason, gone.replaced_by),
            is_inferred=gone.is_inferred,
        )
    )


def gave_partitions_up(group: Group, member: Member) -> bool:
    """Whether the current assignment took partitions away that the member said it owned when this generation formed."""
    return gives_up(group.protocol_type, _chosen(group, member), member.assignment)


def note_assigned(group: Group, member: Member, turn: Turn) -> None:
    """Emits what a member owns from now on."""
    partitions = owned(group.protocol_type, _chosen(group, member), member.assignment)
    turn.emit(makers.assigned(turn.now_ms, member, group.generation_id, partitions, member.assignment))


def _preferred(member: Member) -> bytes:
    return next(iter(member.protocols.values()), b"")


def _chosen(group: Group, member: Member) -> bytes:
    return member.protocols.get(group.protocol_name or "", b"")


# ---------------------------------------------------------------- rebalances


def rebalance_started(
    group: Group,
    cause: Cause,
    from_state: str,
    turn: Turn,
    *,
    members_before: int,
    joined: Sequence[AnyMember],
    gone: Sequence[Gone],
) -> None:
    """Begins the record of a rebalance. joined, gone: members that joined or left by the request that set it off."""
    rebalance = Rebalance(
        cause=cause,
        started_at_ms=turn.now_ms,
        from_generation_id=group.generation_id,
        members_before=members_before,
        joined=[member.name for member in joined],
        last_progress_at_ms=turn.now_ms,
    )
    group.rebalance = rebalance
    for each in gone:
        group.note_gone(each.member, each.end_cause)
    turn.emit(makers.rebalance_started(rebalance, from_state, group.rebalance_timeout_ms))


def join_received(group: Group, member: Member, turn: Turn) -> None:
    """Notes a member's JoinGroup in the join phase; only its first one counts."""
    rebalance = group.rebalance
    if rebalance is None:
        return
    part = part_of(rebalance, member)
    if part.joined_at_ms is not None:
        return
    part.joined_at_ms = turn.now_ms
    if group.initial_delay_left_ms is None:
        part.held_others_ms = turn.now_ms - rebalance.last_progress_at_ms
    rebalance.last_progress_at_ms = turn.now_ms
    turn.emit(
        JoinReceived(
            at_ms=turn.now_ms,
            member_id=member.member_id,
            client_id=member.client_id,
            from_generation_id=rebalance.from_generation_id,
            owned_partitions=claimed(group.protocol_type, _preferred(member)) if member.protocols else None,
        )
    )


def pending_member_gone(group: Group, pending: PendingMember, turn: Turn) -> None:
    """Notes an id given out that the join phase waited for and that never joined."""
    if group.rebalance is not None:
        part = MemberPart(pending.client_id, pending.client_host, None, gone_at_ms=turn.now_ms)
        group.rebalance.parts.setdefault(pending.member_id, part)
        group.rebalance.gone_bytes += size_of_pending(pending)


def join_phase_ended(group: Group, turn: Turn) -> None:
    """Decides who kept the join phase waiting: the last member to join, unless another joined in the same millisecond,
    or those that did not join and were awaited to the end.

    Ids given out are awaited as members are, except in an initial rebalance, which only its delay ends.
    """
    rebalance = group.rebalance
    if rebalance is None:
        return
    if group.previous_state is not GroupState.EMPTY:
        for pending in group.pending.values():
            part = MemberPart(pending.client_id, pending.client_host, None)
            rebalance.parts.setdefault(pending.member_id, part)
    silence_ms = turn.now_ms - rebalance.last_progress_at_ms
    joins = [part.joined_at_ms for part in rebalance.parts.values() if part.joined_at_ms is not None]
    last_ms = max(joins, default=-1)
    is_last_alone = len(joins) > 1 and joins.count(last_ms) == 1
    for part in rebalance.parts.values():
        if part.joined_at_ms is None:
            part.held_others_ms = silence_ms if part.gone_at_ms in (None, turn.now_ms) else 0
        elif part.joined_at_ms != last_ms or silence_ms > 0 or not is_last_alone:
            part.held_others_ms = 0
    rebalance.join_phase_ended_at_ms = turn.now_ms


def sync_received(group: Group, member: Member, turn: Turn) -> None:
    """Notes a member's SyncGroup; all others wait for the leader's."""
    rebalance = group.rebalance
    is_leader = group.leader_id == member.member_id
    if rebalance is not None and rebalance.join_phase_ended_at_ms is not None:
        part = part_of(rebalance, member)
        if part.synced_at_ms is None:
            part.synced_at_ms = turn.now_ms
            if is_leader and len(group.members) > 1:
                part.held_others_ms += turn.now_ms - rebalance.join_phase_ended_at_ms
    turn.emit(
        SyncReceived(
            at_ms=turn.now_ms,
            member_id=member.member_id,
            client_id=member.client_id,
            generation_id=group.generation_id,
            is_leader=is_leader,
        )
    )


def rebalance_ended(group: Group, outcome: str, turn: Turn, members_after: int | None = None) -> None:
    """Ends the record of the rebalance under way, if there is one. members_after: the number to report, if not the
    number of members now.
    """
    rebalance = group.rebalance
    if rebalance is None:
        return
    group.rebalance = None
    members_after = len(group.members) if members_after is None else members_after
    waits = [_wait(member_id, part) for member_id, part in rebalance.parts.items()]
    turn.emit(makers.rebalance_ended(turn.now_ms, rebalance, group.generation_id, outcome, members_after, waits))


def part_of(rebalance: Rebalance, member: AnyMember) -> MemberPart:
    """A member's part in a rebalance, which begins here if it had none."""
    part = rebalance.parts.get(member.member_id)
    if part is None:
        part = MemberPart(member.client_id, member.client_host, member.group_instance_id)
        rebalance.parts[member.member_id] = part
    return part


def _wait(member_id: str, part: MemberPart) -> MemberWait:
    return MemberWait(
        member_id=member_id,
        client_id=part.client_id,
        client_host=part.client_host,
        group_instance_id=part.group_instance_id,
        joined_at_ms=part.joined_at_ms,
        synced_at_ms=part.synced_at_ms,
        held_others_ms=part.held_others_ms,
    )


def note_newcomer(group: Group, member: AnyMember) -> None:
    """Notes a member that joined a rebalance already under way."""
    if group.rebalance is not None:
        group.rebalance.joined.append(member.name)
