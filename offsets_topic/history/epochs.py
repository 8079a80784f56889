"""The epochs of a consumer group: how it begins or is found, why an epoch rose, and when its members have got there.

Knows the rules of docs/offsets-topic.md under "Why an epoch rose". Must not know a record's layout.
"""

from __future__ import annotations

from typing import assert_never

from coordinator_udfs.protocol.consumer.states import ConsumerGroupState, GroupType, MemberState
from offsets_topic.history.departures import Evidence, Verdict, judge, returning
from offsets_topic.history.state import Departure, History, Member, Operation, Rebalance
from offsets_topic.history.story import Story, candidate, candidates_of, cause_among, cause_by
from offsets_topic.records.shapes import ConsumerGroupMetadataValue
from schemas.causes import Cause, CauseKind, EndCause
from schemas.effects import (
    CauseFound,
    GroupCreated,
    GroupFound,
    RebalanceEnded,
    RebalanceStarted,
)

FIRST_EPOCH = 1
"""The epoch of a group that is new; it is never written, unless a member without resolved topics has it."""
REMEMBERED_DEPARTURES = 100
PROTOCOL_TYPE = "consumer"

# ---------------------------------------------------------------- beginnings


def has_begun(history: History) -> bool:
    """Whether it is known since when the group is a consumer group, so that its records can be told."""
    return history.group_type is GroupType.CONSUMER


def tell_created(at_ms: int, story: Story) -> None:
    """The first records of a group: its first member made it, or took an Empty classic group of that name over."""
    history = story.history
    came = history.operation.came
    is_taken_over = history.ending_at_ms == at_ms
    if not is_taken_over:
        story.emit(GroupCreated(at_ms=at_ms))
    from_type = GroupType.CLASSIC if is_taken_over else None
    _become_consumer(FIRST_EPOCH, history)
    why = "replaced" if is_taken_over else "created"
    story.type_changed(from_type, GroupType.CONSUMER, why, at_ms, came[0].name if came else "")
    history.state = ConsumerGroupState.EMPTY


def tell_upgraded(value: ConsumerGroupMetadataValue, at_ms: int, story: Story) -> None:
    """The members of a classic group are those of a consumer group from now on; the one that did it comes next."""
    history = story.history
    history.converting, history.converted_at_ms = {}, -1
    history.operation.came = []
    _become_consumer(value.epoch, history)
    story.type_changed(GroupType.CLASSIC, GroupType.CONSUMER, "upgraded", at_ms)


def tell_found(epoch: int, at_ms: int, story: Story) -> None:
    """The first epoch that is left of a group's records, or one that does not follow: it was there, at that epoch."""
    history = story.history
    history.group_type = GroupType.CONSUMER
    history.protocol_type = PROTOCOL_TYPE
    history.generation_id = epoch
    history.rebalance = None
    story.emit(GroupFound(at_ms=at_ms, group_type=GroupType.CONSUMER, generation_id=epoch))
    for member in history.members.values():
        if not member.is_nameless:
            tell_found_member(member, at_ms, story)
    history.operation.came, history.operation.gone = [], []


def tell_found_member(member: Member, at_ms: int, story: Story) -> None:
    """A member that was there before what is left of the topic."""
    story.joined(member, at_ms, is_inferred=True)
    if member.state_since_ms:
        story.assigned(member, at_ms, max(member.epoch, 0))


def _become_consumer(epoch: int, history: History) -> None:
    history.group_type = GroupType.CONSUMER
    history.generation_id = history.target_epoch = epoch
    history.protocol_type, history.protocol_name, history.leader_id = PROTOCOL_TYPE, None, None
    history.ending_at_ms = -1


# ---------------------------------------------------------------- why an epoch rose


def tell_risen(value: ConsumerGroupMetadataValue, operation: Operation, at_ms: int, story: Story) -> None:
    """The epoch is one more: who came and went with it, and why it rose."""
    history = story.history
    members_before = len(history.members) - len(operation.came) + len(operation.gone)
    verdicts = [(member, verdict_of(member, operation, at_ms)) for member in operation.gone]
    cause = _cause(value, operation, verdicts, history)
    _end(at_ms, "superseded", members_before, story)
    for member, verdict in verdicts:
        story.removed(member, at_ms, verdict)
        _remember(member, verdict, operation, value.epoch, at_ms, history)
    for member in operation.came:
        _tell_return(member, at_ms, story)
        story.joined(member, at_ms)
        story.subscribed(member, at_ms)
    history.rebalance = Rebalance(
        from_epoch=history.generation_id,
        started_at_ms=at_ms,
        members_before=members_before,
        cause=cause,
        joined=[member.name for member in operation.came],
        left=_names(verdicts, EndCause.MEMBER_LEFT, EndCause.POLL_TIMEOUT, EndCause.ADMIN_REMOVED),
        expired=_names(verdicts, EndCause.SESSION_EXPIRED, EndCause.REBALANCE_TIMEOUT),
        gone=_names(verdicts, EndCause.UNKNOWN),
    )
    story.emit(
        RebalanceStarted(
            at_ms=at_ms,
            from_generation_id=history.generation_id,
            from_state=history.state,
            cause=cause,
            members_before=members_before,
            join_timeout_ms=max((member.rebalance_timeout_ms for member in history.members.values()), default=0),
        )
    )
    history.generation_id = value.epoch
    history.empty_since_ms = None if history.members else at_ms


def _cause(
    value: ConsumerGroupMetadataValue,
    operation: Operation,
    verdicts: list[tuple[Member, Verdict]],
    history: History,
) -> Cause:
    """Why an epoch rose: what the records before it say; of a member that went, what its silence says."""
    if operation.came:
        return cause_by(CauseKind.MEMBER_JOINED, operation.came[0])
    if verdicts:
        found = [one for member, verdict in verdicts for one in candidates_of(member, verdict)]
        if len(verdicts) == 1 and len(found) == 1:
            return cause_by(found[0].kind, verdicts[0][0], is_inferred=True)
        return cause_among(found, [member for member, _ in verdicts])
    if operation.changed:
        member = history.members[operation.changed[0]]
        is_return = member.member_id in operation.returned
        return cause_by(CauseKind.STATIC_MEMBER_REPLACED if is_return else CauseKind.SUBSCRIPTION_CHANGED, member)
    if operation.resolved:
        return Cause(kind=CauseKind.PATTERN_RESOLVED)
    if history.metadata_hash is not None and history.metadata_hash != value.metadata_hash:
        return Cause(kind=CauseKind.METADATA_CHANGED)
    return cause_among([candidate(CauseKind.METADATA_CHANGED), candidate(CauseKind.PATTERN_RESOLVED)], [])


def verdict_of(member: Member, operation: Operation, at_ms: int) -> Verdict:
    """How a member went, by what the records hold of it."""
    return judge(_evidence(member, operation, at_ms))


def _evidence(member: Member, operation: Operation, at_ms: int) -> Evidence:
    is_unrevoked = member.state is MemberState.UNREVOKED
    return Evidence(
        gone_by_ms=at_ms,
        is_exact=True,
        heard_ms=max(member.commits.last_ms or 0, member.told_at_ms),
        commits=member.commits,
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        is_static=member.group_instance_id is not None,
        is_away=member.is_away,
        unrevoked_since_ms=member.state_since_ms if is_unrevoked else None,
        went_with_others=len(operation.gone) > 1,
    )


def _remember(
    member: Member, verdict: Verdict, operation: Operation, to_epoch: int, at_ms: int, history: History
) -> None:
    """Keeps a departure in mind of which it is not known how: the same id may come back."""
    fitting = returning(verdict, _evidence(member, operation, at_ms))
    if fitting:
        history.departures.append(
            Departure(
                member_id=member.member_id, at_ms=at_ms, to_epoch=to_epoch, returning=[end.value for end in fitting]
            )
        )
        del history.departures[:-REMEMBERED_DEPARTURES]


def _tell_return(member: Member, at_ms: int, story: Story) -> None:
    """A member that went comes back under its own id: it was not closed then."""
    history = story.history
    departure = next((one for one in history.departures if one.member_id == member.member_id), None)
    if departure is None:
        return
    history.departures.remove(departure)
    found = [candidate(CauseKind(end), member) for end in departure.returning]
    cause = cause_by(found[0].kind, member, is_inferred=True) if len(found) == 1 else cause_among(found, [member])
    story.emit(
        CauseFound(
            at_ms=at_ms,
            to_generation_id=departure.to_epoch,
            gone_at_ms=departure.at_ms,
            member_id=member.member_id,
            client_id=member.client_id,
            cause=cause,
        )
    )


def tell_newcomer(member: Member, at_ms: int, story: Story) -> None:
    """A member came and raised no epoch: it takes part in the one that its group is on the way to."""
    _tell_return(member, at_ms, story)
    if story.history.rebalance is not None:
        story.history.rebalance.joined.append(member.name)


def _names(verdicts: list[tuple[Member, Verdict]], *ends: EndCause) -> list[str]:
    return [member.name for member, verdict in verdicts if verdict.end_cause in ends]


# ---------------------------------------------------------------- when members have got there


def settle(at_ms: int, story: Story) -> None:
    """Tells of the group's state if it is another one; with all members at its epoch the rebalance is over."""
    history = story.history
    if not has_begun(history):
        return
    state = state_of(history)
    if state != history.state:
        story.state(at_ms, state)
    match state:
        case ConsumerGroupState.EMPTY:
            _end(at_ms, "empty", 0, story)
        case ConsumerGroupState.STABLE:
            _end(at_ms, "completed", len(history.members), story)
        case ConsumerGroupState.ASSIGNING | ConsumerGroupState.RECONCILING:
            pass
        case _:
            assert_never(state)


def state_of(history: History) -> ConsumerGroupState:
    """The state that follows from epochs and members, as Kafka derives it."""
    if not history.members:
        return ConsumerGroupState.EMPTY
    if history.generation_id > history.target_epoch:
        return ConsumerGroupState.ASSIGNING
    is_there = all(
        member.epoch == history.generation_id and member.state is MemberState.STABLE
        for member in history.members.values()
    )
    return ConsumerGroupState.STABLE if is_there else ConsumerGroupState.RECONCILING


def _end(at_ms: int, outcome: str, members_after: int, story: Story) -> None:
    """Ends the rebalance that is under way, if there is one. Who waited for whom the records do not say."""
    history = story.history
    running = history.rebalance
    if running is None:
        return
    history.rebalance = None
    story.emit(
        RebalanceEnded(
            at_ms=at_ms,
            from_generation_id=running.from_epoch,
            to_generation_id=running.from_epoch + 1,
            started_at_ms=running.started_at_ms,
            cause=running.cause,
            outcome=outcome,
            members_before=running.members_before,
            members_after=members_after,
            joined=running.joined,
            left=running.left,
            expired=running.expired,
            gone=tuple(running.gone),
            slowest_member_id=None,
            slowest_client_id=None,
            slowest_wait_ms=None,
            waits=[],
        )
    )


def take_from_others(member: Member, history: History) -> None:
    """A partition has one owner: where records in between were compacted away, the higher epoch has it."""
    for other in history.members.values():
        if other is member:
            continue
        for topic, numbers in member.held.items():
            shared = set(numbers) & set(other.held.get(topic, []))
            loser = other if other.epoch <= member.epoch else member
            if shared:
                loser.held = loser.held | {topic: sorted(set(loser.held[topic]) - shared)}
