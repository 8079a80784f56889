"""A group as a state row: the columns that a SQL user wants first, and the whole group as versioned JSON.

Spark freezes a state's schema at its first run, so whatever may grow lives in the document, which carries its version.
Indexes and counts that can be derived are not stored.

Knows every field of a group and no rule of the protocol. Shape of the document: see `Document`; bytes are base64.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from rollcall.coordinator_udfs.protocol.consumer.group import ConsumerFields, ConsumerGroup, ConsumerMember
from rollcall.coordinator_udfs.protocol.consumer.states import ConsumerGroupState
from rollcall.coordinator_udfs.protocol.deadlines import exact_next_deadline_ms
from rollcall.coordinator_udfs.protocol.group import CommittedOffset, Group, GroupFields
from rollcall.coordinator_udfs.protocol.java_maps import MemberTable
from rollcall.coordinator_udfs.protocol.members import Member, PendingMember
from rollcall.coordinator_udfs.protocol.states import GroupState

VERSION = 2
"""That of version 0.2.0 and later."""


class StateError(ValueError):
    """A document that cannot be read; the text says why."""


class StateRow(NamedTuple):
    """One group's row in the state store; the columns' order is the state schema's and frozen with it."""

    state: str
    generation_id: int
    protocol_type: str | None
    protocol_name: str | None
    leader_id: str | None
    member_count: int
    next_deadline_ms: int | None
    updated_at_ms: int
    document: str


class StoredOffset(msgspec.Struct, kw_only=True):
    """One committed offset with its topic and partition."""

    topic: str
    partition: int
    offset: CommittedOffset


class StreamMemory(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What the stream remembers beside a group; no rule of the protocol depends on it."""

    seq_at_ms: int = -1
    seq: int = 0
    """The last fact's place among the facts at seq_at_ms."""
    run_started_at_ms: int = 0
    """The start of the job's run that wrote this."""
    resumed_at_ms: int = 0
    """When the group's deadlines were last moved because the coordinator was away."""
    request_ids: list[str] = []
    """Its latest requests, oldest first."""
    put_off: list[str] = []
    """The texts of requests that were read and not applied yet, in order."""


class StoredConsumer(ConsumerFields, kw_only=True):
    """What is stored of a group under the newer protocol."""

    target_epoch: int
    state: ConsumerGroupState
    members: list[ConsumerMember] = msgspec.field(default_factory=list)
    table: list[str] = msgspec.field(default_factory=list)
    table_slots: int = 2
    """How many slots `table` has; see `ConsumerGroup.table`."""


class Document(GroupFields, kw_only=True):
    """The whole group, version 2. Members and ids given out stand in join order."""

    v: int
    is_known: bool = True
    """False where nothing but the group's configs, or requests that were put off, is stored."""
    state: GroupState
    previous_state: GroupState
    state_timestamp_ms: int
    generation_id: int
    members: list[Member] = msgspec.field(default_factory=list)
    pending: list[PendingMember] = msgspec.field(default_factory=list)
    pending_sync: list[str] = msgspec.field(default_factory=list)
    subscribed_topics: list[str] | None = None
    offsets: list[StoredOffset] = msgspec.field(default_factory=list)
    consumer: StoredConsumer | None = None
    """Absent for a classic group. If present, the fields of classic members have their defaults."""
    stream: StreamMemory | None = None


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Document)


class _Version(msgspec.Struct):
    v: int


_version_decoder = msgspec.json.Decoder(_Version)


def encode(group: Group, stream: StreamMemory | None = None) -> StateRow:
    """The state row of a known group, with what the stream remembers of it; next_deadline_ms is exact."""
    deadline_ms = exact_next_deadline_ms(group)
    topics = group.subscribed_topics
    document = Document(
        v=VERSION,
        is_known=group.is_known,
        members=list(group.members.values()),
        pending=list(group.pending.values()),
        pending_sync=list(group.pending_sync),
        subscribed_topics=None if topics is None else sorted(topics),
        offsets=[StoredOffset(topic=t, partition=p, offset=offset) for (t, p), offset in group.offsets.items()],
        consumer=None if group.consumer is None else _stored(group.consumer),
        stream=stream,
        **_fields(group, GroupFields),
    )
    return StateRow(
        state=str(group.shown_state),
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader_id=group.leader_id,
        member_count=len(group.roster.members),
        next_deadline_ms=deadline_ms,
        updated_at_ms=group.updated_at_ms,
        document=_encoder.encode(document).decode(),
    )


def decode(group_id: str, document: str | bytes) -> Group:
    """The group a document holds. Raises StateError: no JSON, an unknown version, a field that does not fit."""
    return decode_with_memory(group_id, document)[0]


def decode_with_memory(group_id: str, document: str | bytes) -> tuple[Group, StreamMemory]:
    """The group a document holds, and what the stream remembers with it. Raises StateError as `decode` does."""
    try:
        version = _version_decoder.decode(document).v
        if version != VERSION:
            raise StateError(f"group {group_id!r}: its stored document has version {version}, and {VERSION} is read")
        stored = _decoder.decode(document)
    except msgspec.ValidationError as error:
        raise StateError(f"group {group_id!r}: its stored document does not fit: {error}") from None
    except msgspec.DecodeError as error:
        raise StateError(f"group {group_id!r}: its stored document is not JSON: {error}") from None
    group = Group(group_id, is_known=stored.is_known, **_fields(stored, GroupFields))
    group.restore(stored.members)
    group.pending = {pending.member_id: pending for pending in stored.pending}
    group.pending_sync = dict.fromkeys(stored.pending_sync)
    group.subscribed_topics = None if stored.subscribed_topics is None else frozenset(stored.subscribed_topics)
    group.offsets = {(o.topic, o.partition): o.offset for o in stored.offsets}
    if (consumer := stored.consumer) is not None:
        table = MemberTable(consumer.table, consumer.table_slots)
        group.consumer = ConsumerGroup(table=table, **_fields(consumer, ConsumerFields))
        group.consumer.restore(consumer.members)
    return group, stored.stream or StreamMemory()


def _stored(consumer: ConsumerGroup) -> StoredConsumer:
    return StoredConsumer(
        members=list(consumer.members.values()),
        table=consumer.table.names,
        table_slots=consumer.table.slots,
        **_fields(consumer, ConsumerFields),
    )


def _fields(of: msgspec.Struct, kind: type[msgspec.Struct]) -> dict[str, Any]:
    """What it has in the shape of this base."""
    return {name: getattr(of, name) for name in kind.__struct_fields__}
