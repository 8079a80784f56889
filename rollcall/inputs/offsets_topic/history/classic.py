"""The facts of a classic group in a GroupMetadata record: a generation, a member replaced, or that nobody is left. The
record of a generation is written when the leader's assignment has come. So the times of the join phase's end and of the
assignment are known. When the rebalance began and who waited for whom is not recorded.

Knows the rules of docs/offsets-topic.md for classic groups. Must not know bytes of records, nor another kind of group.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rollcall.coordinator_udfs.protocol.consumer.states import GroupType
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.inputs.offsets_topic.history.departures import REPLACED, Evidence, Verdict, judge, judge_absent
from rollcall.inputs.offsets_topic.history.generations import Change, cause_of
from rollcall.inputs.offsets_topic.history.state import History, Member, with_instance
from rollcall.inputs.offsets_topic.history.story import Story, candidates_of
from rollcall.inputs.offsets_topic.records.shapes import ClassicMember, GroupMetadataValue
from rollcall.schemas import makers
from rollcall.schemas.causes import EXPIRED, LEFT, CauseCandidate, CauseKind, EndCause
from rollcall.schemas.consumer_protocol import decode_assignment, decode_subscription
from rollcall.schemas.effects import GroupCreated, GroupFound, JoinPhaseEnded, RebalanceEnded
from rollcall.schemas.layout import LayoutError

CONSUMER = "consumer"


def emit_group(value: GroupMetadataValue, at_ms: int, story: Story) -> None:
    """Emits the event for which a GroupMetadata record was written."""
    history = story.history
    formed_at_ms = value.current_state_timestamp if 0 <= value.current_state_timestamp <= at_ms else at_ms
    members = [_member(one, value, at_ms, history) for one in value.members]
    if history.converting:
        _convert(value, members, at_ms, story)
    elif history.group_type is not GroupType.CLASSIC or value.generation < history.generation_id:
        _begin(value, members, at_ms, formed_at_ms, story)
    elif value.generation == history.generation_id:
        _emit_same_generation(value, members, at_ms, story)
    else:
        _emit_generation(value, members, at_ms, formed_at_ms, story)


def _begin(value: GroupMetadataValue, members: Sequence[Member], at_ms: int, formed_at_ms: int, story: Story) -> None:
    """The first record of a group, or the first after it was removed: it is new, or earlier records are lost."""
    history = story.history
    is_new = value.generation == 0 and not members and not value.protocol_type
    history.group_type = GroupType.CLASSIC
    history.members, history.downgrade_cause = {}, None
    _take_terms(value, history)
    if is_new and history.ending_at_ms == at_ms:
        history.ending_at_ms = -1
        story.type_changed(GroupType.CONSUMER, GroupType.CLASSIC, "replaced", at_ms)
        history.state = GroupState.EMPTY.value
        return
    if is_new:
        story.emit(GroupCreated(at_ms=formed_at_ms))
        history.state = GroupState.EMPTY.value
        history.empty_since_ms = formed_at_ms
        return
    story.emit(GroupFound(at_ms=at_ms, group_type=GroupType.CLASSIC, generation_id=value.generation))
    for member in members:
        story.joined(member, at_ms, is_inferred=True)
    _take_members(members, history)
    _emit_assigned(value, members, at_ms, story)
    history.empty_since_ms = None if members else formed_at_ms
    story.state(at_ms, GroupState.STABLE.value if members else GroupState.EMPTY.value)


def _convert(value: GroupMetadataValue, members: Sequence[Member], at_ms: int, story: Story) -> None:
    """The last consumer left and the classic members continue as a classic group: they rebalance next."""
    history = story.history
    staying = {member.member_id for member in members}
    gone = [member for member in history.converting.values() if member.member_id not in staying]
    # A static member that comes back by the classic protocol takes its place.
    came = [one for one in members if one.member_id not in history.converting]
    replaced: dict[str, str] = {}
    returned = [member for member in members if member.member_id in history.operation.returned]
    leavers: list[Member] = []
    candidates: list[CauseCandidate] = []
    for member in gone:
        new = with_instance(member.group_instance_id, came)
        if new is not None:
            returned.append(new)
            replaced[new.member_id] = member.member_id
            story.removed(member, at_ms, REPLACED, replaced_by=new.member_id)
            continue
        verdict = judge(evidence_of(member, at_ms, history, is_exact=True))
        story.removed(member, at_ms, verdict)
        leavers.append(member)
        candidates += candidates_of(member, verdict)
    is_at_target = not leavers and history.target_epoch == history.generation_id
    story.epoch_ended(at_ms, "completed" if is_at_target else "superseded", len(history.converting))
    history.downgrade_cause = None
    if leavers:
        history.downgrade_cause = makers.cause_among(candidates, leavers)
    elif returned and not is_at_target:
        history.downgrade_cause = makers.cause_by(CauseKind.STATIC_MEMBER_REPLACED, returned[0], is_inferred=True)
    history.group_type = GroupType.CLASSIC
    _take_terms(value, history)
    culprit = next(iter([*leavers, *returned]), None)
    client_id = "" if culprit is None else culprit.name
    story.type_changed(GroupType.CONSUMER, GroupType.CLASSIC, "downgraded", at_ms, client_id)
    for member in members:
        before = history.converting.get(member.member_id)
        if before is None:
            story.joined(member, at_ms, replaces_member_id=replaced.get(member.member_id))
        else:
            member.since_ms, member.commits = before.since_ms, before.commits
    history.converting = {}
    _take_members(members, history)
    _emit_assigned(value, members, at_ms, story)
    story.state(at_ms, GroupState.STABLE.value if members else GroupState.EMPTY.value)


def _emit_same_generation(value: GroupMetadataValue, members: Sequence[Member], at_ms: int, story: Story) -> None:
    """A static member came back under another id, without a rebalance; otherwise the record is a repetition."""
    history = story.history
    now = {member.member_id for member in members}
    replaced = []
    for member in members:
        before = history.members.get(member.member_id)
        old = None if before is not None else with_instance(member.group_instance_id, history.members.values())
        if old is not None and old.member_id not in now:
            story.removed(old, at_ms, REPLACED, replaced_by=member.member_id)
            story.joined(member, at_ms, replaces_member_id=old.member_id)
            replaced.append(member)
        elif before is None:
            story.joined(member, at_ms, is_inferred=True)
            replaced.append(member)
        else:
            _go_on(before, member, at_ms, story)
    for member in history.members.values():
        if member.member_id not in now and member.group_instance_id not in {one.group_instance_id for one in replaced}:
            story.removed(member, at_ms, judge(evidence_of(member, at_ms, history, is_exact=False)))
    _take_terms(value, history)
    _take_members(members, history)
    _emit_assigned(value, replaced, at_ms, story)


def _emit_generation(
    value: GroupMetadataValue, members: Sequence[Member], at_ms: int, formed_at_ms: int, story: Story
) -> None:
    """A later generation: who joined and left since the one before, and what may have set its rebalance off."""
    history = story.history
    ended_at_ms = at_ms if members else formed_at_ms
    change = _change(value, members, formed_at_ms, history)
    # Whoever comes and goes meanwhile only takes part in the rebalance that the downgrade began.
    cause, history.downgrade_cause = history.downgrade_cause, None
    if cause is None or change.generations > 1:
        cause = cause_of(change)
    for member, verdict in change.gone:
        story.removed(member, formed_at_ms, verdict)
    for old, new in change.replaced:
        story.removed(old, formed_at_ms, REPLACED, replaced_by=new.member_id)
        story.joined(new, formed_at_ms, is_inferred=True, replaces_member_id=old.member_id)
    for member in change.came:
        story.joined(member, formed_at_ms, is_inferred=True)
    for old, new in change.stayed:
        _go_on(old, new, formed_at_ms, story)
    from_generation_id, members_before = history.generation_id, len(history.members)
    _take_terms(value, history)
    _take_members(members, history)
    history.is_followup_due = change.is_followup_next
    if members:
        story.emit(
            JoinPhaseEnded(
                at_ms=formed_at_ms,
                generation_id=value.generation,
                protocol_name=value.protocol,
                leader_id=value.leader,
                member_ids=[member.member_id for member in members],
            )
        )
    _emit_assigned(value, members, at_ms, story)
    story.emit(
        RebalanceEnded(
            at_ms=ended_at_ms,
            from_generation_id=from_generation_id,
            to_generation_id=value.generation,
            started_at_ms=None,
            known_from_ms=formed_at_ms,
            cause=cause,
            outcome="completed" if members else "empty",
            members_before=members_before,
            members_after=len(members),
            joined=[member.name for member in change.came],
            left=names_of(change.gone, *LEFT),
            expired=names_of(change.gone, *EXPIRED),
            gone=tuple(names_of(change.gone, EndCause.UNKNOWN)),
            waits=[],
        )
    )
    history.empty_since_ms = None if members else formed_at_ms
    if members:
        story.state(ended_at_ms, GroupState.STABLE.value, GroupState.COMPLETING_REBALANCE.value)
    else:
        story.state(ended_at_ms, GroupState.EMPTY.value, GroupState.PREPARING_REBALANCE.value)


def _change(value: GroupMetadataValue, members: Sequence[Member], formed_at_ms: int, history: History) -> Change:
    now = {member.member_id: member for member in members}
    is_last = not members and len(history.members) == 1
    stayed, replaced, gone = [], [], []
    for old in history.members.values():
        if old.member_id in now:
            stayed.append((old, now[old.member_id]))
            continue
        new = with_instance(old.group_instance_id, members)
        evidence = evidence_of(old, formed_at_ms, history, is_exact=is_last)
        verdict = judge_absent(evidence, is_back=new is not None)
        if new is not None and verdict is REPLACED:
            replaced.append((old, new))
        else:
            gone.append((old, verdict))
    known = {new.member_id for _, new in (*stayed, *replaced)}
    return Change(
        before=list(history.members.values()),
        came=[member for member in members if member.member_id not in known],
        gone=gone,
        stayed=stayed,
        replaced=replaced,
        leader_id=value.leader,
        generations=value.generation - history.generation_id,
        was_followup_due=history.is_followup_due,
        partition_counts=dict(history.partition_counts),
    )


def _go_on(old: Member, new: Member, at_ms: int, story: Story) -> None:
    """A member of the generation before stays, perhaps with other timeouts or topics."""
    new.since_ms, new.commits, new.recorded_at_ms = old.since_ms, old.commits, old.recorded_at_ms
    if old.terms != new.terms:
        story.emit(makers.member_updated(at_ms, new, new.terms))


def _take_terms(value: GroupMetadataValue, history: History) -> None:
    history.generation_id = value.generation
    history.protocol_type = value.protocol_type or None
    history.protocol_name = value.protocol
    history.leader_id = value.leader


def _take_members(members: Sequence[Member], history: History) -> None:
    history.members = {member.member_id: member for member in members}
    for member in members:
        for topic, numbers in member.held.items():
            if numbers:
                history.partition_counts[topic] = max(history.partition_counts.get(topic, 0), max(numbers) + 1)


def _emit_assigned(value: GroupMetadataValue, members: Sequence[Member], at_ms: int, story: Story) -> None:
    bytes_of = {one.member_id: one.assignment for one in value.members}
    for member in members:
        story.assigned(member, at_ms, value.generation, bytes_of[member.member_id])


def evidence_of(member: Member, gone_by_ms: int, history: History, *, is_exact: bool) -> Evidence:
    """The evidence of the records about a member that left a group that is classic now."""
    timeout_ms = member.rebalance_timeout_ms  # The oldest records have one for both.
    return Evidence(
        gone_by_ms=gone_by_ms,
        is_exact=is_exact,
        last_seen_ms=max(member.commits.last_ms or 0, member.recorded_at_ms),
        commits=member.commits,
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=timeout_ms if timeout_ms >= 0 else member.session_timeout_ms,
        is_static=member.group_instance_id is not None,
        others_commit_ms=history.last_commit_of_others_ms(member),
        group_session_ms=history.session_ms,
    )


def names_of(gone: Iterable[tuple[Member, Verdict]], *ends: EndCause) -> list[str]:
    """The names of those that went so."""
    return [member.name for member, verdict in gone if verdict.end_cause in ends]


def _member(one: ClassicMember, value: GroupMetadataValue, at_ms: int, history: History) -> Member:
    """A member as a record has it; of another protocol type than consumer its bytes stay opaque."""
    topics: list[str] | None = None
    held: dict[str, list[int]] = {}
    if value.protocol_type == CONSUMER:
        try:
            subscription = decode_subscription(one.subscription)
            topics = sorted(subscription.topics)
            for partition in decode_assignment(one.assignment).partitions if one.assignment else ():
                held.setdefault(partition.topic, []).append(partition.partition)
        except LayoutError:
            held = {}
    return Member(
        member_id=one.member_id,
        client_id=one.client_id,
        client_host=one.client_host,
        group_instance_id=one.group_instance_id,
        session_timeout_ms=one.session_timeout,
        rebalance_timeout_ms=one.rebalance_timeout,
        topics=topics,
        is_classic=True,
        since_ms=at_ms,
        recorded_at_ms=at_ms,
        held=held,
    )
