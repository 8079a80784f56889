"""The facts in the records of a consumer group (KIP-848): members, epochs with their causes, and each step of a member.
The records of one request follow each other with one time, and the epoch's record comes after those that show why it
rose. So they are collected until the epoch comes, or until the request's records are known to be complete.

Knows the rules of docs/offsets-topic.md for consumer groups. Must not know bytes of records, nor a classic generation.
"""

from __future__ import annotations

from collections import Counter

from rollcall.coordinator_udfs.protocol.consumer.states import MemberState
from rollcall.inputs.offsets_topic.history import epochs
from rollcall.inputs.offsets_topic.history.departures import REPLACED
from rollcall.inputs.offsets_topic.history.state import History, Member, Operation, with_instance
from rollcall.inputs.offsets_topic.history.story import Story
from rollcall.inputs.offsets_topic.records.shapes import (
    ConsumerGroupMetadataValue,
    CurrentMemberAssignmentValue,
    CurrentPartitions,
    MemberMetadataValue,
    RegularExpressionValue,
    TargetAssignmentMemberValue,
    TargetAssignmentMetadataValue,
    TargetPartitions,
)
from rollcall.schemas import makers
from rollcall.schemas.consumer_effects import (
    MemberProgressed,
    MemberTarget,
    PatternsResolved,
    PatternTopics,
    TargetAssigned,
)

HEARTBEAT_INTERVAL_MS = 5_000
"""Kafka's default. A client that subscribes by a pattern joins before it knows the topics, and says them next."""
AWAY_EPOCH = -2
"""The epoch of a static member that left and means to return."""
_OF_STEPS = ("epoch", "state", "state_since_ms", "held", "step_shown_at")
"""What a member's steps say of it."""
_STATES = {0: MemberState.STABLE, 1: MemberState.UNREVOKED, 2: MemberState.UNRELEASED}

# ---------------------------------------------------------------- members


def emit_member(member_id: str, value: MemberMetadataValue, at_ms: int, story: Story) -> None:
    """A member's own record: it joined, replaced a static member, or changed its fields."""
    history, operation = story.history, _operation(story.history, at_ms)
    member = history.members.get(member_id) or history.converting.pop(member_id, None)
    new = _member(member_id, value, at_ms, story.offset)
    if member is not None and not member.is_nameless:
        history.members[member_id] = _go_on(member, new, at_ms, story)
        return
    if member is not None:
        for name in _OF_STEPS:
            setattr(new, name, getattr(member, name))
        history.members[member_id] = new
        if epochs.has_begun(history):
            epochs.emit_found_member(new, at_ms, story)
        return
    history.members[member_id] = new
    old = with_instance(new.group_instance_id, operation.gone)
    if old is None:
        operation.came.append(new)
        return
    operation.gone.remove(old)
    operation.returned.append(member_id)
    if old.server_assignor != new.server_assignor:
        operation.voted.append(member_id)
    with story.shown_at(old.shown_at):
        story.removed(old, at_ms, REPLACED, replaced_by=member_id)
    story.joined(new, at_ms, replaces_member_id=old.member_id)
    story.subscribed(new, at_ms)


def emit_member_gone(member_id: str, at_ms: int, story: Story) -> None:
    """A member is gone; the records do not show how. For an unknown one nothing is emitted."""
    history, operation = story.history, _operation(story.history, at_ms)
    member = history.members.pop(member_id, None)
    if member is not None and not member.is_nameless:
        member.shown_at = story.offset
        operation.gone.append(member)


def _go_on(member: Member, new: Member, at_ms: int, story: Story) -> Member:
    """A known member's record, with changed fields or the same again."""
    operation = _operation(story.history, at_ms)
    is_other = (member.topics, member.pattern) != (new.topics, new.pattern)
    has_other_terms = is_other or member.rebalance_timeout_ms != new.rebalance_timeout_ms
    has_other_vote = member.server_assignor != new.server_assignor or member.is_classic != new.is_classic
    for name in (*_OF_STEPS, "since_ms", "target", "commits", "is_away"):
        setattr(new, name, getattr(member, name))
    if member.server_assignor != new.server_assignor:
        operation.voted.append(new.member_id)
    if is_other:
        operation.changed.append(new.member_id)
        if not (member.topics or member.pattern) and at_ms - member.since_ms <= HEARTBEAT_INTERVAL_MS:
            operation.coming.append(new.member_id)
    if has_other_terms:
        story.emit(makers.member_updated(at_ms, new, new.terms))
    if is_other or has_other_vote:
        story.subscribed(new, at_ms)
    return new


def _member(member_id: str, value: MemberMetadataValue, at_ms: int, shown_at: int) -> Member:
    classic = value.classic_member_metadata
    return Member(
        member_id=member_id,
        client_id=value.client_id,
        client_host=value.client_host,
        group_instance_id=value.instance_id,
        session_timeout_ms=-1 if classic is None else classic.session_timeout_ms,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        topics=sorted(value.subscribed_topic_names),
        pattern=value.subscribed_topic_regex or "",
        server_assignor=value.server_assignor,
        is_classic=classic is not None,
        since_ms=at_ms,
        recorded_at_ms=at_ms,
        shown_at=shown_at,
    )


# ---------------------------------------------------------------- epochs and targets


def emit_epoch(value: ConsumerGroupMetadataValue, at_ms: int, story: Story) -> None:
    """The group's epoch, with its cause from the records before it."""
    history, operation = story.history, _operation(story.history, at_ms)
    # A classic group may be upgraded before any generation with its members is written.
    is_upgraded_unseen = history.ending_at_ms == at_ms and any(member.is_classic for member in operation.came)
    if epochs.has_begun(history) and value.epoch == history.generation_id + 1:
        epochs.emit_risen(value, operation, at_ms, story)
    elif history.converting or history.converted_at_ms == at_ms or is_upgraded_unseen:
        epochs.emit_upgraded(value, at_ms, story)
    elif not epochs.has_begun(history) and value.epoch == epochs.FIRST_EPOCH + 1 and operation.came:
        epochs.emit_created(at_ms, story)
        epochs.emit_risen(value, operation, at_ms, story)
    elif not epochs.has_begun(history) or value.epoch != history.generation_id:
        epochs.emit_found(value.epoch, at_ms, story)
    history.metadata_hash = value.metadata_hash
    history.operation = Operation(at_ms=at_ms, returned=operation.returned)
    epochs.update_state(at_ms, story)


def emit_target(member_id: str, value: TargetAssignmentMemberValue, at_ms: int, story: Story) -> None:
    """A member's target; emitted with the target's epoch, which follows."""
    target = _partitions(value.topic_partitions)
    _operation(story.history, at_ms).targets[member_id] = target
    if member_id in story.history.members:
        story.history.members[member_id].target = target


def emit_target_epoch(value: TargetAssignmentMetadataValue, at_ms: int, story: Story) -> None:
    """A target assignment is complete; its assignor is the one that most members ask for, empty if none does.

    The one of an Empty group assigns nothing (since Kafka 4.4, KAFKA-20442).
    """
    history = story.history
    history.target_epoch = value.assignment_epoch
    votes = Counter(one.server_assignor for one in history.members.values() if one.server_assignor)
    if epochs.has_begun(history) and history.members:
        targets = history.operation.targets
        story.emit(
            TargetAssigned(
                at_ms=at_ms,
                generation_id=value.assignment_epoch,
                assignor=votes.most_common(1)[0][0] if votes else "",
                member_count=len(history.members),
                targets=[
                    MemberTarget(
                        member_id=one.member_id, client_id=one.client_id, partitions=story.partitions(one.target)
                    )
                    for one in history.members.values()
                    if one.member_id in targets
                ],
            )
        )
    history.operation.targets = {}
    epochs.update_state(at_ms, story)


def emit_current(member_id: str, value: CurrentMemberAssignmentValue, at_ms: int, story: Story) -> None:
    """A step of a member towards its target: what it owns from now on, including what it must give up."""
    history = story.history
    member = history.members.get(member_id)
    if member is None:
        member = Member(member_id=member_id, client_id="", client_host="", since_ms=at_ms, is_nameless=True)
        history.members[member_id] = member
    kept, to_revoke = _partitions(value.assigned_partitions), _partitions(value.partitions_pending_revocation)
    if not epochs.has_begun(history) and history.operation.came and value.member_epoch == epochs.FIRST_EPOCH:
        epochs.emit_created(at_ms, story)
    end_operation(story)
    state = _STATES.get(value.state, MemberState.UNRELEASED)
    before = (member.epoch, member.state, member.held)
    held = {topic: sorted({*kept.get(topic, []), *to_revoke.get(topic, [])}) for topic in kept | to_revoke}
    if (member.epoch, member.state) != (value.member_epoch, state):
        member.state_since_ms = at_ms
    member.epoch, member.state, member.held, member.recorded_at_ms = value.member_epoch, state, held, at_ms
    member.step_shown_at = story.offset
    is_back = member.is_away
    member.is_away = value.member_epoch == AWAY_EPOCH
    epochs.take_from_others(member, history)
    if not epochs.has_begun(history) or member.is_nameless or before == (member.epoch, member.state, member.held):
        return
    if member.is_away and not is_back:
        story.emit(makers.member_left_for_now(at_ms, member))
    if before[2] != held:
        story.assigned(member, at_ms, member.epoch if member.epoch > 0 else history.generation_id)
    if member.is_away:
        epochs.update_state(at_ms, story)
        return
    story.emit(
        MemberProgressed(
            at_ms=at_ms,
            member_id=member_id,
            client_id=member.client_id,
            generation_id=member.epoch,
            target_epoch=max(history.target_epoch, 0),
            state=state,
            partitions=story.partitions(kept),
            to_revoke=story.partitions(to_revoke),
            awaited=story.partitions(_without(member.target, held)) if state is MemberState.UNRELEASED else [],
        )
    )
    epochs.update_state(at_ms, story)


# ---------------------------------------------------------------- patterns


def emit_pattern(pattern: str, value: RegularExpressionValue, at_ms: int, story: Story) -> None:
    """A pattern matches these topics; the epoch that follows rose for it."""
    _operation(story.history, at_ms).resolved.append(pattern)
    if epochs.has_begun(story.history):
        last = story.list_of(PatternsResolved, at_ms)
        topics = PatternTopics(pattern=pattern, topics=list(value.topics))
        if last is not None:
            last.patterns.append(topics)
        else:
            story.emit(PatternsResolved(at_ms=at_ms, patterns=[topics]))


# ---------------------------------------------------------------- operations


def end_operation_before(at_ms: int, story: Story) -> None:
    """Emits the facts of earlier records without an epoch: they were of another request."""
    if story.history.operation.at_ms not in (-1, at_ms):
        end_operation(story)
        story.history.operation = Operation()


def end_operation(story: Story) -> None:
    """The records of one request are complete: newcomers raised no epoch, and nothing more follows about members that
    left."""
    history, operation = story.history, story.history.operation
    if epochs.has_begun(history):
        for member in operation.came:
            with story.shown_at(member.shown_at):
                epochs.emit_newcomer(member, operation.at_ms, story)
                story.joined(member, operation.at_ms)
                story.subscribed(member, operation.at_ms)
        for member in operation.gone:
            verdict = epochs.verdict_of(member, operation, operation.at_ms, history)
            with story.shown_at(member.shown_at):
                story.removed(member, operation.at_ms, verdict)
        if operation.gone:
            with story.shown_at(operation.gone[-1].shown_at):
                epochs.update_state(operation.at_ms, story)
    operation.came, operation.gone, operation.resolved = [], [], []
    operation.changed, operation.coming = [], []


def _operation(history: History, at_ms: int) -> Operation:
    history.operation.at_ms = at_ms
    return history.operation


def _partitions(topics: list[CurrentPartitions] | list[TargetPartitions]) -> dict[str, list[int]]:
    return {topic.topic_id or "": sorted(topic.partitions) for topic in topics if topic.partitions}


def _without(target: dict[str, list[int]], held: dict[str, list[int]]) -> dict[str, list[int]]:
    return {topic: sorted(set(numbers) - set(held.get(topic, []))) for topic, numbers in target.items()}
