"""What may have happened without a line so that a rebalance began or ended when the recording shows it. A client dies
while its JoinGroup or SyncGroup is parked, which then has no line. A member expires whose session timeout was never
seen. The nearest explanation comes first. Knows what an answer proves of a rebalance; changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.inputs.request_log.explaining.context import ACCEPTED, Context, Explanation
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    GroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
    ObservedMember,
    SyncGroupRequest,
    SyncGroupResponse,
)


def explain_overdue(context: Context) -> Iterator[Explanation]:
    """What may have happened without a line, so that this parked request was answered at its time."""
    request, error = context.entry.request, context.entry.recorded.error
    if error in (Error.UNKNOWN_MEMBER_ID, Error.FENCED_INSTANCE_ID):
        yield [context.seen_gone("a member is answered UNKNOWN_MEMBER_ID", context.entry.member_id)]
    if isinstance(request, SyncGroupRequest):
        yield from explain_assignment(context) if error is Error.NONE else explain_rebalance(context)
    elif context.group.state is GroupState.PREPARING_REBALANCE and error is Error.NONE:
        yield from _explain_end_of_joining(context)


def _explain_end_of_joining(context: Context) -> Iterator[Explanation]:
    """The join phase ended: awaited members in the leader's answer had joined without a line; the others had left."""
    group, response = context.group, context.entry.recorded.response
    assert isinstance(response, JoinGroupResponse)
    listed = context.generation(response.generation_id)
    named: dict[str, JoinGroupResponseMember | None] = {member.member_id: member for member in listed or ()}
    if listed is None and response.leader:
        named[response.leader] = None
    waiting = {member.member_id for member in group.members.values() if member.parked_join is not None}
    unseen = [context.unlogged_join(one, member) for one, member in named.items() if one not in waiting]
    joins: Explanation = [join for join in unseen if join is not None]
    awaited = [*group.members, *group.pending]
    absent = [member_id for member_id in awaited if member_id not in waiting and member_id not in named]
    went = [context.seen_gone("a join phase that ended without a member", *absent)] if absent else []
    if joins or went:
        yield [*went, *joins]
        yield [*joins, *went]


def explain_survival(context: Context, member_id: str) -> Iterator[GroupRequest]:
    """What may have kept a member alive beyond its session: a parked JoinGroup without a line, or any other request."""
    if context.group.state is GroupState.PREPARING_REBALANCE or member_id in context.group.pending:
        yield from _joins_of(context, [member_id])
    if member_id in context.group.members:
        yield context.seen("a member outlived its session", members=[ObservedMember(member_id=member_id)])


def explain_rebalance(context: Context) -> Iterator[Explanation]:
    """A rebalance began and no line shows why: a client joined and died, or a member left, or it is not known."""
    listed = context.next_generation
    if listed is None:
        leader_id = next((one.leader for one in context.joined(context.group.generation_id + 1)), None)
        if leader_id and not context.is_joining(leader_id):
            # The leader of the next generation had joined, and died before its answer.
            yield from ([join] for join in _joins_of(context, [leader_id]))
        if any(entry.recorded.error is Error.GROUP_MAX_SIZE_REACHED for entry in context.upcoming):
            # A member without a line uses the room that those who are refused lack.
            yield from ([join] for join in _joins_of(context, _given_an_id(context)))
    else:
        named = {member.member_id for member in listed}
        unseen = [member for member in listed if not context.is_joining(member.member_id)]
        newcomers = [member for member in unseen if member.member_id not in context.group.members]
        for member in (*newcomers, *unseen):
            join = context.unlogged_join(member.member_id, member)
            if join is not None:
                yield [join]
        accepted = {entry.member_id for entry in context.later if entry.recorded.error in ACCEPTED}
        silent = [one for one in context.group.members if one not in named and one not in accepted]
        if silent:
            yield [context.seen_gone("a member is missing from the next generation", *silent)]
    yield [context.seen("a rebalance that no line explains", state=GroupState.PREPARING_REBALANCE.value)]


def explain_full(context: Context) -> Iterator[Explanation]:
    """The group refused a member as full although we know of room: others had joined, and died before their answers.
    Candidates are those in the next generation; if that is not at hand, clients that got an id and then sent nothing,
    and members that sent nothing more.
    """
    listed = context.next_generation
    if listed is None:
        sender = context.entry.member_id
        silent = [one for one in context.group.members if one != sender and not context.is_named(one)]
        unseen = [*_given_an_id(context), *silent]
    else:
        unseen = [one.member_id for one in listed if not context.is_joining(one.member_id)]
        unseen.sort(key=lambda member_id: member_id in context.group.members)
    joins = list(_joins_of(context, unseen))
    for join in joins:
        yield [join]
    for count in range(2, len(joins) + 1):
        yield joins[:count]


def _given_an_id(context: Context) -> list[str]:
    """Newcomers that got an id and then sent nothing, by when they got it."""
    return [one for one in context.offered if one in context.group.pending and not context.is_named(one)]


def _joins_of(context: Context, member_ids: Iterable[str]) -> Iterator[GroupRequest]:
    joins = (context.unlogged_join(member_id) for member_id in member_ids)
    return (join for join in joins if join is not None)


def explain_assignment(context: Context) -> Iterator[Explanation]:
    """The leader's assignment came without a line: the answers of the waiting members hold their parts."""
    group, members = context.group, []
    for entry in context.at_hand:
        response = entry.recorded.response
        if not isinstance(response, SyncGroupResponse) or entry.member_id not in group.members:
            continue
        if entry.synced_generation_id == group.generation_id:
            members.append(ObservedMember(member_id=entry.member_id, assignment=response.assignment))
    yield [context.seen("an assignment that left no line", state=GroupState.STABLE.value, members=members)]
