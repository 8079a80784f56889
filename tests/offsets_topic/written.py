"""The records that a broker would have written beside a recorded request log, made from the log's own history.

So the rules for classic groups can be held against every recorded incident, not only those with a recorded topic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from offsets_topic.records.decoding import Record
from offsets_topic.records.shapes import (
    ClassicMember,
    GroupKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from schemas.consumer_protocol import Subscription, encode_subscription
from schemas.effects import (
    Assigned,
    Effect,
    JoinPhaseEnded,
    MemberJoined,
    MemberRemoved,
    MemberUpdated,
    OffsetsCommitted,
    RebalanceEnded,
    StateChanged,
)


class Writer:
    """Writes one group's records while its history goes by."""

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.members: dict[str, MemberJoined] = {}
        self.assignments: dict[str, bytes] = {}
        self.generation_id = 0
        self.protocol: str | None = None
        self.leader: str | None = None
        self.formed_at_ms = 0
        self.is_stable = False
        self.offset = 0

    def write(self, effects: Iterable[Effect]) -> Iterator[Record]:
        for effect in effects:
            yield from self._write(effect)

    def _write(self, effect: Effect) -> Iterator[Record]:
        is_first = not self.offset and isinstance(effect, MemberJoined)
        if is_first:
            yield self._group(effect.at_ms)
        self._note(effect)
        match effect:
            case MemberJoined() if effect.replaces_member_id is not None and self.is_stable:
                yield self._group(effect.at_ms)
            case RebalanceEnded() if effect.outcome != "superseded":
                yield self._group(effect.at_ms)
            case OffsetsCommitted():
                yield from self._commits(effect)
            case _:
                pass

    def _note(self, effect: Effect) -> None:
        """What the group is like once this has happened."""
        match effect:
            case MemberJoined():
                self._join(effect)
            case MemberUpdated() if effect.member_id in self.members:
                joined = self.members[effect.member_id]
                joined.session_timeout_ms = effect.session_timeout_ms
                joined.rebalance_timeout_ms = effect.rebalance_timeout_ms
                joined.topics = effect.topics
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
        self.members[joined.member_id] = joined
        replaced = joined.replaces_member_id
        if replaced is not None:
            self.assignments[joined.member_id] = self.assignments.get(replaced, b"")
            self.leader = joined.member_id if self.leader == replaced else self.leader

    def _commits(self, effect: OffsetsCommitted) -> Iterator[Record]:
        for one in effect.offsets:
            key = OffsetCommitKey(group=self.group_id, topic=one.topic, partition=one.partition)
            value = OffsetCommitValue(
                offset=one.committed_offset,
                leader_epoch=one.leader_epoch,
                metadata=one.metadata,
                commit_timestamp=one.commit_timestamp_ms,
            )
            yield self._record(1, effect.at_ms, key, value)

    def _group(self, at_ms: int) -> Record:
        members = [
            ClassicMember(
                member_id=one.member_id,
                group_instance_id=one.group_instance_id,
                client_id=one.client_id,
                client_host=one.client_host,
                rebalance_timeout=one.rebalance_timeout_ms,
                session_timeout=one.session_timeout_ms,
                subscription=encode_subscription(Subscription(topics=tuple(one.topics or ()))),
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
        return self._record(2, at_ms, GroupKey(group=self.group_id), value)

    def _record(self, number: int, at_ms: int, key: GroupKey | OffsetCommitKey, value: object) -> Record:
        self.offset += 1
        return Record(0, self.offset, at_ms, number, key, value)  # type: ignore[arg-type]
