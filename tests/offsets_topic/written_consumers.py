"""The records of a consumer group (KIP-848), made from the core's effects, in the order in which Kafka 4.3 writes them.

Knows which records a request leads to; knows nothing of a classic group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from zlib import crc32

from msgspec.structs import replace

from rollcall.coordinator_udfs.protocol.consumer.states import GroupType, MemberState
from rollcall.inputs.offsets_topic.records.decoding import Record
from rollcall.inputs.offsets_topic.records.shapes import (
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupMetadataValue,
    CurrentMemberAssignmentValue,
    CurrentPartitions,
    GroupKey,
    MemberKey,
    MemberMetadataValue,
    RecordKey,
    TargetAssignmentMemberValue,
    TargetAssignmentMetadataValue,
    TargetPartitions,
)
from rollcall.schemas.consumer_effects import (
    MemberLeftForNow,
    MemberProgressed,
    MemberSubscribed,
    TargetAssigned,
    TopicsSeen,
)
from rollcall.schemas.effects import (
    Assigned,
    Effect,
    MemberJoined,
    MemberRemoved,
    MemberUpdated,
    RebalanceStarted,
    StateChanged,
    TopicPartitions,
)
from rollcall.schemas.layout import LayoutShape
from tests.request_log.broker import id_of
from tests.requests import subscription

EPOCH, MEMBER, TARGET_EPOCH, TARGET, STEP = 3, 5, 6, 7, 8
OF_THE_TOPICS = 4
"""Written by Kafka 4.0 alone; its tombstone by later versions too."""
AWAY_EPOCH = -2
_STATES = {MemberState.STABLE: 0, MemberState.UNREVOKED: 1, MemberState.UNRELEASED: 2}


class Numbered:
    """Makes records of one group, each with the next offset."""

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.offset = 0

    def record(self, number: int, at_ms: int, key: RecordKey, value: LayoutShape | None) -> Record:
        self.offset += 1
        return Record(0, self.offset, at_ms, number, key, value)

    def of_group(self, number: int, at_ms: int, value: LayoutShape | None = None) -> Record:
        """Without a value: its tombstone."""
        return self.record(number, at_ms, GroupKey(group=self.group_id), value)

    def of_member(self, number: int, at_ms: int, member_id: str, value: LayoutShape | None = None) -> Record:
        """Likewise."""
        return self.record(number, at_ms, MemberKey(group=self.group_id, member_id=member_id), value)


@dataclass
class Written:
    """A member as its records have it."""

    joined: MemberJoined
    """Its terms are those that it has now."""
    subscribed: MemberSubscribed | None = None
    value: MemberMetadataValue | None = None
    """Of its last record."""
    target: list[TopicPartitions] = field(default_factory=list)
    epoch: int = 0
    previous_epoch: int = 0
    state: str = MemberState.STABLE
    kept: list[TopicPartitions] = field(default_factory=list)
    to_revoke: list[TopicPartitions] = field(default_factory=list)

    @property
    def member_id(self) -> str:
        return self.joined.member_id


class ConsumerRecords:
    """Writes a group's records for as long as it is a consumer group; classic: the members that it begins with."""

    def __init__(self, numbered: Numbered, epoch: int, classic: Iterable[MemberJoined] = ()) -> None:
        self.numbered = numbered
        self.epoch = epoch
        self.members = {joined.member_id: Written(joined, epoch=epoch, previous_epoch=epoch) for joined in classic}
        self._is_taking_over = bool(self.members)
        self._changed: dict[str, int] = {}
        """When, by member id: its record is due once all of its fields are known."""
        self._gone: dict[str, int] = {}
        """When, by member id: its tombstones are due once it is known that the group is not downgraded."""
        self._replaced: dict[str, Written] = {}
        self._hash = 0

    def write(self, effect: Effect) -> Iterator[Record]:
        yield from self._due_before(effect)
        match effect:
            case MemberJoined():
                yield from self._join(effect)
            case RebalanceStarted():
                self.epoch = effect.from_generation_id + 1
                yield self._epoch(effect.at_ms)
            case TargetAssigned():
                yield from self._targets(effect)
            case MemberProgressed():
                yield self._progress(effect)
            case MemberLeftForNow():
                member = self.members[effect.member_id]
                member.previous_epoch, member.epoch, member.to_revoke = member.epoch, AWAY_EPOCH, []
                yield self._step(effect.at_ms, member)
            case _:
                self._note(effect)

    def _due_before(self, effect: Effect) -> Iterator[Record]:
        """What was held back until it was clear what it belongs to."""
        if self._is_taking_over and not isinstance(effect, MemberSubscribed | Assigned | TopicsSeen | StateChanged):
            yield from self._take_over(effect.at_ms)
        if not isinstance(effect, MemberRemoved):
            yield from self._without_gone()
        if not (self._is_taking_over or isinstance(effect, MemberUpdated | MemberSubscribed)):
            yield from self._changed_members()

    def _note(self, effect: Effect) -> None:
        """What later records are of."""
        match effect:
            case MemberRemoved():
                self._remove(effect)
            case MemberUpdated():
                take_terms(self.members[effect.member_id].joined, effect)
                self._changed[effect.member_id] = effect.at_ms
            case MemberSubscribed():
                self.members[effect.member_id].subscribed = effect
                self._changed[effect.member_id] = effect.at_ms
            case TopicsSeen():
                seen = repr([(one.topic, one.partition_count) for one in effect.topics])
                self._hash = crc32(seen.encode()) if effect.topics else 0
            case Assigned() if self._is_taking_over:
                member = self.members[effect.member_id]
                member.epoch = member.previous_epoch = effect.generation_id
                member.target = member.kept = effect.partitions or []
            case _:
                pass

    def end(self, at_ms: int) -> Iterator[Record]:
        """The tombstones of all that it has, also of who just left; as it becomes a classic group, or ends."""
        yield from self._changed_members()
        member_ids = [*self._gone, *self.members]
        for number in (STEP, TARGET):
            for member_id in member_ids:
                yield self.numbered.of_member(number, at_ms, member_id)
        yield self.numbered.of_group(TARGET_EPOCH, at_ms)
        for member_id in member_ids:
            yield self.numbered.of_member(MEMBER, at_ms, member_id)
        for number in (OF_THE_TOPICS, EPOCH):
            yield self.numbered.of_group(number, at_ms)

    def finish(self, at_ms: int) -> Iterator[Record]:
        """What is still due when nothing follows."""
        if self._is_taking_over:
            yield from self._take_over(at_ms)
        yield from self._without_gone()
        yield from self._changed_members()

    def _take_over(self, at_ms: int) -> Iterator[Record]:
        """The classic members as those of a consumer group, before the request that upgraded it goes on."""
        self._is_taking_over = False
        yield from self._changed_members()
        yield self._epoch(at_ms)
        for member in self.members.values():
            yield self._target(at_ms, member)
        value = TargetAssignmentMetadataValue(assignment_epoch=self.epoch)
        yield self.numbered.of_group(TARGET_EPOCH, at_ms, value)
        for member in self.members.values():
            yield self._step(at_ms, member)

    def _remove(self, removed: MemberRemoved) -> None:
        member = self.members.pop(removed.member_id)
        self._gone[removed.member_id] = removed.at_ms
        if removed.replaced_by_member_id is not None:
            self._replaced[removed.member_id] = member

    def _without_gone(self) -> Iterator[Record]:
        for member_id, at_ms in self._gone.items():
            for number in (STEP, TARGET, MEMBER):
                yield self.numbered.of_member(number, at_ms, member_id)
        self._gone.clear()

    def _join(self, joined: MemberJoined) -> Iterator[Record]:
        """A newcomer's record comes with its subscription; who takes a static member's place has all of that one's
        first."""
        old = self._replaced.pop(joined.replaces_member_id or "", None)
        member = self.members[joined.member_id] = Written(replace(joined))
        if old is None:
            return
        member.value, member.target, member.state = old.value, old.target, old.state
        member.kept, member.to_revoke = old.kept, old.to_revoke
        yield self.numbered.of_member(MEMBER, joined.at_ms, joined.member_id, member.value)
        yield self._target(joined.at_ms, member)
        yield self._step(joined.at_ms, member)

    def _changed_members(self) -> Iterator[Record]:
        for member_id, at_ms in self._changed.items():
            member = self.members[member_id]
            value = _value_of(member)
            if value != member.value:
                member.value = value
                yield self.numbered.of_member(MEMBER, at_ms, member_id, value)
        self._changed.clear()

    def _epoch(self, at_ms: int) -> Record:
        value = ConsumerGroupMetadataValue(epoch=self.epoch, metadata_hash=self._hash)
        return self.numbered.of_group(EPOCH, at_ms, value)

    def _targets(self, assigned: TargetAssigned) -> Iterator[Record]:
        for one in assigned.targets:
            member = self.members[one.member_id]
            member.target = one.partitions
            yield self._target(assigned.at_ms, member)
        value = TargetAssignmentMetadataValue(
            assignment_epoch=assigned.generation_id, assignment_timestamp=assigned.at_ms
        )
        yield self.numbered.of_group(TARGET_EPOCH, assigned.at_ms, value)

    def _target(self, at_ms: int, member: Written) -> Record:
        given = [TargetPartitions(topic_id=id_of(one.topic), partitions=one.partitions) for one in member.target]
        value = TargetAssignmentMemberValue(topic_partitions=given)
        return self.numbered.of_member(TARGET, at_ms, member.member_id, value)

    def _progress(self, progressed: MemberProgressed) -> Record:
        member = self.members[progressed.member_id]
        member.previous_epoch, member.epoch = member.epoch, progressed.generation_id
        member.state, member.kept, member.to_revoke = progressed.state, progressed.partitions, progressed.to_revoke
        return self._step(progressed.at_ms, member)

    def _step(self, at_ms: int, member: Written) -> Record:
        value = CurrentMemberAssignmentValue(
            member_epoch=member.epoch,
            previous_member_epoch=member.previous_epoch,
            state=_STATES[MemberState(member.state)],
            assigned_partitions=_current(member.kept),
            partitions_pending_revocation=_current(member.to_revoke),
        )
        return self.numbered.of_member(STEP, at_ms, member.member_id, value)


def take_terms(joined: MemberJoined, updated: MemberUpdated) -> None:
    """The terms that a member has from now on."""
    joined.session_timeout_ms = updated.session_timeout_ms
    joined.rebalance_timeout_ms = updated.rebalance_timeout_ms
    joined.topics = updated.topics


def _current(partitions: Iterable[TopicPartitions]) -> list[CurrentPartitions]:
    return [CurrentPartitions(topic_id=id_of(one.topic), partitions=one.partitions) for one in partitions]


def _value_of(member: Written) -> MemberMetadataValue:
    joined, subscribed = member.joined, member.subscribed
    assert subscribed is not None
    classic = None
    if subscribed.member_type == GroupType.CLASSIC:
        metadata = subscription(*subscribed.topics)
        protocols = [ClassicProtocol(name="range", metadata=metadata)]
        classic = ClassicMemberMetadata(session_timeout_ms=joined.session_timeout_ms, supported_protocols=protocols)
    return MemberMetadataValue(
        instance_id=joined.group_instance_id,
        rack_id=None,
        client_id=joined.client_id,
        client_host=joined.client_host,
        subscribed_topic_names=subscribed.topics,
        subscribed_topic_regex=subscribed.pattern,
        rebalance_timeout_ms=joined.rebalance_timeout_ms,
        server_assignor=subscribed.server_assignor,
        classic_member_metadata=classic,
    )
