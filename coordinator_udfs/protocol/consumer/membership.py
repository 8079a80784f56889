"""What a member says of itself, by a heartbeat or by a classic JoinGroup, and what the group makes of it.

Knows the steps that both have in common, in Kafka's order; knows no API's checks and no answer. Source:
GroupMetadataManager.consumerGroupHeartbeat, classicGroupJoinToConsumerGroup, getOrMaybeSubscribeStaticConsumerMember.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

from coordinator_udfs.protocol.consumer import history
from coordinator_udfs.protocol.consumer.deadlines import arm, keep_alive
from coordinator_udfs.protocol.consumer.group import NEW_EPOCH, ClassicMember, ConsumerGroup, ConsumerMember
from coordinator_udfs.protocol.consumer.lifecycle import look_at_topics, raise_epoch
from coordinator_udfs.protocol.consumer.reconciliation import Said, reconcile
from coordinator_udfs.protocol.consumer.regex import change_pattern, forget_unused_patterns
from coordinator_udfs.protocol.consumer.states import MemberState, MemberTimer
from coordinator_udfs.protocol.consumer.target import maybe_assign
from coordinator_udfs.protocol.group import Group
from coordinator_udfs.protocol.turn import Turn
from schemas.causes import Cause, CauseKind, EndCause


@dataclass(frozen=True, slots=True)
class Word:
    """What one request says of its member; None (and -1 for the rebalance timeout) means: as it was."""

    client_id: str
    client_host: str
    instance_id: str | None
    rack_id: str | None
    rebalance_timeout_ms: int
    topics: list[str] | None
    pattern: str | None
    server_assignor: str | None
    classic: ClassicMember | None
    owned: Said | None


def enter(
    group: Group, consumer: ConsumerGroup, member_id: str, instance_id: str | None, turn: Turn
) -> tuple[ConsumerMember, ConsumerMember | None]:
    """The member of this id, made if there is none; beside it the one whose place it takes by its instance id."""
    old_id = consumer.static_member_id(instance_id)
    if old_id is not None and (old_id != member_id or consumer.members[old_id].is_away):
        return _replace(group, consumer, consumer.members[old_id], member_id, turn)
    member = consumer.members.get(member_id)
    if member is None:
        member = ConsumerMember(member_id, "", "", joined_at_ms=turn.now_ms)
        consumer.add(member)
    if member.is_away:
        member.member_epoch = NEW_EPOCH
    return member, None


def _replace(
    group: Group, consumer: ConsumerGroup, old: ConsumerMember, member_id: str, turn: Turn
) -> tuple[ConsumerMember, ConsumerMember]:
    """A new id takes a static member's place: subscription, target and partitions go over, epoch and timers do not.

    A dynamic member of that id gives its own place up.
    """
    former = consumer.members.get(member_id)
    if former is not None and former is not old:
        group.note_gone(former, EndCause.MEMBER_LEFT)
        history.member_removed(group, former, EndCause.MEMBER_LEFT, turn)
        consumer.remove(member_id)
        forget_unused_patterns(consumer)
    history.member_removed(group, old, EndCause.STATIC_MEMBER_REPLACED, turn, replaced_by=member_id)
    assigned, pending = old.assigned, old.pending_revocation
    consumer.remove(old.member_id)
    member = copy(old)
    member.member_id, member.joined_at_ms = member_id, turn.now_ms
    member.member_epoch = member.previous_epoch = NEW_EPOCH
    member.session_deadline_ms, member.timers = None, {}
    member.assigned, member.pending_revocation = {}, {}
    consumer.add(member)
    consumer.own(member, assigned, pending)
    return member, old


def hear(
    group: Group,
    consumer: ConsumerGroup,
    member: ConsumerMember,
    word: Word,
    turn: Turn,
    *,
    is_new: bool,
    replaces: ConsumerMember | None,
) -> bool:
    """Takes a request's word, raises the epoch if that or the topics ask for it, assigns, and takes the member on.

    Returns whether the group's regular expressions are to be resolved once the request is answered.
    """
    terms, subscription = history.terms_of(member, turn.config.consumer), history.subscription_of(member)
    had_classic = member.classic is not None
    has_new_topics = _update(consumer, member, word)
    change = change_pattern(consumer, member, word.pattern, turn)
    consumer.note_said(member)
    if is_new or replaces is not None:
        history.member_joined(member, turn, None if replaces is None else replaces.member_id)
    else:
        if terms != history.terms_of(member, turn.config.consumer):
            history.member_updated(member, turn)
        if subscription != history.subscription_of(member):
            history.member_subscribed(member, turn)
    if replaces is not None and replaces.owned():
        history.note_assigned(member, turn)
    is_other = has_new_topics or change.is_resolved
    has_other_topics = (is_other or not consumer.has_seen(turn.topics)) and look_at_topics(group, consumer, turn)
    if is_other:
        joined = [member] if is_new else []
        raise_epoch(group, consumer, history.cause_by(_kind(is_new, replaces), member), turn, joined=joined)
    else:
        if is_new:
            history.note_newcomer(group, member)
        if has_other_topics:
            raise_epoch(group, consumer, Cause(kind=CauseKind.METADATA_CHANGED), turn)
    maybe_assign(group, consumer, member, turn)
    reconcile(group, consumer, member, word.owned, turn, is_forced=has_new_topics or change.is_changed)
    if had_classic != (member.classic is not None):
        _change_timers(group, member, turn)
    if is_new or replaces is not None:
        consumer.table.put(member.member_id)
        consumer.table.put(member.member_id)
    keep_alive(group, member, turn)
    return change.is_due


def _change_timers(group: Group, member: ConsumerMember, turn: Turn) -> None:
    """A member speaks the other protocol now: the timers of the one it spoke stop, and it may not hold others up."""
    member.timers = {}
    if member.classic is None and member.state is MemberState.UNREVOKED:
        arm(group, member, MemberTimer.REBALANCE, member.rebalance_timeout_ms, turn)


def _kind(is_new: bool, replaces: ConsumerMember | None) -> CauseKind:
    if is_new:
        return CauseKind.MEMBER_JOINED
    return CauseKind.SUBSCRIPTION_CHANGED if replaces is None else CauseKind.STATIC_MEMBER_REPLACED


def _update(consumer: ConsumerGroup, member: ConsumerMember, word: Word) -> bool:
    """Takes over what the request says, the expression apart; True if the set of names is another one."""
    member.client_id, member.client_host = word.client_id, word.client_host
    member.classic = word.classic
    if word.instance_id is not None and word.instance_id != member.instance_id:
        consumer.name_static(member, word.instance_id)
    if word.rack_id is not None:
        member.rack_id = word.rack_id
    if word.rebalance_timeout_ms != -1:
        member.rebalance_timeout_ms = word.rebalance_timeout_ms
    if word.server_assignor is not None:
        member.server_assignor = word.server_assignor
    before = member.topics
    if word.topics is not None:
        member.topics = tuple(sorted(set(word.topics)))
    return member.topics != before
