"""What may have happened without a line so that a rebalance began or ended when the recording shows it. A client dies
while its JoinGroup or SyncGroup is parked, which then has no line. A member expires whose session timeout was never
seen. The nearest explanation comes first. Knows what an answer proves of a rebalance; changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.inputs.request_log.explaining.context import (
    Context,
    Explanation,
    generation_of,
    generation_synced,
    gone_member,
    is_joining,
    is_seen_later,
    member_id_of,
    next_generation,
    next_leader_id,
    unlogged_join,
)
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
        gone = [gone_member(context, member_id_of(request))]
        yield [context.seen("a member is answered UNKNOWN_MEMBER_ID", gone=gone)]
    if isinstance(request, SyncGroupRequest):
        yield from explain_assignment(context) if error is Error.NONE else explain_rebalance(context)
    elif context.group.state is GroupState.PREPARING_REBALANCE and error is Error.NONE:
        yield from _explain_end_of_joining(context)


def _explain_end_of_joining(context: Context) -> Iterator[Explanation]:
    """The join phase ended: awaited members in the leader's answer had joined without a line; the others had left."""
    group, response = context.group, context.entry.recorded.response
    assert isinstance(response, JoinGroupResponse)
    listed = generation_of(context, response.generation_id)
    named = {member.member_id: member for member in listed or ()}
    if listed is None and response.leader:
        named = {response.leader: JoinGroupResponseMember(member_id=response.leader, metadata=b"")}
    waiting = {member.member_id for member in group.members.values() if member.parked_join is not None}
    unseen = [unlogged_join(context, member) for member_id, member in named.items() if member_id not in waiting]
    joins: Explanation = [join for join in unseen if join is not None]
    awaited = [*group.members, *group.pending]
    absent = [member_id for member_id in awaited if member_id not in waiting and member_id not in named]
    gone = [gone_member(context, member_id) for member_id in absent]
    went = [context.seen("a join phase that ended without a member", gone=gone)] if gone else []
    if joins or went:
        yield [*went, *joins]
        yield [*joins, *went]


def explain_survival(context: Context, member_id: str) -> Iterator[GroupRequest]:
    """What may have kept a member alive beyond its session: a parked JoinGroup without a line, or any other request."""
    if context.group.state is GroupState.PREPARING_REBALANCE or member_id in context.group.pending:
        join = unlogged_join(context, JoinGroupResponseMember(member_id=member_id, metadata=b""))
        if join is not None:
            yield join
    if member_id in context.group.members:
        yield context.seen("a member outlived its session", members=[ObservedMember(member_id=member_id)])


def explain_rebalance(context: Context) -> Iterator[Explanation]:
    """A rebalance began and no line shows why: a client joined and died, or a member left, or it is not known."""
    listed = next_generation(context)
    if listed is None:
        yield from _explain_leader(context)
        if any(entry.recorded.error is Error.GROUP_MAX_SIZE_REACHED for entry in context.upcoming):
            # A member without a line uses the room that those who are refused lack.
            yield from ([join] for join in _joins_of(context, _given_an_id(context)))
    else:
        named = {member.member_id for member in listed}
        unseen = [member for member in listed if not is_joining(context, member.member_id)]
        newcomers = [member for member in unseen if member.member_id not in context.group.members]
        for member in (*newcomers, *unseen):
            join = unlogged_join(context, member)
            if join is not None:
                yield [join]
        silent = [member_id for member_id in context.group.members if member_id not in named]
        silent = [member_id for member_id in silent if not is_seen_later(context, member_id)]
        if silent:
            gone = [gone_member(context, member_id) for member_id in silent]
            yield [context.seen("a member is missing from the next generation", gone=gone)]
    yield [context.seen("a rebalance that no line explains", state=GroupState.PREPARING_REBALANCE.value)]


def explain_full(context: Context) -> Iterator[Explanation]:
    """The group refused a member as full although we know of room: others had joined, and died before their answers.
    Candidates are those in the next generation; if that is not at hand, clients that got an id and then sent nothing,
    and members that sent nothing more.
    """
    listed = next_generation(context)
    if listed is None:
        sender = member_id_of(context.entry.request)
        silent = [one for one in context.group.members if one != sender and not _is_named(context, one)]
        unseen = [*_given_an_id(context), *silent]
    else:
        unseen = [one.member_id for one in listed if not is_joining(context, one.member_id)]
        unseen.sort(key=lambda member_id: member_id in context.group.members)
    joins = list(_joins_of(context, unseen))
    for join in joins:
        yield [join]
    for count in range(2, len(joins) + 1):
        yield joins[:count]


def _given_an_id(context: Context) -> list[str]:
    """Newcomers that got an id and then sent nothing, by when they got it."""
    return [one for one in context.offered if one in context.group.pending and not _is_named(context, one)]


def _joins_of(context: Context, member_ids: Iterable[str]) -> Iterator[GroupRequest]:
    for member_id in member_ids:
        join = unlogged_join(context, JoinGroupResponseMember(member_id=member_id, metadata=b""))
        if join is not None:
            yield join


def _is_named(context: Context, member_id: str) -> bool:
    """Whether a later request has this member id."""
    return any(member_id_of(entry.request) == member_id for entry in context.upcoming)


def _explain_leader(context: Context) -> Iterator[Explanation]:
    """The leader of the next generation had joined, and died before its answer."""
    leader_id = next_leader_id(context)
    if leader_id and not is_joining(context, leader_id):
        join = unlogged_join(context, JoinGroupResponseMember(member_id=leader_id, metadata=b""))
        if join is not None:
            yield [join]


def explain_assignment(context: Context) -> Iterator[Explanation]:
    """The leader's assignment came without a line: the answers of the waiting members hold their parts."""
    generation_id = context.group.generation_id
    members = []
    for entry in (context.entry, *context.parked.values(), *context.upcoming):
        response = entry.recorded.response
        if isinstance(response, SyncGroupResponse) and generation_synced(entry) == generation_id:
            member_id = member_id_of(entry.request)
            members.append(ObservedMember(member_id=member_id, assignment=response.assignment))
    known = [member for member in members if member.member_id in context.group.members]
    yield [context.seen("an assignment that left no line", state=GroupState.STABLE.value, members=known)]
