"""A consumer group's creation, its epochs and its state, and how it is loaded after a failover.

Knows how the epoch rises and how the state follows from epochs and members; knows no API. Source: ConsumerGroup,
GroupMetadataManager.onLoaded.
"""

from __future__ import annotations

from collections.abc import Sequence

from rollcall.coordinator_udfs.protocol.claims import CONSUMER
from rollcall.coordinator_udfs.protocol.consumer import history
from rollcall.coordinator_udfs.protocol.consumer.deadlines import arm, arm_session
from rollcall.coordinator_udfs.protocol.consumer.group import FIRST_EPOCH, ConsumerGroup, ConsumerMember
from rollcall.coordinator_udfs.protocol.consumer.states import ConsumerGroupState, MemberState, MemberTimer
from rollcall.coordinator_udfs.protocol.consumer.subscription import existing_topics, subscribed_topics
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.history import Gone, rebalance_ended, rebalance_started
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas import makers
from rollcall.schemas.causes import Cause

_NAMES_A_UNIT = 4
"""How many topic names are compared in about a microsecond."""


def become_consumer_group(group: Group, generation_id: int = FIRST_EPOCH) -> ConsumerGroup:
    """Puts the group under the newer protocol, without members; generation_id is its epoch and its target's."""
    group.generation_id = generation_id
    group.protocol_type, group.protocol_name, group.leader_id = CONSUMER, None, None
    group.subscribed_topics = None
    group.consumer = ConsumerGroup(target_epoch=generation_id)
    group.held_at_most = None
    return group.consumer


def learn_topics(consumer: ConsumerGroup, turn: Turn) -> None:
    """Uses the topics that a request brought, if one did, for this turn."""
    if consumer.cluster is not None:
        turn.topics, turn.topics_version = consumer.cluster, consumer.cluster_version


def look_at_topics(group: Group, consumer: ConsumerGroup, turn: Turn) -> bool:
    """Checks which of the subscribed topics exist and how many partitions they have; True if that has changed."""
    topics = existing_topics(consumer, turn.topics)
    consumer.missing = tuple(sorted(subscribed_topics(consumer) - topics.keys()))
    names = sum(map(len, consumer.patterns.values())) + len(topics) + len(consumer.missing)
    group.work += names // _NAMES_A_UNIT
    consumer.note_looked_at(turn.topics)
    if topics == consumer.topics:
        return False
    consumer.topics = topics
    history.topics_seen(consumer, turn)
    return True


def raise_epoch(
    group: Group,
    consumer: ConsumerGroup,
    cause: Cause,
    turn: Turn,
    *,
    joined: Sequence[ConsumerMember] = (),
    gone: Sequence[Gone] = (),
) -> None:
    """Begins the rebalance of the next epoch, which supersedes one under way; a new target is due."""
    members_before = len(consumer.members) - len(joined) + len(gone)
    rebalance_ended(group, "superseded", turn, members_before)
    rebalance_started(group, cause, consumer.state, turn, members_before=members_before, joined=joined, gone=gone)
    group.generation_id += 1


def update_state(group: Group, consumer: ConsumerGroup, turn: Turn) -> None:
    """Emits the state if it has changed; Stable and Empty end the rebalance under way."""
    state = state_of(group, consumer)
    if state is not consumer.state:
        turn.emit(makers.state_changed(turn.now_ms, group, consumer.state, state))
        consumer.state = state
    match state:
        case ConsumerGroupState.EMPTY:
            rebalance_ended(group, "empty", turn, 0)
        case ConsumerGroupState.STABLE:
            rebalance_ended(group, "completed", turn, len(consumer.members))
        case ConsumerGroupState.ASSIGNING | ConsumerGroupState.RECONCILING:
            pass


def state_of(group: Group, consumer: ConsumerGroup) -> ConsumerGroupState:
    """The state that follows from epochs and members; a static member that is away keeps a group from Stable."""
    if not consumer.members:
        return ConsumerGroupState.EMPTY
    if group.generation_id > consumer.target_epoch:
        return ConsumerGroupState.ASSIGNING
    if all(member.is_reconciled_to(consumer.target_epoch) for member in consumer.members.values()):
        return ConsumerGroupState.STABLE
    return ConsumerGroupState.RECONCILING


def load_consumer_group(group: Group, consumer: ConsumerGroup, turn: Turn) -> None:
    """Gives every member, of either protocol, the group's session timeout to find the new coordinator.

    A member that must give partitions up has its whole rebalance timeout again. Join and sync timers are not restored.
    """
    for member in consumer.members.values():
        member.timers.clear()
        arm_session(group, member, turn.consumer.session_timeout_ms, turn)
        if member.state is MemberState.UNREVOKED and not member.is_away:
            arm(group, member, MemberTimer.REBALANCE, member.rebalance_timeout_ms, turn)
    consumer.note_looked_at(None)
