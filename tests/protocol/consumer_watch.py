"""What must hold of a consumer group after every call of the core, whatever was asked.

`assert_consumer_sound` needs the group only; `ConsumerWatch` retells it from its effects alone (its kind and epoch, who
is a member, who owns which partition, which rebalance runs) and compares. Knows the shapes of group and effects; must
not know how a request is handled.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from coordinator_udfs.protocol.consumer.group import ConsumerGroup
from coordinator_udfs.protocol.consumer.states import ConsumerGroupState, GroupType, MemberState, MemberTimer
from coordinator_udfs.protocol.group import Group
from schemas import consumer_effects as ce
from schemas import effects as e
from tests.protocol.consumer_play import Call
from tests.protocol.invariants_watch import deadlines as classic_deadlines

Owned = dict[str, dict[str, list[int]]]


def deadlines(group: Group) -> list[int]:
    """Every deadline of a group of either kind."""
    members = group.consumer.members.values() if group.consumer else ()
    found = [member.session_deadline_ms for member in members if member.session_deadline_ms is not None]
    found += [armed.deadline_ms for member in members for armed in member.timers.values()]
    return found + classic_deadlines(group)


def assert_consumer_sound(group: Group) -> None:
    """All that holds of a group at any moment between two calls."""
    if group.next_due_ms is not None:
        assert group.next_due_ms <= min(deadlines(group))
    if group.consumer is None:
        return
    _assert_members_sound(group, group.consumer)
    _assert_indexes_sound(group.consumer)
    assert not group.members
    assert (group.join_deadline_ms, group.sync_deadline_ms) == (None, None)
    is_at_target = group.consumer.state in (ConsumerGroupState.EMPTY, ConsumerGroupState.STABLE)
    assert not (is_at_target and group.rebalance is not None)


def _assert_members_sound(group: Group, consumer: ConsumerGroup) -> None:
    assert 1 <= consumer.target_epoch <= group.generation_id
    owners: dict[tuple[str, int], str] = {}
    for member_id, member in consumer.members.items():
        assert member.member_id == member_id
        # Only a classic client in the place of who was away may have something to give up before its first epoch.
        least = 0 if member.classic is not None and member.state is MemberState.UNREVOKED else 1
        assert member.is_away or least <= member.member_epoch <= consumer.target_epoch
        for owned in (member.assigned, member.pending_revocation):
            for topic, partitions in owned.items():
                assert partitions
                for partition in partitions:
                    assert owners.setdefault((topic, partition), member_id + str(id(owned))) == member_id + str(
                        id(owned)
                    ), "owned twice"
        if member.state is MemberState.UNREVOKED and not member.is_away:
            assert member.pending_revocation
            assert member.classic is not None or MemberTimer.REBALANCE in member.timers
        else:
            assert not member.pending_revocation
            assert MemberTimer.REBALANCE not in member.timers
        assert member.session_deadline_ms is not None
        assert not (member.classic and member.pattern)
        assert consumer.static_member_id(member.instance_id) in (None, member_id)
    for (topic, partition), owner in owners.items():
        assert owner.startswith(consumer.owner_of(topic, partition) or "nobody")


def _assert_indexes_sound(consumer: ConsumerGroup) -> None:
    anew = consumer.copy()
    assert consumer.held_bytes == anew.held_bytes, "counted as members came and went, and counted anew"
    assert consumer.named_topics == anew.named_topics, "the same"
    assert sorted(consumer.table) == sorted(consumer.members)
    used = [member.pattern for member in consumer.members.values() if member.pattern]
    assert consumer.patterns_in_use == {pattern: used.count(pattern) for pattern in used}
    assert consumer.patterns.keys() <= consumer.patterns_in_use.keys()
    owned = {
        (topic, partition)
        for member in consumer.members.values()
        for topic, partitions in member.owned().items()
        for partition in partitions
    }
    assert {(topic, partition) for topic, owners in consumer._owners.items() for partition in owners} == owned


@dataclass(slots=True)
class ConsumerWatch:
    """Follows a group from call to call by what it tells."""

    now_ms: int = 0
    kind: str | None = None
    epoch: int = 0
    state: str = ConsumerGroupState.EMPTY
    members: set[str] = field(default_factory=set)
    subscribed: dict[str, ce.MemberSubscribed] = field(default_factory=dict)
    owned: Owned = field(default_factory=dict)
    rebalance: e.RebalanceStarted | None = None

    def __call__(self, group: Group, call: Call, effects: list[e.Effect]) -> None:
        """Follows one call and checks that group and story agree after it."""
        for effect in effects:
            assert self.now_ms <= effect.at_ms <= call.at_ms
            self.now_ms = effect.at_ms
            self._follow(effect)
        assert_consumer_sound(group)
        if call.request is None:
            assert all(deadline_ms > call.at_ms for deadline_ms in deadlines(group))
        self._assert_reported(group)

    def _follow(self, effect: e.Effect) -> None:
        match effect:
            case e.GroupCreated():
                assert self.kind is None
                self.kind, self.epoch, self.state = GroupType.CLASSIC, 0, ConsumerGroupState.EMPTY
            case e.GroupRemoved():
                assert not self.members
                self.kind, self.epoch = None, 0
            case ce.GroupTypeChanged():
                assert effect.from_type in (None, self.kind)
                assert effect.to_type != self.kind
                began_anew = effect.why in ("created", "replaced")
                assert began_anew or self.kind == GroupType.CONSUMER or effect.generation_id == max(self.epoch, 1)
                assert began_anew == (not self.members)
                self.kind, self.epoch = effect.to_type, effect.generation_id
            case e.StateChanged():
                assert effect.from_state == self.state
                self.state, self.epoch = effect.to_state, effect.generation_id
            case e.RebalanceStarted():
                assert self.rebalance is None
                assert effect.members_before is not None
                assert effect.members_before >= 0
                self.rebalance = effect
                if self.kind == GroupType.CONSUMER:
                    assert effect.from_generation_id == self.epoch
                    self.epoch += 1
            case e.RebalanceEnded():
                self._follow_end(effect)
            case _:
                self._follow_member(effect)

    def _follow_end(self, effect: e.RebalanceEnded) -> None:
        assert self.rebalance is not None
        assert (effect.cause, effect.started_at_ms) == (self.rebalance.cause, self.rebalance.at_ms)
        lasted_ms = effect.at_ms - self.rebalance.at_ms
        came = len(effect.joined) - len(effect.left) - len(effect.expired)
        assert effect.members_before is not None
        assert effect.members_after == effect.members_before + came
        for wait in effect.waits:
            assert wait.held_others_ms is not None
            assert 0 <= wait.held_others_ms <= lasted_ms
            assert wait.synced_at_ms is None or wait.joined_at_ms is not None
        self.rebalance = None

    def _follow_member(self, effect: e.Effect) -> None:
        match effect:
            case e.MemberJoined(member_id=member_id):
                assert member_id not in self.members
                self.members.add(member_id)
            case e.MemberRemoved(member_id=member_id):
                self.members.remove(member_id)
                self.subscribed.pop(member_id, None)
                self.owned.pop(member_id, None)
            case ce.MemberSubscribed(member_id=member_id):
                assert member_id in self.members
                self.subscribed[member_id] = effect
            case ce.MemberProgressed(member_id=member_id):
                assert member_id in self.members
                assert effect.generation_id <= effect.target_epoch <= self.epoch
            case ce.TargetAssigned():
                assert effect.generation_id == self.epoch
            case e.Assigned(member_id=member_id):
                assert member_id in self.members
                self.owned[member_id] = {each.topic: each.partitions for each in effect.partitions or ()}
            case _:
                pass

    def _assert_reported(self, group: Group) -> None:
        """Whoever read the effects only knows the group as it is."""
        assert (self.kind is not None) == group.is_known
        if not group.is_known:
            return
        assert self.kind == group.group_type
        assert self.state == group.shown_state
        assert self.members == group.roster.members.keys()
        assert (self.rebalance is not None) == (group.rebalance is not None)
        if group.consumer is None:
            return
        assert self.epoch == group.generation_id
        for member_id, member in group.consumer.members.items():
            assert self.owned.get(member_id, {}) == member.owned()
            reported = self.subscribed[member_id]
            assert (tuple(reported.topics), reported.pattern) == (member.topics, member.pattern)
            assert reported.server_assignor == member.server_assignor
            assert (reported.member_type == "classic") == (member.classic is not None)
