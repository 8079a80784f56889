"""The end of a rebalance: the assignment received becomes what the application owns.

Knows the order of the callbacks. Source: ConsumerCoordinator.onJoinComplete and the end of
AbstractCoordinator.joinGroupIfNeeded.
"""

from __future__ import annotations

from rollcall.answers.clients.assignors import RebalanceProtocol
from rollcall.answers.clients.events import FatalError, PartitionsAssigned, PartitionsRevoked
from rollcall.answers.clients.joining import drop_owned
from rollcall.answers.clients.membership import LastAssignment, Membership, MemberState, Turn, sorted_partitions
from rollcall.answers.clients.reactions import ASSIGNMENT_MISMATCH, NEED_TO_REVOKE
from rollcall.schemas.consumer_protocol import Assignment, decode_assignment
from rollcall.schemas.layout import LayoutError

_SHORTEST_BYTES = 2


def complete_rebalance(member: Membership, assignment: bytes, turn: Turn) -> bool:
    """Gives a received assignment to the application. False if the application's call ends in an error instead.

    If the background has given the generation up in the meantime, nothing is assigned and the member joins anew. A
    topic that it no longer subscribes to makes it join again and changes nothing else. Assignment bytes that cannot be
    read are kept, so that every poll fails, as in the Java client.
    """
    if member.generation.is_reset or member.state is not MemberState.STABLE:
        _finish(member)
        member.reset(_modified_meanwhile(member), forgets_member_id=True)
        return True
    try:
        received = _decode(assignment)
    except LayoutError as error:
        member.failures.append(FatalError("SyncGroup", None, f"the assignment received cannot be read: {error}"))
        return False
    if not member.is_leader:
        member.subscription.assignment_snapshot = None
    _finish(member)
    if any(each.topic not in (member.subscription.topics or ()) for each in received.partitions):
        member.request_rejoin(ASSIGNMENT_MISMATCH)
        return True
    _take_over(member, received, turn)
    return True


def _decode(assignment: bytes) -> Assignment:
    if len(assignment) < _SHORTEST_BYTES:
        raise LayoutError("assignment", f"{len(assignment)} bytes are no assignment: the leader made none")
    return decode_assignment(assignment)


def _finish(member: Membership) -> None:
    member.rejoin.assignment = None
    member.rejoin.is_prepared = False


def _take_over(member: Membership, received: Assignment, turn: Turn) -> None:
    wanted, generation = member.subscription, member.generation
    assigned, owned = frozenset(received.partitions), wanted.owned
    revoked = owned - assigned if member.rebalance_protocol is RebalanceProtocol.COOPERATIVE else frozenset()
    if revoked:
        turn.emit(PartitionsRevoked(sorted_partitions(revoked)))
        member.request_rejoin(NEED_TO_REVOKE)
    last = LastAssignment(received.partitions, generation.generation_id)
    wanted.last_assignments[generation.protocol_name or ""] = last
    if member.config.enable_auto_commit:
        member.auto_commit_due_ms = turn.now_ms + member.config.auto_commit_interval_ms
    drop_owned(member, owned - assigned)
    wanted.owned = assigned
    turn.emit(PartitionsAssigned(sorted_partitions(assigned - owned), generation.generation_id))


def _modified_meanwhile(member: Membership) -> str:
    """The Java client's message, so that logs read the same."""
    generation = member.generation
    text = (
        f"Generation{{generationId={generation.generation_id}, memberId='{generation.member_id}', "
        f"protocol='{'null' if generation.protocol_name is None else generation.protocol_name}'}}"
    )
    return (
        f"rebalance failed since the generation/state was modified by heartbeat thread to {text}/{member.state} "
        "before the rebalance callback triggered"
    )
