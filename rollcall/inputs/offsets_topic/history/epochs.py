"""The epochs of a consumer group: how it begins or is found, why an epoch rose, and when its members have reached it.

Knows the rules of docs/offsets-topic.md under "Why an epoch rose". Must not know a record's layout.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from rollcall.coordinator_udfs.protocol.consumer.states import ConsumerGroupState, GroupType, MemberState
from rollcall.inputs.offsets_topic.history.classic import evidence_of, names_of
from rollcall.inputs.offsets_topic.history.departures import REPLACED, Evidence, Verdict, judge, judge_absent, returning
from rollcall.inputs.offsets_topic.history.state import (
    NO_RECORD,
    Departure,
    EpochRebalance,
    History,
    Member,
    Operation,
    with_instance,
)
from rollcall.inputs.offsets_topic.history.story import Story, candidate, candidates_of
from rollcall.inputs.offsets_topic.records.shapes import ConsumerGroupMetadataValue
from rollcall.inputs.tolerances import RETURNED_AT_ONCE_MS
from rollcall.schemas import makers
from rollcall.schemas.causes import EXPIRED, LEFT, Cause, CauseKind, EndCause, row_of
from rollcall.schemas.effects import CauseFound, GroupCreated, GroupFound

FIRST_EPOCH = 1
"""The epoch of a new group; it is only written if a member has no resolved topics."""
REMEMBERED_DEPARTURES = 100
PROTOCOL_TYPE = "consumer"

# ---------------------------------------------------------------- beginnings


def has_begun(history: History) -> bool:
    """Whether it is known since when the group is a consumer group, so that its records can be used."""
    return history.group_type is GroupType.CONSUMER


def emit_created(at_ms: int, story: Story) -> None:
    """The first records of a group: its first member created it, or took over an Empty classic group of that name."""
    history = story.history
    first = history.operation.came[0]
    is_taken_over = history.ending_at_ms == at_ms
    from_type = GroupType.CLASSIC if is_taken_over else None
    _become_consumer(FIRST_EPOCH, history)
    why = "replaced" if is_taken_over else "created"
    with story.shown_at(first.shown_at):
        if not is_taken_over:
            story.emit(GroupCreated(at_ms=at_ms))
        story.type_changed(from_type, GroupType.CONSUMER, why, at_ms, first.name)
    history.state = ConsumerGroupState.EMPTY


def emit_upgraded(value: ConsumerGroupMetadataValue, at_ms: int, story: Story) -> None:
    """The members of a classic group become those of a consumer group; the record of the member that caused it comes
    next. Who joined or went since the group's last generation has no record of its own: these records show it.
    """
    history = story.history
    came = {member.member_id: member for member in history.operation.came}
    for old in history.converting.values():
        new = came.pop(old.member_id, None)
        if new is not None:
            new.since_ms, new.commits = old.since_ms, old.commits
            continue
        new = with_instance(old.group_instance_id, came.values())
        verdict = judge_absent(evidence_of(old, at_ms, history, is_exact=False), is_back=new is not None)
        if new is not None and verdict is REPLACED:
            del came[new.member_id]
            with story.shown_at(new.shown_at):
                story.removed(old, at_ms, verdict, replaced_by=new.member_id)
                story.joined(new, at_ms, is_inferred=True, replaces_member_id=old.member_id)
        else:
            with story.shown_at(NO_RECORD):  # What shows it is that it has none.
                story.removed(old, at_ms, verdict)
    for member in came.values():
        with story.shown_at(member.shown_at):
            story.joined(member, at_ms, is_inferred=True)
    history.converting, history.converted_at_ms = {}, -1
    history.operation.came = []
    _become_consumer(value.epoch, history)
    story.type_changed(GroupType.CLASSIC, GroupType.CONSUMER, "upgraded", at_ms)


def emit_found(epoch: int, at_ms: int, story: Story) -> None:
    """The first epoch that is left of a group's records, or one after a gap: the group existed, at that epoch. Or it
    was a classic group until then, without members.
    """
    history = story.history
    if history.ending_at_ms == at_ms:
        _become_consumer(epoch, history)
        history.state = ConsumerGroupState.EMPTY
        story.type_changed(GroupType.CLASSIC, GroupType.CONSUMER, "upgraded", at_ms)
    else:
        history.group_type = GroupType.CONSUMER
        history.protocol_type = PROTOCOL_TYPE
        history.generation_id = epoch
        history.rebalance = None
        story.emit(GroupFound(at_ms=at_ms, group_type=GroupType.CONSUMER, generation_id=epoch))
        for member in history.members.values():
            if not member.is_nameless:
                emit_found_member(member, at_ms, story)
    history.operation.came, history.operation.gone = [], []


def emit_found_member(member: Member, at_ms: int, story: Story) -> None:
    """A member that joined before the first record that is left."""
    with story.shown_at(member.shown_at):
        story.joined(member, at_ms, is_inferred=True)
    if member.state_since_ms:
        with story.shown_at(member.step_shown_at):
            story.assigned(member, at_ms, max(member.epoch, 0))


def _become_consumer(epoch: int, history: History) -> None:
    history.group_type = GroupType.CONSUMER
    history.generation_id = history.target_epoch = epoch
    history.protocol_type, history.protocol_name, history.leader_id = PROTOCOL_TYPE, None, None
    history.ending_at_ms = -1


# ---------------------------------------------------------------- why an epoch rose


def emit_risen(value: ConsumerGroupMetadataValue, operation: Operation, at_ms: int, story: Story) -> None:
    """The epoch rose by one: who joined and left with it, and why it rose."""
    history = story.history
    came = [*operation.came, *(history.members[one] for one in operation.coming)]
    members_before = len(history.members) - len(came) + len(operation.gone)
    if history.rebalance is not None:
        coming = {history.members[one].name for one in operation.coming}
        history.rebalance.joined = [name for name in history.rebalance.joined if name not in coming]
    verdicts = [(member, verdict_of(member, operation, at_ms, story.history)) for member in operation.gone]
    cause = makers.cause_by(CauseKind.MEMBER_JOINED, came[0]) if came else _cause(value, operation, verdicts, history)
    story.epoch_ended(at_ms, "superseded", members_before)
    for member, verdict in verdicts:
        with story.shown_at(member.shown_at):
            story.removed(member, at_ms, verdict)
        _remember(member, verdict, operation, value.epoch, at_ms, history)
    for member in operation.came:
        with story.shown_at(member.shown_at):
            _emit_return(member, at_ms, story)
            story.joined(member, at_ms)
            story.subscribed(member, at_ms)
    history.rebalance = EpochRebalance(
        from_generation_id=history.generation_id,
        started_at_ms=at_ms,
        members_before=members_before,
        cause=cause,
        joined=[member.name for member in came],
        left=names_of(verdicts, *LEFT),
        expired=names_of(verdicts, *EXPIRED),
        gone=names_of(verdicts, EndCause.UNKNOWN),
    )
    join_timeout_ms = max((member.rebalance_timeout_ms for member in history.members.values()), default=0)
    story.emit(makers.rebalance_started(history.rebalance, history.state, join_timeout_ms))
    history.generation_id = value.epoch
    history.empty_since_ms = None if history.members else at_ms


def _cause(
    value: ConsumerGroupMetadataValue,
    operation: Operation,
    verdicts: list[tuple[Member, Verdict]],
    history: History,
) -> Cause:
    """Why an epoch rose: by the records before it, and for a member that left by its silence."""
    if verdicts:
        found = [one for member, verdict in verdicts for one in candidates_of(member, verdict)]
        return makers.cause_among(found, [member for member, _ in verdicts])
    if operation.changed:
        return _caused_by(operation.changed[0], operation, history)
    if operation.resolved:
        return Cause(kind=CauseKind.PATTERN_RESOLVED)
    if history.metadata_hash is not None and history.metadata_hash != value.metadata_hash:
        return Cause(kind=CauseKind.METADATA_CHANGED)
    if operation.voted:
        return _caused_by(operation.voted[0], operation, history)
    return makers.cause_among([candidate(CauseKind.METADATA_CHANGED), candidate(CauseKind.PATTERN_RESOLVED)], [])


def _caused_by(member_id: str, operation: Operation, history: History) -> Cause:
    is_return = member_id in operation.returned
    kind = CauseKind.STATIC_MEMBER_REPLACED if is_return else CauseKind.SUBSCRIPTION_CHANGED
    return makers.cause_by(kind, history.members[member_id])


def verdict_of(member: Member, operation: Operation, at_ms: int, history: History) -> Verdict:
    """How a member left, by its records."""
    return judge(_evidence(member, operation, at_ms, history))


def _evidence(member: Member, operation: Operation, at_ms: int, history: History) -> Evidence:
    is_unrevoked = member.state is MemberState.UNREVOKED
    return replace(
        evidence_of(member, at_ms, history, is_exact=True),
        # A commit renews no session in a consumer group, not even a classic member's.
        session_timeout_ms=-1,
        is_away=member.is_away,
        unrevoked_since_ms=member.state_since_ms if is_unrevoked else None,
        went_with_others=len(operation.gone) > 1,
        last_record_ms=member.recorded_at_ms,
        unstepped_since_ms=_unstepped_since_ms(member, history),
        longest_rebalance_ms=history.longest_rebalance_ms,
        group_session_ms=member.session_timeout_ms if member.is_classic else history.session_ms,
    )


def _unstepped_since_ms(member: Member, history: History) -> int | None:
    """Since when the group's epoch waits only for the member's next heartbeat: it has nothing to give up. A classic
    member must join again for it, which its application may delay.
    """
    running = history.rebalance
    is_kept = member.is_classic or member.state is MemberState.UNREVOKED
    if running is None or is_kept or member.epoch > running.from_generation_id:
        return None
    return running.started_at_ms


def _remember(
    member: Member, verdict: Verdict, operation: Operation, to_epoch: int, at_ms: int, history: History
) -> None:
    """Remembers a departure of unknown cause: the same id may come back."""
    fitting = returning(verdict, _evidence(member, operation, at_ms, history))
    if fitting:
        history.departures.append(
            Departure(
                member_id=member.member_id, at_ms=at_ms, to_epoch=to_epoch, returning=[end.value for end in fitting]
            )
        )
        del history.departures[:-REMEMBERED_DEPARTURES]


def _emit_return(member: Member, at_ms: int, story: Story) -> None:
    """A member that went comes back under its own id: it was not closed then."""
    history = story.history
    departure = next((one for one in history.departures if one.member_id == member.member_id), None)
    if departure is None:
        return
    history.departures.remove(departure)
    is_at_once = at_ms - departure.at_ms <= RETURNED_AT_ONCE_MS
    ends = [end for end in departure.returning if not (is_at_once and row_of(end).is_silent)]
    if not ends:
        return
    found = [candidate(CauseKind(end), member) for end in ends]
    story.emit(
        CauseFound(
            at_ms=at_ms,
            to_generation_id=departure.to_epoch,
            gone_at_ms=departure.at_ms,
            member_id=member.member_id,
            client_id=member.client_id,
            cause=makers.cause_among(found, [member]),
        )
    )


def emit_newcomer(member: Member, at_ms: int, story: Story) -> None:
    """A member joined and raised no epoch: it takes part in the rebalance under way."""
    _emit_return(member, at_ms, story)
    if story.history.rebalance is not None:
        story.history.rebalance.joined.append(member.name)


# ---------------------------------------------------------------- when members have reached it


def update_state(at_ms: int, story: Story) -> None:
    """Emits the group's state if it has changed; with all members at its epoch the rebalance has ended."""
    history = story.history
    if not has_begun(history):
        return
    state = state_of(history)
    if state != history.state:
        story.state(at_ms, state)
    match state:
        case ConsumerGroupState.EMPTY:
            story.epoch_ended(at_ms, "empty", 0)
        case ConsumerGroupState.STABLE:
            story.epoch_ended(at_ms, "completed", len(history.members))
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


def take_from_others(member: Member, history: History) -> None:
    """A partition has one owner: if records in between were compacted away, the member at the higher epoch."""
    for other in history.members.values():
        if other is member:
            continue
        for topic, numbers in member.held.items():
            shared = set(numbers) & set(other.held.get(topic, []))
            loser = other if other.epoch <= member.epoch else member
            if shared:
                loser.held = loser.held | {topic: sorted(set(loser.held[topic]) - shared)}
