"""The records that a broker would have written beside a history of the core, made from its effects.

So the rules of `rollcall.inputs.offsets_topic.history` can be held against every recorded log and against any life in
virtual time, not only those with a recorded topic. Knows a classic group's records, and when a group becomes one of the
other kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from rollcall.coordinator_udfs.protocol.consumer.states import GroupType
from rollcall.inputs.offsets_topic.records.decoding import Record
from rollcall.inputs.offsets_topic.records.shapes import (
    ClassicMember,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from rollcall.schemas.consumer_effects import GroupTypeChanged
from rollcall.schemas.effects import (
    Assigned,
    Effect,
    JoinPhaseEnded,
    MemberIdGiven,
    MemberJoined,
    MemberRemoved,
    MemberUpdated,
    OffsetsCommitted,
    RebalanceEnded,
    StateChanged,
)
from tests.offsets_topic.written_consumers import ConsumerRecords, Numbered, take_terms
from tests.request_log.broker import id_of
from tests.requests import assignment, flat, subscription

COMMIT, GROUP = 1, 2


class Writer:
    """Writes one group's records while its history goes by."""

    def __init__(self, group_id: str) -> None:
        self.numbered = Numbered(group_id)
        self.consumers: ConsumerRecords | None = None
        """While it is a consumer group."""
        self.members: dict[str, MemberJoined] = {}
        self.assignments: dict[str, bytes] = {}
        self.generation_id = 0
        self.protocol: str | None = None
        self.leader: str | None = None
        self.formed_at_ms = 0
        self.is_stable = False
        self.epoch_before = -1
        """The epoch before the one at which it became a classic group."""

    def write(self, effects: Iterable[Effect]) -> Iterator[Record]:
        at_ms = 0
        for effect in effects:
            at_ms = effect.at_ms
            yield from self._write(effect)
        if self.consumers is not None:
            yield from self.consumers.finish(at_ms)

    def _write(self, effect: Effect) -> Iterator[Record]:
        match effect:
            case GroupTypeChanged(to_type=GroupType.CONSUMER):
                yield from self._become_consumer(effect)
            case GroupTypeChanged():
                yield from self._become_classic(effect)
            case OffsetsCommitted():
                yield from self._commits(effect)
            case _ if self.consumers is not None:
                yield from self.consumers.write(effect)
            case _:
                yield from self._write_classic(effect)

    def _write_classic(self, effect: Effect) -> Iterator[Record]:
        is_first = not self.numbered.offset and isinstance(effect, MemberIdGiven | MemberJoined)
        if is_first:
            yield self._group(effect.at_ms)
        self._note(effect)
        match effect:
            case MemberJoined() if effect.replaces_member_id is not None and self.is_stable:
                yield self._group(effect.at_ms)
            case RebalanceEnded(outcome="superseded"):
                pass
            # One that was an epoch's before the group became classic has its record already.
            case RebalanceEnded() if effect.from_generation_id != self.epoch_before:
                yield self._group(effect.at_ms)
            case _:
                pass

    def _become_consumer(self, changed: GroupTypeChanged) -> Iterator[Record]:
        """created, replaced or upgraded: the records of who makes it one come next."""
        if changed.from_type is not None:
            yield self.numbered.of_group(GROUP, changed.at_ms)
        self.consumers = ConsumerRecords(self.numbered, changed.generation_id, self.members.values())
        self.members, self.assignments = {}, {}

    def _become_classic(self, changed: GroupTypeChanged) -> Iterator[Record]:
        """replaced or downgraded: Empty at generation 0, or with the members that stay and their targets."""
        assert self.consumers is not None
        yield from self.consumers.end(changed.at_ms)
        members = self.consumers.members
        self.members = {member_id: member.joined for member_id, member in members.items()}
        self.assignments = {
            member_id: assignment(flat({one.topic: one.partitions for one in member.target}))
            for member_id, member in members.items()
        }
        self.consumers = None
        self.generation_id, self.formed_at_ms = changed.generation_id, changed.at_ms
        self.epoch_before = changed.generation_id - 1
        self.is_stable = bool(members)
        self.protocol, self.leader = ("range", next(iter(members))) if members else (None, None)
        yield self._group(changed.at_ms)

    def _note(self, effect: Effect) -> None:
        """What the group is like once this has happened."""
        match effect:
            case MemberJoined():
                self._join(effect)
            case MemberUpdated() if effect.member_id in self.members:
                take_terms(self.members[effect.member_id], effect)
            case MemberRemoved():
                self.members.pop(effect.member_id, None)
            case StateChanged():
                self.is_stable = effect.to_state == "Stable"
            case JoinPhaseEnded():
                self.generation_id, self.protocol = effect.generation_id, effect.protocol_name
                self.leader, self.formed_at_ms = effect.leader_id if effect.member_ids else None, effect.at_ms
            case Assigned():
                self.assignments[effect.member_id] = effect.assignment
            case RebalanceEnded() if effect.outcome == "empty":
                self.generation_id, self.formed_at_ms = effect.to_generation_id, effect.at_ms
                self.protocol = self.leader = None
            case _:
                pass

    def _join(self, joined: MemberJoined) -> None:
        self.members[joined.member_id] = replace(joined)
        replaced = joined.replaces_member_id
        if replaced is not None:
            self.assignments[joined.member_id] = self.assignments.get(replaced, b"")
            self.leader = joined.member_id if self.leader == replaced else self.leader

    def _commits(self, effect: OffsetsCommitted) -> Iterator[Record]:
        for one in effect.offsets:
            key = OffsetCommitKey(group=self.numbered.group_id, topic=one.topic, partition=one.partition)
            value = OffsetCommitValue(
                offset=one.committed_offset,
                leader_epoch=one.leader_epoch,
                metadata=one.metadata,
                commit_timestamp=one.commit_timestamp_ms,
                topic_id=id_of(one.topic),
            )
            yield self.numbered.record(COMMIT, effect.at_ms, key, value)

    def _group(self, at_ms: int) -> Record:
        members = [
            ClassicMember(
                member_id=one.member_id,
                group_instance_id=one.group_instance_id,
                client_id=one.client_id,
                client_host=one.client_host,
                rebalance_timeout=one.rebalance_timeout_ms,
                session_timeout=one.session_timeout_ms,
                subscription=subscription(*(one.topics or ())),
                assignment=self.assignments.get(one.member_id, b""),
            )
            for one in (self.members.values() if self.generation_id else ())
        ]
        value = GroupMetadataValue(
            protocol_type="consumer" if self.generation_id else "",
            generation=self.generation_id,
            protocol=self.protocol,
            leader=self.leader,
            current_state_timestamp=self.formed_at_ms or at_ms,
            members=members,
        )
        return self.numbered.of_group(GROUP, at_ms, value)
