"""What must hold of a group after every call of the core, whatever was asked: checked from its fields and its effects.

`Watch` retells the group from its effects alone (who is a member, what is parked, which rebalance runs, which offsets
are stored) and compares; `assert_sound` needs the group only. Knows the shapes of group and effects; must not know how
a request is handled.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import msgspec

from coordinator_udfs.protocol import history
from coordinator_udfs.protocol.group import Group
from coordinator_udfs.protocol.states import GroupState
from schemas import effects as e
from schemas.messages import StreamRequest
from tests.protocol.invariants_play import Call

PREPARING, COMPLETING = GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE

Terms = tuple[int, int, list[str] | None]


def _terms(effect: e.MemberJoined | e.MemberUpdated) -> Terms:
    return effect.session_timeout_ms, effect.rebalance_timeout_ms, effect.topics


def deadlines(group: Group) -> list[int]:
    """Every deadline of a group and of everything it owns."""
    timers = [group.join_deadline_ms, group.sync_deadline_ms, group.sweep_deadline_ms]
    sessions = [member.session_deadline_ms for member in group.members.values()]
    sessions += [pending.session_deadline_ms for pending in group.pending.values()]
    return [deadline_ms for deadline_ms in (*timers, *sessions) if deadline_ms is not None]


def assert_sound(group: Group) -> None:
    """All that holds of a group at any moment between two calls."""
    _assert_members_sound(group)
    _assert_indexes_sound(group)
    _assert_timers_sound(group)
    assert (group.rebalance is not None) == (group.state in (PREPARING, COMPLETING))


def _assert_members_sound(group: Group) -> None:
    members = group.members
    if not group.is_known:
        assert group == Group(group.group_id, updated_at_ms=group.updated_at_ms)
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
    assert group.held_at_most is None or group.held_at_most >= group.held_bytes
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
    assert (group.next_due_ms is not None) == group.is_known
    if group.next_due_ms is not None:
        assert group.next_due_ms <= min(deadlines(group))


@dataclass(slots=True)
class Watch:
    """Follows a group from call to call.

    unanswered: how often each request id still awaits its answer. has_repeats: a request has arrived more than once;
    only then may an id come back that was a member's.
    """

    generation_id: int = 0
    state: str = GroupState.EMPTY
    now_ms: int = 0
    is_known: bool = False
    members: dict[str, e.MemberJoined] = field(default_factory=dict)
    terms: dict[str, Terms] = field(default_factory=dict)
    ever_members: set[str] = field(default_factory=set)
    has_repeats: bool = False
    pending: set[str] = field(default_factory=set)
    unanswered: Counter[str] = field(default_factory=Counter)
    rebalance: e.RebalanceStarted | None = None
    assignments: dict[str, bytes] = field(default_factory=dict)
    offsets: dict[tuple[str, int], int] = field(default_factory=dict)
    timers: dict[str, int] = field(default_factory=dict)

    def __call__(self, group: Group, call: Call, effects: list[e.Effect]) -> None:
        """Follows one call and checks that group and story agree after it."""
        self._settle(call.request, effects)
        for effect in effects:
            assert self.now_ms <= effect.at_ms <= call.at_ms
            self.now_ms = effect.at_ms
            self._follow(effect)
        assert_sound(group)
        if call.request is None:
            assert all(deadline_ms > call.at_ms for deadline_ms in deadlines(group))
        self._assert_reported(group)

    def _settle(self, request: StreamRequest | None, effects: list[e.Effect]) -> None:
        """A request is answered once or parked once; what is settled later was parked before."""
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
                case _:
                    pass

    def _follow(self, effect: e.Effect) -> None:
        match effect:
            case e.GroupCreated():
                assert not self.is_known
                self.is_known, self.generation_id, self.state = True, 0, GroupState.EMPTY
            case e.GroupRemoved():
                assert self.is_known
                assert not self.members
                assert not self.offsets
                self.is_known, self.generation_id, self.state = False, 0, GroupState.EMPTY
                self.pending.clear()
            case e.StateChanged(from_state=from_state, to_state=to_state):
                assert from_state == self.state
                assert effect.generation_id == self.generation_id + (from_state is PREPARING)
                self.state, self.generation_id = to_state, effect.generation_id
            case e.RebalanceStarted() | e.RebalanceEnded() | e.JoinPhaseEnded() | e.JoinReceived() | e.SyncReceived():
                self._follow_rebalance(effect)
            case e.TimerArmed(timer=timer, length_ms=length_ms):
                assert length_ms > 0
                self.timers[timer] = effect.at_ms + length_ms
            case e.Reply() | e.RequestParked() | e.RequestDropped() | e.OffsetsCommitted() | e.OffsetsRemoved():
                self._follow_request(effect)
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
            case _:
                assert isinstance(effect, e.RequestDropped)

    def _follow_rebalance(self, effect: e.Effect) -> None:
        match effect:
            case e.RebalanceStarted():
                assert self.rebalance is None
                assert effect.from_generation_id == self.generation_id
                assert effect.from_state == self.state
                self.rebalance = effect
            case e.RebalanceEnded():
                started = self.rebalance
                assert started is not None
                assert effect.cause == started.cause
                assert effect.started_at_ms == started.at_ms
                assert effect.from_generation_id == started.from_generation_id
                assert effect.members_before == started.members_before
                assert effect.to_generation_id == self.generation_id
                came = len(effect.joined) - len(effect.left) - len(effect.expired)
                assert effect.members_before is not None
                assert effect.members_after == effect.members_before + came
                assert all(0 <= w.held_others_ms <= effect.at_ms - effect.started_at_ms for w in effect.waits)
                self.rebalance = None
            case e.JoinPhaseEnded():
                assert effect.member_ids == list(self.members)
                assert effect.leader_id in self.members
                assert effect.generation_id == self.generation_id
            case e.JoinReceived() | e.SyncReceived():
                assert effect.member_id in self.members
                assert self.rebalance is not None or self.state is GroupState.STABLE

    def _follow_member(self, effect: e.Effect) -> None:
        match effect:
            case e.MemberIdGiven(member_id=member_id):
                assert member_id not in self.members
                self.pending.add(member_id)
            case e.PendingMemberRemoved(member_id=member_id):
                self.pending.remove(member_id)
            case e.MemberJoined(member_id=member_id):
                assert member_id not in self.members
                assert member_id not in self.ever_members or self.has_repeats
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
                assert joined.group_instance_id == effect.group_instance_id
                del self.terms[member_id]
                self.assignments.pop(member_id, None)
            case e.Assigned(member_id=member_id, assignment=assignment):
                assert member_id in self.members
                self.assignments[member_id] = assignment
            case _:
                raise AssertionError(f"nobody follows {msgspec.to_builtins(effect)}")

    def _assert_reported(self, group: Group) -> None:
        """Whoever read the effects only knows the group as it is."""
        assert self.is_known == group.is_known
        assert (self.state, self.generation_id) == (group.state, group.generation_id)
        assert self.members.keys() == group.members.keys()
        assert self.pending == group.pending.keys()
        assert (self.rebalance is not None) == (group.rebalance is not None)
        assert self.offsets == {key: offset.committed_offset for key, offset in group.offsets.items()}
        parked = (request for m in group.members.values() for request in (m.parked_join, m.parked_sync))
        assert +self.unanswered == Counter(request.request_id for request in parked if request is not None)
        assert self.terms == {member_id: history.terms_of(group, member) for member_id, member in group.members.items()}
        if group.state is PREPARING:
            assert group.join_deadline_ms is not None
            assert self.timers["join"] <= group.join_deadline_ms
        if group.sync_deadline_ms is not None:
            assert self.timers["sync"] <= group.sync_deadline_ms
        if group.state is GroupState.STABLE:
            assert self.assignments == {member.member_id: member.assignment for member in group.members.values()}
