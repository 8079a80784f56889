"""The way into a generation: giving up partitions, JoinGroup, SyncGroup, and what either answer leads to.

Knows the member's part of a rebalance until it receives its assignment; `assigning` gives that to the application.
The leader also assigns the partitions; no assignor's rule is known here.
Source: AbstractCoordinator.joinGroupIfNeeded, JoinGroupResponseHandler, SyncGroupResponseHandler;
ConsumerCoordinator.onJoinPrepare, rejoinNeededOrPending, onLeaderElected.
"""

from __future__ import annotations

from rollcall.answers.clients.assignors import MemberSubscription, RebalanceProtocol
from rollcall.answers.clients.committing import start_auto_commit
from rollcall.answers.clients.events import CommitFailure, CommitKind, FatalError, PartitionsLost, PartitionsRevoked
from rollcall.answers.clients.membership import (
    REBALANCING,
    Generation,
    InFlight,
    Membership,
    MemberState,
    Turn,
    sorted_partitions,
)
from rollcall.answers.clients.reactions import (
    DISCONNECT,
    ILLEGAL_STATE,
    JOIN_GROUP,
    METADATA_CHANGED,
    SUBSCRIPTION_CHANGED,
    SYNC_GROUP,
    UNJOINED_GROUP,
    Reaction,
    encountered,
    fenced,
    java_name,
    member_id_given,
    rebalance_failed,
)
from rollcall.answers.clients.requests import send_join_group, send_sync_group
from rollcall.schemas.consumer_protocol import (
    Assignment,
    TopicPartition,
    decode_subscription,
    encode_assignment,
)
from rollcall.schemas.errors import Error
from rollcall.schemas.layout import LayoutError
from rollcall.schemas.messages import JoinGroupResponse, JoinGroupResponseMember, SyncGroupAssignment, SyncGroupResponse

# ---------------------------------------------------------------- the foreground's part


def is_rejoin_needed(member: Membership) -> bool:
    """Whether the application has to go through a rebalance, or is in one."""
    rejoin = member.rejoin
    is_pending = rejoin.is_awaited or rejoin.assignment is not None
    return rejoin.is_needed or is_pending or _reason_to_rejoin(member) is not None


def _reason_to_rejoin(member: Membership) -> str | None:
    """The member's own reason to join again, if it has one."""
    wanted = member.subscription
    if has_metadata_changed(member):
        return METADATA_CHANGED
    if wanted.joined_topics is not None and wanted.joined_topics != wanted.topics:
        return SUBSCRIPTION_CHANGED
    return None


def maybe_join(member: Membership, turn: Turn) -> None:
    """Revokes what must be revoked and sends JoinGroup, unless it waits for an answer or for the end of a backoff."""
    rejoin, why = member.rejoin, _reason_to_rejoin(member)
    if why is not None and not rejoin.is_needed:
        member.request_rejoin(why)
    if rejoin.is_awaited or turn.now_ms < rejoin.retry_at_ms:
        return
    if not rejoin.is_prepared and not _prepare(member, turn):
        return
    rejoin.is_prepared = True
    rejoin.is_awaited = True
    member.state = MemberState.PREPARING_REBALANCE
    member.subscription.joined_topics = member.subscription.topics
    send_join_group(member, turn)


def next_join_ms(member: Membership) -> int | None:
    """When a needed rejoin can continue on its own; None if it waits for an answer."""
    rejoin = member.rejoin
    if rejoin.assignment is not None:
        return 0
    if rejoin.is_awaited:
        return None
    if rejoin.prepare_commit is not None and not rejoin.prepare_commit.is_done:
        return rejoin.prepare_deadline_ms
    return rejoin.retry_at_ms


def _prepare(member: Membership, turn: Turn) -> bool:
    """Commits, then gives partitions up. False while it waits for the commit, at most for the rebalance timeout."""
    rejoin = member.rejoin
    if rejoin.prepare_deadline_ms is None:
        rejoin.prepare_deadline_ms = turn.now_ms + member.config.join_rebalance_timeout_ms
    if rejoin.prepare_commit is None:
        rejoin.prepare_commit = start_auto_commit(member, CommitKind.BEFORE_JOIN, turn)
    commit = rejoin.prepare_commit
    if commit is not None and turn.now_ms < rejoin.prepare_deadline_ms:
        if not commit.is_done:
            return False
        if commit.failure is CommitFailure.RETRIABLE:
            rejoin.prepare_commit = None
            rejoin.retry_at_ms = turn.now_ms + member.config.retry_backoff_ms
            return False
    rejoin.prepare_commit = rejoin.prepare_deadline_ms = None
    give_up_before_join(member, turn)
    member.is_leader = False
    return True


def give_up_before_join(member: Membership, turn: Turn) -> None:
    """Gives up partitions before a JoinGroup: all are lost if the membership is lost; otherwise an eager member revokes
    all, and a cooperative member those of topics that it no longer subscribes to.
    """
    owned = member.subscription.owned
    if has_lost_membership(member):
        if owned:
            drop_owned(member, owned)
            turn.emit(PartitionsLost(sorted_partitions(owned)))
        return
    if member.rebalance_protocol is RebalanceProtocol.EAGER:
        turn.emit(PartitionsRevoked(sorted_partitions(owned)))
        drop_owned(member, owned)
        return
    unwanted = frozenset(each for each in owned if each.topic not in (member.subscription.topics or ()))
    if unwanted:
        turn.emit(PartitionsRevoked(sorted_partitions(unwanted)))
        drop_owned(member, unwanted)


def has_lost_membership(member: Membership) -> bool:
    return member.generation.generation_id == -1 or not member.generation.member_id


def drop_owned(member: Membership, partitions: frozenset[TopicPartition]) -> None:
    """Removes partitions from what the application owns, with their positions."""
    wanted = member.subscription
    wanted.owned -= partitions
    for partition in partitions:
        wanted.positions.pop(partition, None)


def leave_partitions(member: Membership, turn: Turn) -> None:
    """Gives every partition up before the member leaves: lost in the middle of a rebalance, otherwise revoked.

    Source: ConsumerCoordinator.onLeavePrepare.
    """
    owned = member.subscription.owned
    if not owned:
        return
    is_lost = has_lost_membership(member) or member.state in REBALANCING
    turn.emit((PartitionsLost if is_lost else PartitionsRevoked)(sorted_partitions(owned)))
    drop_owned(member, owned)


# ---------------------------------------------------------------- answers


def on_join_group(member: Membership, sent: InFlight, response: JoinGroupResponse, turn: Turn) -> None:
    """Moves to COMPLETING_REBALANCE and sends SyncGroup, or does what the error asks for."""
    error = response.error_code
    if error is not Error.NONE:
        return _join_refused(member, sent, response, turn)
    if member.state is not MemberState.PREPARING_REBALANCE:
        return join_failed(member, UNJOINED_GROUP, turn)
    member.state = MemberState.COMPLETING_REBALANCE
    member.generation = Generation(response.generation_id, response.member_id, response.protocol_name)
    _start_pulse(member, turn)
    try:
        assignments = lead(member, response) if response.leader == response.member_id else []
    except AssignmentError as refusal:
        return _fail_for_good(member, "JoinGroup", None, ILLEGAL_STATE, str(refusal), turn)
    send_sync_group(member, assignments, turn)


def _start_pulse(member: Membership, turn: Turn) -> None:
    """Starts heartbeats; all three timers begin anew."""
    config, pulse = member.config, member.pulse
    pulse.heartbeat_due_ms = turn.now_ms + config.heartbeat_interval_ms
    pulse.session_deadline_ms = turn.now_ms + config.session_timeout_ms
    pulse.poll_deadline_ms = turn.now_ms + config.max_poll_interval_ms
    pulse.attempts = 0


def _join_refused(member: Membership, sent: InFlight, response: JoinGroupResponse, turn: Turn) -> None:
    error = response.error_code
    reaction = JOIN_GROUP.get(error, Reaction.UNEXPECTED)
    name = java_name(error, reaction)
    match reaction:
        case Reaction.TAKE_MEMBER_ID:
            member.generation = Generation(member_id=response.member_id)
            member.rejoin.is_awaited = False
            member.request_rejoin(member_id_given(response.member_id))
        case Reaction.RESET_MEMBER:
            if sent.sent_generation == member.generation:
                member.reset(encountered(error, "JOIN_GROUP"), forgets_member_id=True)
            join_failed(member, name, turn, is_immediate=True)
        case Reaction.REJOIN:
            join_failed(member, name, turn, is_immediate=True)
        case _:
            _fail_for_good(member, "JoinGroup", error, name, _join_message(member, error), turn)


def _join_message(member: Membership, error: Error) -> str:
    config = member.config
    match error:
        case Error.GROUP_MAX_SIZE_REACHED:
            return f"consumer group {config.group_id} already has the configured maximum number of members"
        case Error.FENCED_INSTANCE_ID:
            return fenced(config.group_instance_id)
        case Error.INVALID_SESSION_TIMEOUT:
            return f"session.timeout.ms={config.session_timeout_ms} is outside what the broker allows"
        case _:
            return f"JoinGroup of group {config.group_id} failed: {error}"


def on_sync_group(member: Membership, sent: InFlight, response: SyncGroupResponse, turn: Turn) -> None:
    """Moves to STABLE and keeps the assignment for the next poll, or does what the error asks for."""
    error = response.error_code
    if error is not Error.NONE:
        return _sync_refused(member, sent, error, turn)
    if member.generation.is_reset or member.state is not MemberState.COMPLETING_REBALANCE:
        name = java_name(Error.ILLEGAL_GENERATION, Reaction.RESET_GENERATION)
        return join_failed(member, name, turn, is_immediate=True)
    rejoin = member.rejoin
    member.state = MemberState.STABLE
    rejoin.reason = ""
    rejoin.is_needed = rejoin.is_awaited = False
    rejoin.attempts = 0
    rejoin.assignment = response.assignment


def _sync_refused(member: Membership, sent: InFlight, error: Error, turn: Turn) -> None:
    reaction = SYNC_GROUP.get(error, Reaction.UNEXPECTED)
    name = java_name(error, reaction)
    match reaction:
        case Reaction.REJOIN:
            join_failed(member, name, turn, is_immediate=True)
        case Reaction.RESET_GENERATION | Reaction.RESET_MEMBER:
            if sent.sent_generation == member.generation:
                forgets = reaction is Reaction.RESET_MEMBER
                member.reset(encountered(error, "SYNC_GROUP"), forgets_member_id=forgets)
            join_failed(member, name, turn, is_immediate=True)
        case _:
            message = f"SyncGroup of group {member.config.group_id} failed: {error}"
            _fail_for_good(member, "SyncGroup", error, name, message, turn)


# ---------------------------------------------------------------- failures


def on_disconnect(member: Membership, turn: Turn) -> None:
    """Note that the connection broke, or time ran out, while JoinGroup or SyncGroup was in flight."""
    join_failed(member, DISCONNECT, turn)


def join_failed(member: Membership, exception: str, turn: Turn, *, is_immediate: bool = False) -> None:
    """Ends this attempt to join; the next poll makes another, after a backoff unless it is immediate."""
    rejoin = member.rejoin
    rejoin.is_awaited = False
    member.request_rejoin(rebalance_failed(exception))
    if not is_immediate:
        rejoin.retry_at_ms = turn.now_ms + member.config.backoff_ms(rejoin.attempts)
        rejoin.attempts += 1


def _fail_for_good(member: Membership, api: str, error: Error | None, exception: str, message: str, turn: Turn) -> None:
    join_failed(member, exception, turn, is_immediate=True)
    member.failures.append(FatalError(api, error, message))


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
