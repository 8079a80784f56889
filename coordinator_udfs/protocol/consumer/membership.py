"""Applies the fields of a member's heartbeat or classic JoinGroup to its group.

Knows the steps that both have in common, in Kafka's order; knows no API's checks and no answer. Source:
GroupMetadataManager.consumerGroupHeartbeat, classicGroupJoinToConsumerGroup, getOrMaybeSubscribeStaticConsumerMember.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

from rollcall.coordinator_udfs.protocol.consumer import history
from rollcall.coordinator_udfs.protocol.consumer.deadlines import arm, is_of_another_session, keep_alive
from rollcall.coordinator_udfs.protocol.consumer.group import NEW_EPOCH, ClassicMember, ConsumerGroup, ConsumerMember
from rollcall.coordinator_udfs.protocol.consumer.lifecycle import look_at_topics, raise_epoch
from rollcall.coordinator_udfs.protocol.consumer.reconciliation import Claimed, reconcile
from rollcall.coordinator_udfs.protocol.consumer.regex import change_pattern, forget_unused_patterns
from rollcall.coordinator_udfs.protocol.consumer.states import MemberState, MemberTimer
from rollcall.coordinator_udfs.protocol.consumer.target import maybe_assign, preferred_assignor
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.history import Gone, member_removed, note_newcomer
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas import makers
from rollcall.schemas.causes import Cause, CauseKind, EndCause


@dataclass(frozen=True, slots=True)
class MemberFields:
    """The fields of one request; None (and -1 for the rebalance timeout) means unchanged."""

    client_id: str
    client_host: str
    instance_id: str | None
    rack_id: str | None
    rebalance_timeout_ms: int
    topics: list[str] | None
    pattern: str | None
    server_assignor: str | None
    classic: ClassicMember | None
    owned: Claimed | None
    inferred_cause: str | None = None
    """Why the member sends it, as a recording shows; None: it follows from the other fields."""


def enter(
    group: Group, consumer: ConsumerGroup, member_id: str, instance_id: str | None, turn: Turn
) -> tuple[ConsumerMember, ConsumerMember | None]:
    """The member of this id, created if there is none, and the static member that it replaces."""
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

    A dynamic member that had the new id is removed.
    """
    former = consumer.members.get(member_id)
    if former is not None and former is not old:
        group.note_gone(former, EndCause.MEMBER_LEFT)
        member_removed(group, Gone(former, EndCause.MEMBER_LEFT), turn)
        consumer.remove(member_id)
        forget_unused_patterns(consumer)
    member_removed(group, Gone(old, EndCause.STATIC_MEMBER_REPLACED, replaced_by=member_id), turn)
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


def apply_fields(
    group: Group,
    consumer: ConsumerGroup,
    member: ConsumerMember,
    given: MemberFields,
    turn: Turn,
    *,
    is_new: bool,
    replaces: ConsumerMember | None,
    unfinished: Cause | None = None,
) -> bool:
    """Applies a request's fields, raises the epoch if they or the topics ask for it, assigns, reconciles the member.

    unfinished: the cause of a rebalance that an upgrade has broken off, which raises the epoch on its own if necessary.
    Returns whether the group's regular expressions are to be resolved once the request is answered.
    """
    terms_before = None if is_of_another_session(member, turn) else history.terms_of(member, turn.consumer)
    subscription_before = history.subscription_of(member)
    had_classic, had_subscription = member.classic is not None, member.is_subscribed
    # A recording found this member without its subscription, which now comes for the first time: nothing has changed.
    is_coming = is_new or (replaces is None and _is_coming(member, turn))
    is_learnt = turn.config.is_of_a_recording and not (is_coming or had_subscription)
    wanted = preferred_assignor(consumer, turn.consumer) if _votes_anew(member, given, turn) else None
    has_new_topics = _update(consumer, member, given)
    change = change_pattern(consumer, member, given.pattern, turn)
    member.has_unsubscribed |= had_subscription and not member.is_subscribed
    consumer.note_changed(member)
    if is_new or replaces is not None:
        history.member_joined(member, turn, None if replaces is None else replaces.member_id)
    else:
        if (terms := history.terms_of(member, turn.consumer)) != terms_before:
            turn.emit(makers.member_updated(turn.now_ms, member, terms))
        if history.subscription_of(member) != subscription_before:
            history.member_subscribed(member, turn)
    if replaces is not None and replaces.owned():
        history.note_assigned(member, turn)
    has_other_assignor = wanted is not None and wanted != preferred_assignor(consumer, turn.consumer, member)
    is_other = (has_new_topics and not is_learnt) or change.is_resolved or has_other_assignor
    is_seen = not (has_new_topics or is_other) and consumer.has_seen(turn.topics)
    has_other_topics = not is_seen and look_at_topics(group, consumer, turn)
    cause = unfinished
    if is_other:
        if is_coming and not is_new and group.rebalance is not None and member.name in group.rebalance.joined:
            group.rebalance.joined.remove(member.name)
        cause = makers.cause_by(CauseKind(given.inferred_cause or _kind(is_coming, replaces)), member)
        cause.is_inferred = given.inferred_cause is not None
    elif has_other_topics and not is_learnt:
        cause = Cause(kind=CauseKind.METADATA_CHANGED, is_inferred=given.inferred_cause is not None)
    if is_new and not is_other:
        note_newcomer(group, member)
    if cause is not None:
        raise_epoch(group, consumer, cause, turn, joined=[member] if is_other and is_coming else [])
    maybe_assign(group, consumer, member, turn)
    reconcile(group, consumer, member, given.owned, turn, is_forced=has_new_topics or change.is_changed)
    _change_timers(group, member, turn, had_classic=had_classic)
    if is_new or replaces is not None:
        for _ in range(2):  # As Kafka does: its table may grow at either.
            consumer.table.put(member.member_id)
    keep_alive(group, member, turn)
    return change.is_due


def _votes_anew(member: ConsumerMember, given: MemberFields, turn: Turn) -> bool:
    """Whether the member asks for another assignor than before, and votes may raise the epoch."""
    if not turn.config.kafka.is_epoch_raised_by_votes or given.server_assignor in (None, member.server_assignor):
        return False
    # Nobody knows how a member voted that a recording found.
    is_found = turn.config.is_of_a_recording and not member.joined_at_ms
    return not is_found or member.server_assignor is not None


def _change_timers(group: Group, member: ConsumerMember, turn: Turn, *, had_classic: bool) -> None:
    """A member that now uses the other protocol: the timers of its earlier one stop, and it must not delay others."""
    if had_classic == (member.classic is not None):
        return
    member.timers = {}
    if member.classic is None and member.state is MemberState.UNREVOKED:
        arm(group, member, MemberTimer.REBALANCE, member.rebalance_timeout_ms, turn)


def _is_coming(member: ConsumerMember, turn: Turn) -> bool:
    """Whether it has joined without a subscription and sends its first one: a client that subscribes by a pattern joins
    before it knows the topics. What that sets off is set off by its coming, and by nothing that it changed.
    """
    has_come = member.is_subscribed or member.has_unsubscribed
    return not has_come and turn.now_ms - member.joined_at_ms <= turn.consumer.heartbeat_interval_ms


def _kind(is_coming: bool, replaces: ConsumerMember | None) -> CauseKind:
    if is_coming:
        return CauseKind.MEMBER_JOINED
    return CauseKind.SUBSCRIPTION_CHANGED if replaces is None else CauseKind.STATIC_MEMBER_REPLACED


def _update(consumer: ConsumerGroup, member: ConsumerMember, given: MemberFields) -> bool:
    """Takes over the request's fields except the expression; True if the set of names has changed."""
    member.client_id, member.client_host = given.client_id, given.client_host
    member.classic = given.classic
    if given.instance_id is not None and given.instance_id != member.instance_id:
        consumer.name_static(member, given.instance_id)
    if given.rack_id is not None:
        member.rack_id = given.rack_id
    if given.rebalance_timeout_ms != -1:
        member.rebalance_timeout_ms = given.rebalance_timeout_ms
    if given.server_assignor is not None:
        member.server_assignor = given.server_assignor
    before = member.topics
    if given.topics is not None:
        member.topics = tuple(sorted(set(given.topics)))
    return member.topics != before
