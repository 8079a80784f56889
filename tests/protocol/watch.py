"""What must hold of a group of either protocol after every call of the core, whatever was asked.

`Watch` retells the group from its effects alone (its kind and generation, who is a member, who owns which partition,
what is parked, which rebalance runs, which offsets are stored) and compares; `assert_sound` needs the group only. Knows
the shapes of group and effects; must not know how a request is handled.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import msgspec

from rollcall.coordinator_udfs.protocol import history
from rollcall.coordinator_udfs.protocol.consumer.group import ConsumerGroup
from rollcall.coordinator_udfs.protocol.consumer.states import ConsumerGroupState, GroupType, MemberState, MemberTimer
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.schemas import consumer_effects as ce
from rollcall.schemas import effects as e
from rollcall.schemas.messages import StreamRequest
from tests.protocol.play import Call, compared

PREPARING, COMPLETING = GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE

Terms = tuple[int, int, list[str] | None]
Partition = tuple[str, int]


def _terms(effect: e.MemberJoined | e.MemberUpdated) -> Terms:
    return effect.session_timeout_ms, effect.rebalance_timeout_ms, effect.topics


def deadlines(group: Group) -> list[int]:
    """Every deadline of a group and of everything it owns."""
    found = [group.join_deadline_ms, group.sync_deadline_ms, group.sweep_deadline_ms]
    consumers = group.consumer.members.values() if group.consumer else ()
    for members in (group.members.values(), consumers, group.pending.values()):
        found += [member.session_deadline_ms for member in members]
    found += [armed.deadline_ms for member in consumers for armed in member.timers.values()]
    return [deadline_ms for deadline_ms in found if deadline_ms is not None]


def assert_sound(group: Group) -> None:
    """All that holds of a group at any moment between two calls."""
    if not group.is_known:
        kept = {name: getattr(group, name) for name in ("configs", "updated_at_ms", "held_at_most")}
        assert compared(group) == Group(group.group_id, **kept)
    assert group.held_at_most is None or group.held_at_most >= group.held_bytes
    assert (group.next_due_ms is not None) == group.is_known
    if group.next_due_ms is not None:
        assert group.next_due_ms <= min(deadlines(group))
    if group.consumer is not None:
        _assert_consumers_sound(group, group.consumer)
        _assert_owners_sound(group.consumer)
        return
    _assert_members_sound(group)
    _assert_indexes_sound(group)
    _assert_timers_sound(group)
    assert (group.rebalance is not None) == (group.state in (PREPARING, COMPLETING))


def _assert_members_sound(group: Group) -> None:
    members = group.members
    assert (group.leader_id is not None) == bool(members)
    assert group.leader_id is None or group.leader_id in members
    assert not (group.state is GroupState.EMPTY and members)
    assert members or group.state in (GroupState.EMPTY, PREPARING)
    assert not members.keys() & group.pending.keys()
    for member_id, member in members.items():
        assert member.member_id == member_id
        assert member.parked_join is None or group.state is PREPARING
        assert member.parked_sync is None or group.state is COMPLETING
        assert member.parked_sync is None or member_id not in group.pending_sync
        assert not member.is_new or member.parked_join is not None
        assert member.last_seen_at_ms <= group.updated_at_ms
        # What stands nowhere can never expire: without a session timer, an answer that is owed restarts it.
        assert member.session_deadline_ms is not None or member.has_satisfied_heartbeat
    for member_id, pending in group.pending.items():
        assert pending.member_id == member_id


def _assert_indexes_sound(group: Group) -> None:
    members = group.members.values()
    assert group.awaiting_join_count == sum(member.parked_join is not None for member in members)
    support = Counter(name for member in members for name in member.protocols)
    assert {name: count for name, count in group._support.items() if count} == dict(support)
    assert group.held_bytes == group.copy().held_bytes, "counted as members came and went, and counted anew"
    assert group._static == {m.group_instance_id: m.member_id for m in members if m.group_instance_id is not None}
    if members:
        assert any(group.is_supported_by_all(name) for name in support)


def _assert_timers_sound(group: Group) -> None:
    """No deadline outlives what it is for, and nothing that needs one lacks it."""
    assert (group.sweep_deadline_ms is not None) == group.is_known
    assert (group.join_deadline_ms is not None) == (group.state is PREPARING)
    assert group.initial_delay_left_ms is None or group.previous_state is GroupState.EMPTY
    assert group.initial_delay_left_ms is None or group.join_deadline_ms is not None
    assert group.sync_deadline_ms is None or group.state in (COMPLETING, GroupState.STABLE)
    assert (group.sync_deadline_ms is not None) == bool(group.pending_sync)


def _assert_consumers_sound(group: Group, consumer: ConsumerGroup) -> None:
    assert not group.members
    assert (group.join_deadline_ms, group.sync_deadline_ms) == (None, None)
    is_at_target = consumer.state in (ConsumerGroupState.EMPTY, ConsumerGroupState.STABLE)
    assert not (is_at_target and group.rebalance is not None)
    assert 1 <= consumer.target_epoch <= group.generation_id
    for member_id, member in consumer.members.items():
        assert member.member_id == member_id
        # Only a classic client in the place of who was away may have something to give up before its first epoch.
        least = 0 if member.classic is not None and member.state is MemberState.UNREVOKED else 1
        assert member.is_away or least <= member.member_epoch <= consumer.target_epoch
        if member.state is MemberState.UNREVOKED and not member.is_away:
            assert member.pending_revocation
            assert member.classic is not None or MemberTimer.REBALANCE in member.timers
        else:
            assert not member.pending_revocation
            assert MemberTimer.REBALANCE not in member.timers
        assert member.session_deadline_ms is not None
        assert not (member.classic and member.pattern)
        assert consumer.static_member_id(member.instance_id) in (None, member_id)


def _assert_owners_sound(consumer: ConsumerGroup) -> None:
    """No partition has two owners, and what is looked up is what the members have."""
    owners: dict[Partition, str] = {}
    for member_id, member in consumer.members.items():
        for topic, partitions in (*member.assigned.items(), *member.pending_revocation.items()):
            assert partitions
            for partition in partitions:
                assert (topic, partition) not in owners, "owned twice"
                owners[topic, partition] = member_id
                assert consumer.owner_of(topic, partition) == member_id
        assert {(topic, p) for topic, ps in member.owned().items() for p in ps} == {
            key for key, owner in owners.items() if owner == member_id
        }
    assert {(topic, p) for topic, partitions in consumer._owners.items() for p in partitions} == owners.keys()
    anew = consumer.copy()
    assert consumer.held_bytes == anew.held_bytes, "counted as members came and went, and counted anew"
    assert consumer.named_topics == anew.named_topics, "the same"
    assert sorted(consumer.table) == sorted(consumer.members)
    assert consumer.patterns_in_use == Counter(one.pattern for one in consumer.members.values() if one.pattern)
    assert consumer.patterns.keys() <= consumer.patterns_in_use.keys()


@dataclass(slots=True)
class Watch:
    """Follows a group from call to call.

    kind: None while the group is unknown. is_converted: it was under the newer protocol, whose members go on under the
    older one. unanswered: how often each request id still awaits its answer. has_repeats: a request has arrived more
    than once; only then may an id come back that was a member's.
    """

    kind: str | None = None
    is_converted: bool = False
    generation_id: int = 0
    state: str = GroupState.EMPTY
    now_ms: int = 0
    members: dict[str, e.MemberJoined] = field(default_factory=dict)
    terms: dict[str, Terms] = field(default_factory=dict)
    ever_members: set[str] = field(default_factory=set)
    has_repeats: bool = False
    pending: set[str] = field(default_factory=set)
    unanswered: Counter[str] = field(default_factory=Counter)
    rebalance: e.RebalanceStarted | None = None
    assigned: dict[str, e.Assigned] = field(default_factory=dict)
    subscribed: dict[str, ce.MemberSubscribed] = field(default_factory=dict)
    offsets: dict[Partition, int] = field(default_factory=dict)
    timers: dict[str, int] = field(default_factory=dict)

    def __call__(self, group: Group, call: Call, effects: list[e.Effect]) -> None:
        """Follows one call and checks that group and story agree after it."""
        self._count_answers(call.request, effects)
        for effect in effects:
            assert self.now_ms <= effect.at_ms <= call.at_ms
            self.now_ms = effect.at_ms
            self._follow(effect)
        assert_sound(group)
        if call.request is None:
            assert all(deadline_ms > call.at_ms for deadline_ms in deadlines(group))
        self._assert_reported(group)

    def _count_answers(self, request: StreamRequest | None, effects: list[e.Effect]) -> None:
        """A request is answered once or parked once; what is answered later was parked before."""
        if request is not None:
            self.has_repeats |= request.request_id in self.unanswered
            self.unanswered[request.request_id] += 1
        for effect in effects:
            match effect:
                case e.Reply() | e.RequestDropped():
                    assert self.unanswered[effect.request_id] > 0
                    self.unanswered[effect.request_id] -= 1
                case e.RequestParked():
                    assert request is not None
                    assert effect.request_id == request.request_id
                    assert self.unanswered[effect.request_id] > 0

    def _follow(self, effect: e.Effect) -> None:
        match effect:
            case e.GroupCreated():
                assert self.kind is None
                self.kind, self.generation_id, self.state = GroupType.CLASSIC, 0, GroupState.EMPTY
            case e.GroupRemoved():
                assert self.kind is not None
                assert not self.members
                assert not self.offsets
                self.kind, self.generation_id, self.state, self.is_converted = None, 0, GroupState.EMPTY, False
                self.pending.clear()
            case ce.GroupTypeChanged(to_type=to_type, generation_id=generation_id):
                assert effect.from_type in (None, self.kind)
                assert to_type != self.kind
                began_anew = effect.why in ("created", "replaced")
                assert began_anew or self.kind == GroupType.CONSUMER or generation_id == max(self.generation_id, 1)
                assert began_anew == (not self.members)
                self.kind, self.generation_id, self.is_converted = to_type, generation_id, not began_anew
            case e.StateChanged(from_state=from_state, to_state=to_state, generation_id=generation_id):
                assert from_state == self.state
                if self.kind == GroupType.CLASSIC:
                    assert generation_id == self.generation_id + (from_state == PREPARING)
                self.state, self.generation_id = to_state, generation_id
            case e.RebalanceStarted() | e.RebalanceEnded() | e.JoinPhaseEnded() | e.JoinReceived() | e.SyncReceived():
                self._follow_rebalance(effect)
            case e.Reply() | e.RequestParked() | e.RequestDropped() | e.OffsetsCommitted() | e.OffsetsRemoved():
                self._follow_request(effect)
            case e.TimerArmed(timer=timer, length_ms=length_ms):
                assert length_ms > 0
                self.timers[timer] = effect.at_ms + length_ms
            case _:
                self._follow_member(effect)

    def _follow_request(self, effect: e.Effect) -> None:
        match effect:
            case e.Reply(received_at_ms=received_at_ms):
                assert received_at_ms <= effect.at_ms
            case e.RequestParked(member_id=member_id):
                assert member_id in self.members
            case e.OffsetsCommitted(offsets=offsets):
                self.offsets |= {(o.topic, o.partition): o.committed_offset for o in offsets}
            case e.OffsetsRemoved(offsets=offsets):
                for topic in offsets:
                    for partition in topic.partitions:
                        del self.offsets[topic.topic, partition]

    def _follow_rebalance(self, effect: e.Effect) -> None:
        match effect:
            case e.RebalanceStarted():
                assert self.rebalance is None
                assert effect.from_generation_id == self.generation_id
                assert effect.from_state == self.state
                assert effect.members_before is not None
                assert effect.members_before >= 0
                self.rebalance = effect
                self.generation_id += self.kind == GroupType.CONSUMER
            case e.RebalanceEnded(members_before=members_before, waits=waits):
                assert self.rebalance is not None
                started = self.rebalance
                assert (effect.cause, effect.started_at_ms) == (started.cause, started.at_ms)
                assert effect.from_generation_id == started.from_generation_id
                assert effect.to_generation_id == self.generation_id
                assert members_before is not None
                came = len(effect.joined) - len(effect.left) - len(effect.expired)
                assert effect.members_after == members_before + came
                for wait in waits:
                    assert wait.held_others_ms is not None
                    assert 0 <= wait.held_others_ms <= effect.at_ms - started.at_ms
                    assert wait.synced_at_ms is None or wait.joined_at_ms is not None
                assert members_before == started.members_before
                self.rebalance = None
            case e.JoinPhaseEnded():
                assert effect.member_ids == list(self.members)
                assert effect.leader_id in self.members
                assert effect.generation_id == self.generation_id
            case e.JoinReceived() | e.SyncReceived():
                assert effect.member_id in self.members
                assert self.rebalance is not None or self.state == GroupState.STABLE

    def _follow_member(self, effect: e.Effect) -> None:
        match effect:
            case e.MemberIdGiven(member_id=member_id):
                assert member_id not in self.members
                self.pending.add(member_id)
            case e.PendingMemberRemoved(member_id=member_id):
                self.pending.remove(member_id)
            case e.MemberJoined(member_id=member_id):
                assert member_id not in self.members
                # A consumer makes its own id, and may come back with it.
                assert member_id not in self.ever_members or self.has_repeats or self.kind == GroupType.CONSUMER
                self.pending.discard(member_id)
                self.members[member_id] = effect
                self.terms[member_id] = _terms(effect)
                self.ever_members.add(member_id)
            case e.MemberUpdated(member_id=member_id):
                assert _terms(effect) != self.terms[member_id]
                self.terms[member_id] = _terms(effect)
            case e.MemberRemoved(member_id=member_id):
                joined = self.members.pop(member_id)
                assert joined.client_id == effect.client_id
                if self.kind == GroupType.CLASSIC and not self.is_converted:
                    assert joined.group_instance_id == effect.group_instance_id, "a consumer may name one later"
                del self.terms[member_id]
                self.assigned.pop(member_id, None)
                self.subscribed.pop(member_id, None)
            case e.Assigned(member_id=member_id):
                assert member_id in self.members
                self.assigned[member_id] = effect
            case _:
                self._follow_consumer(effect)

    def _follow_consumer(self, effect: e.Effect) -> None:
        match effect:
            case ce.MemberSubscribed(member_id=member_id):
                assert member_id in self.members
                self.subscribed[member_id] = effect
            case ce.MemberProgressed(member_id=member_id):
                assert member_id in self.members
                assert effect.generation_id <= effect.target_epoch <= self.generation_id
            case ce.TargetAssigned():
                assert effect.generation_id == self.generation_id
            case ce.MemberLeftForNow(member_id=member_id):
                assert member_id in self.members
            case _:
                unfollowed = ce.TopicsSeen | ce.PatternsResolved | ce.GroupConfigsChanged
                assert isinstance(effect, unfollowed), f"nobody follows {msgspec.to_builtins(effect)}"

    def _assert_reported(self, group: Group) -> None:
        """Whoever read the effects only knows the group as it is."""
        assert (self.kind is not None) == group.is_known
        assert not group.is_known or self.kind == group.group_type
        assert (self.state, self.generation_id) == (group.shown_state, group.generation_id)
        assert self.members.keys() == group.roster.members.keys()
        assert self.pending == group.pending.keys()
        assert (self.rebalance is not None) == (group.rebalance is not None)
        assert self.offsets == {key: offset.committed_offset for key, offset in group.offsets.items()}
        parked = (request for m in group.members.values() for request in (m.parked_join, m.parked_sync))
        assert +self.unanswered == Counter(request.request_id for request in parked if request is not None)
        if group.consumer is None:
            self._assert_classic_reported(group)
        else:
            self._assert_consumers_reported(group.consumer)

    def _assert_timer_reported(self, timer: str, deadline_ms: int, now_ms: int) -> None:
        """One of length zero is not reported."""
        if deadline_ms == now_ms:
            self.timers[timer] = now_ms
        assert self.timers[timer] <= deadline_ms

    def _assert_classic_reported(self, group: Group) -> None:
        members = group.members.items()
        assert self.terms == {member_id: history.terms_of(group, member) for member_id, member in members}
        if group.state is PREPARING:
            assert group.join_deadline_ms is not None
            self._assert_timer_reported("join", group.join_deadline_ms, group.updated_at_ms)
        if group.sync_deadline_ms is not None:
            self._assert_timer_reported("sync", group.sync_deadline_ms, group.updated_at_ms)
        if group.state is GroupState.STABLE:
            assert {one: given.assignment for one, given in self.assigned.items()} == {
                member_id: member.assignment for member_id, member in members
            }

    def _assert_consumers_reported(self, consumer: ConsumerGroup) -> None:
        owned = {one: {p.topic: p.partitions for p in given.partitions or ()} for one, given in self.assigned.items()}
        for member_id, member in consumer.members.items():
            assert owned.get(member_id, {}) == member.owned()
            reported = self.subscribed[member_id]
            assert (tuple(reported.topics), reported.pattern) == (member.topics, member.pattern)
            assert reported.server_assignor == member.server_assignor
            assert (reported.member_type == "classic") == (member.classic is not None)
