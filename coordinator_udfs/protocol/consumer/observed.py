"""Brings a member of a consumer group, and its group, to the state that a recorded answer shows.

For a group that is older than its recording, and for lost lines. Knows how a member comes to get its assignment; must
not know what proves it.
"""

from __future__ import annotations

from collections.abc import Sequence

from rollcall.coordinator_udfs.protocol.consumer import history
from rollcall.coordinator_udfs.protocol.consumer.conversion import upgrade
from rollcall.coordinator_udfs.protocol.consumer.deadlines import arm_session, keep_alive, session_timeout_ms
from rollcall.coordinator_udfs.protocol.consumer.fencing import remove_members
from rollcall.coordinator_udfs.protocol.consumer.group import ClassicMember, ConsumerGroup, ConsumerMember, Owned
from rollcall.coordinator_udfs.protocol.consumer.lifecycle import (
    become_consumer_group,
    learn_topics,
    look_at_topics,
    raise_epoch,
    update_state,
)
from rollcall.coordinator_udfs.protocol.consumer.states import GroupType, MemberState
from rollcall.coordinator_udfs.protocol.deadlines import note_deadline
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.group_configs import consumer_config_of
from rollcall.coordinator_udfs.protocol.history import Gone, member_removed, rebalance_ended
from rollcall.coordinator_udfs.protocol.rebalance import end_timers
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas import makers
from rollcall.schemas.causes import Cause, CauseKind, EndCause, cause_of_end
from rollcall.schemas.messages import GoneMember, ObservedConsumer

REBALANCE_TIMEOUT_MS = 300_000
"""For a member whose own timeout is not known: the clients' default."""
JOINED_BEFORE = 0
"""When a member joined that is found: before the recording, or without a line."""
_INTERVALS = 2
"""An epoch without a target is answered to nobody, for no more than this many assignment intervals."""


def see_consumer(group: Group, seen: ObservedConsumer, turn: Turn) -> None:
    """Makes it a consumer group of at least the recorded epoch, in which the member's next step leads to its recorded
    answer."""
    consumer = group.consumer
    if consumer is None and group.members:
        upgraded = upgrade(group, seen.client_id, turn)
        consumer = None if isinstance(upgraded, str) else upgraded
    if consumer is None:
        # The bytes of classic members are not known: each is found again by its own next answer, as a new member.
        for known in list(group.members.values()):
            group.remove(known.member_id)
            member_removed(group, Gone(known, EndCause.UNKNOWN, is_inferred=True), turn)
        if group.rebalance is not None and seen.answered_epoch <= group.rebalance.from_generation_id:
            rebalance_ended(group, "superseded", turn)
        end_timers(group)
        # Generations only rise: a lower epoch is that of a group begun anew when the known one was Empty.
        is_anew = group.is_known and seen.answered_epoch < group.generation_id
        from_type, why = (GroupType.CLASSIC, "replaced") if is_anew else (None, "observed")
        consumer = become_consumer_group(group, seen.answered_epoch)
        history.type_changed(group, from_type, why, turn, seen.client_id)
    elif seen.answered_epoch > group.generation_id:
        raise_epoch(group, consumer, Cause(kind=CauseKind.UNKNOWN, is_inferred=True), turn)
        group.generation_id = seen.answered_epoch
    elif _never_rose(group, consumer, seen, turn):
        rebalance_ended(group, "superseded", turn)
        group.generation_id = seen.answered_epoch
    consumer.target_epoch = group.generation_id
    member = _member(consumer, seen, turn)
    given = seen.answered_partitions or {}
    if seen.topics is not None:
        member.topics = tuple(sorted(set(seen.topics)))
    elif not member.pattern:
        member.topics = tuple(sorted({*member.topics, *given}))
    if seen.pattern is not None:
        consumer.set_pattern(member, seen.pattern)
    consumer.note_changed(member)
    _learn_topics(group, consumer, given, turn)
    owned_before = member.owned()
    member.member_epoch = member.previous_epoch = seen.member_epoch
    member.state = _place(consumer, member, seen, turn)
    wanted = member.owned() if seen.answered_partitions is None else given
    member.target = {topic: tuple(sorted(partitions)) for topic, partitions in wanted.items() if partitions}
    if member.owned() != owned_before:
        history.note_assigned(member, turn)
    keep_alive(group, member, turn)
    update_state(group, consumer, turn)


def _never_rose(group: Group, consumer: ConsumerGroup, seen: ObservedConsumer, turn: Turn) -> bool:
    """Whether the epoch never rose: by now its sender, with nothing to give up, would
    have been answered with a higher one, and nobody was.
    """
    sender, rebalance = consumer.members.get(seen.member_id), group.rebalance
    if rebalance is None or sender is None or sender.pending_revocation or seen.answered_partitions is not None:
        return False
    if turn.now_ms - rebalance.started_at_ms <= _INTERVALS * turn.consumer.assignment_interval_ms:
        return False
    return all(member.member_epoch <= seen.answered_epoch < group.generation_id for member in consumer.members.values())


def _member(consumer: ConsumerGroup, seen: ObservedConsumer, turn: Turn) -> ConsumerMember:
    member = consumer.members.get(seen.member_id)
    if member is None:
        member = ConsumerMember(
            seen.member_id,
            seen.client_id,
            seen.client_host,
            joined_at_ms=JOINED_BEFORE,
            instance_id=seen.instance_id,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS if seen.rebalance_timeout_ms < 0 else seen.rebalance_timeout_ms,
        )
        if seen.protocols:
            protocols = {protocol.name: protocol.metadata for protocol in seen.protocols}
            member.classic = ClassicMember(seen.session_timeout_ms, protocols)
        consumer.add(member)
        consumer.table.put(member.member_id)
        history.member_joined(member, turn)
    elif seen.instance_id is not None and seen.instance_id != member.instance_id:
        consumer.name_static(member, seen.instance_id)
    return member


def _learn_topics(group: Group, consumer: ConsumerGroup, given: dict[str, list[int]], turn: Turn) -> None:
    """Adds the topics that a member is given. Newly known topics do not set off a rebalance."""
    known = consumer.cluster or {}
    shown = {topic: max(known.get(topic, 0), *(p + 1 for p in partitions), 0) for topic, partitions in given.items()}
    consumer.learn_cluster(known | shown, {})
    learn_topics(consumer, turn)
    look_at_topics(group, consumer, turn)


def _place(consumer: ConsumerGroup, member: ConsumerMember, seen: ObservedConsumer, turn: Turn) -> MemberState:
    """Sets what the member owns before the answer, and the state from which its next step leads to it. A member behind
    the target's epoch keeps what it has, as one that must still give something up. Its partitions are removed from
    other members.
    """
    is_behind = seen.answered_epoch < consumer.target_epoch
    if seen.answered_partitions is None:
        return MemberState.UNREVOKED if is_behind or seen.is_to_rejoin else MemberState.STABLE
    given = {t: dict.fromkeys(ps, seen.answered_epoch) for t, ps in seen.answered_partitions.items() if ps}
    for other in list(consumer.members.values()):
        owned_before = other.owned()
        consumer.own(other, _without(other.assigned, seen), _without(other.pending_revocation, seen))
        if other is not member:
            other.target = {
                t: tuple(p for p in ps if p not in given.get(t, {})) for t, ps in (other.target or {}).items()
            }
            if other.owned() != owned_before:
                history.note_assigned(other, turn)
    if is_behind:
        consumer.own(member, given, {})
        return MemberState.UNREVOKED
    if member.classic is not None:
        # A SyncGroup's answer is what its member has by now, and no step of it.
        consumer.own(member, given, member.pending_revocation)
        return MemberState.UNREVOKED if member.pending_revocation else MemberState.STABLE
    consumer.own(member, {}, {})
    return MemberState.UNRELEASED


def _without(owned: Owned, seen: ObservedConsumer) -> Owned:
    given = seen.answered_partitions or {}
    left = {topic: {p: at for p, at in ps.items() if p not in given.get(topic, ())} for topic, ps in owned.items()}
    return {topic: partitions for topic, partitions in left.items() if partitions}


def see_consumers_gone(group: Group, consumer: ConsumerGroup, gone: list[GoneMember], turn: Turn) -> None:
    """Removes members as their session timers would."""
    for identity in gone:
        member = consumer.members.get(identity.member_id)
        if member is not None and group.consumer is consumer:
            removed = Gone(member, EndCause(identity.end_cause), is_inferred=True)
            cause = makers.cause_by(cause_of_end(removed.end_cause), member, is_inferred=True)
            remove_members(group, consumer, [removed], cause, turn)


def see_alive(group: Group, consumer: ConsumerGroup, member_ids: Sequence[str], turn: Turn) -> None:
    """Starts the sessions of these members anew without a request: they have not expired."""
    for member_id in member_ids:
        member = consumer.members.get(member_id)
        if member is not None:
            arm_session(group, member, session_timeout_ms(member, turn.consumer), turn)


def see_sessions(group: Group, consumer: ConsumerGroup, turn: Turn) -> None:
    """Corrects the length of running sessions: they end that long after the last heartbeat."""
    config = consumer_config_of(group.configs, turn.config.consumer)
    session_ms = config.session_timeout_ms
    for member in consumer.members.values():
        if member.classic is None and member.session_length_ms != session_ms:
            turn.emit(makers.member_updated(turn.now_ms, member, history.terms_of(member, config)))
            arm_session(group, member, session_ms, turn)
            member.session_deadline_ms = max(turn.now_ms + 1, member.last_seen_at_ms + session_ms)
            note_deadline(group, member.session_deadline_ms)
