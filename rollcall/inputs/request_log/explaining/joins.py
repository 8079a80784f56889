"""What may have happened without a line before a JoinGroup, so that it was answered as recorded.

Mostly that a group was formed before the log began: its members, its generation, a static member's old id. Knows what
a JoinGroup's answer proves; changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.inputs.request_log.explaining.context import (
    ACCEPTED,
    Context,
    Explanation,
    generation_named,
    sender_of,
    unseen_id,
    with_protocols,
)
from rollcall.inputs.request_log.explaining.rebalances import explain_full
from rollcall.inputs.tolerances import ANSWERED_AT_ONCE_MS
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    GroupObservedRequest,
    JoinGroupProtocol,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
    ObservedMember,
)

FIRST_GENERATION = 1
UNSEEN_PROTOCOL = "unseen"
"""A placeholder for a member's protocol, which is only known to differ from another member's."""


def explain_join(context: Context, request: JoinGroupRequest) -> Iterator[Explanation]:
    group, recorded = context.group, context.entry.recorded
    response, member_id = recorded.response, request.member_id
    assert isinstance(response, JoinGroupResponse)
    types = {"protocol_type": request.protocol_type}
    match recorded.error:
        case Error.UNKNOWN_MEMBER_ID if member_id in group.members or member_id in group.pending:
            yield [context.seen_gone("a member is answered UNKNOWN_MEMBER_ID", member_id)]
        case Error.FENCED_INSTANCE_ID if request.group_instance_id is not None:
            other = ObservedMember(
                member_id=unseen_id(request.group_instance_id), group_instance_id=request.group_instance_id
            )
            yield [context.seen("an instance id that another one took", members=[other])]
        case Error.INCONSISTENT_GROUP_PROTOCOL:
            other_names = [JoinGroupProtocol(name=group.protocol_name or UNSEEN_PROTOCOL, metadata=b"")]
            yield [context.seen("a newcomer is refused", members=with_protocols(group, other_names))]
        case Error.GROUP_MAX_SIZE_REACHED:
            yield from explain_full(context)
        case Error.MEMBER_ID_REQUIRED:
            yield [context.seen("a newcomer is taken", **types)]
            yield [context.seen("a newcomer is taken", members=with_protocols(group, request.protocols), **types)]
        case Error.NONE:
            yield from _explain_joined(context, request, response)


def _explain_joined(context: Context, request: JoinGroupRequest, response: JoinGroupResponse) -> Iterator[Explanation]:
    """A JoinGroup that was accepted: into a running generation, or into the next one of a group seen to exist."""
    group, generation_id = context.group, response.generation_id
    types = {"protocol_type": request.protocol_type}
    before = _sender_before(group, request)
    if before is not None and generation_id == FIRST_GENERATION:
        # The JoinGroup that was answered with the id which this one brings.
        asked = replace(request, member_id="", recorded_member_id=request.member_id, recorded_leader_id=None)
        yield [asked]
    if before is not None:
        is_back = not request.member_id
        leader_id = before.member_id if is_back and response.leader == response.member_id else response.leader
        current = {
            "generation_id": generation_id,
            "protocol_name": response.protocol_name,
            "leader_id": leader_id or None,
            "members": [*_listed(response, request), replace(before, protocols=None if is_back else request.protocols)],
            **types,
        }
        stable = {"state": GroupState.STABLE.value}
        if generation_id == group.generation_id and group.members:
            yield [context.seen("a member nobody saw join", **current)]
        if generation_id - 1 == group.generation_id and group.members:
            yield [context.seen("a member nobody saw join", members=[before], **types)]
            named = with_protocols(group, request.protocols)
            yield [context.seen("a member nobody saw join", members=[*named, before], **types)]
        why = "a group formed before it was seen"
        if context.entry.recorded.remote_ms <= ANSWERED_AT_ONCE_MS and not _is_forming(context, generation_id):
            yield [context.seen(why, **current, **stable)]
        members = [*_members_before(context, response, before.member_id), before]
        formed = {"is_complete": True, "generation_id": generation_id - 1, "members": members, **types, **stable}
        yield [context.seen(why, **formed), under_way(context)]
        yield [context.seen(why, **formed)]
    if before is None and not group.members:
        members = _members_before(context, response, response.member_id)
        if members:
            why = "a group formed before it was seen"
            facts = {"generation_id": generation_id - 1, "members": members, "state": GroupState.STABLE.value}
            yield [context.seen(why, **facts, **types)]
    why = "a group that had generations before it was seen"
    yield [context.seen(why, generation_id=generation_id - 1)]
    yield [context.seen(why, generation_id=generation_id - 1, is_complete=True, state=GroupState.EMPTY.value)]


def _is_forming(context: Context, generation_id: int) -> bool:
    """Whether others are yet to join this generation, or still accepted in the one before."""
    return any(
        (
            isinstance(entry.recorded.response, JoinGroupResponse)
            and entry.recorded.response.generation_id == generation_id
            and abs(entry.recorded.answered_at_ms - context.entry.recorded.answered_at_ms) <= ANSWERED_AT_ONCE_MS
        )
        or (generation_named(entry.request) == generation_id - 1 and entry.recorded.error in ACCEPTED)
        for entry in context.upcoming
    )


def under_way(context: Context) -> GroupObservedRequest:
    return context.seen("a rebalance under way", state=GroupState.PREPARING_REBALANCE.value)


def _members_before(context: Context, response: JoinGroupResponse, but_for: str) -> list[ObservedMember]:
    """The members before a generation: those in its leader's answer, without unknown clients that are seen to join.
    Only the leader, if its answer is not at hand.
    """
    listed = context.generation(response.generation_id)
    if listed is None:
        listed = [JoinGroupResponseMember(member_id=response.leader, metadata=b"")] if response.leader else []
    strangers = {
        entry.request.recorded_member_id
        for entry in context.upcoming
        if isinstance(entry.request, JoinGroupRequest) and not entry.request.member_id
    }
    senders = {entry.member_id: entry.request for entry in context.upcoming}
    return [
        ObservedMember(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            client_id=senders[member.member_id].client_id if member.member_id in senders else "",
            client_host=senders[member.member_id].client_host if member.member_id in senders else "",
        )
        for member in listed
        if member.member_id not in strangers and member.member_id != but_for
    ]


def _sender_before(group: Group, request: JoinGroupRequest) -> ObservedMember | None:
    """The member that sent a JoinGroup as it was before; its protocols then are not known. None: an unknown client."""
    member_id = request.member_id
    if not member_id and request.group_instance_id is not None:
        member_id = group.static_member_id(request.group_instance_id) or unseen_id(request.group_instance_id)
    if not member_id or member_id in group.pending:
        return None
    return sender_of(request, member_id)


def _listed(response: JoinGroupResponse, request: JoinGroupRequest) -> list[ObservedMember]:
    """The other members in a leader's answer, with their metadata for the protocol in use."""
    name = response.protocol_name
    return [
        ObservedMember(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            protocols=[JoinGroupProtocol(name=name, metadata=member.metadata)] if name else None,
        )
        for member in response.members
        if member.member_id not in (response.member_id, request.member_id)
    ]
