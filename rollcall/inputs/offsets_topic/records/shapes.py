"""The keys and values of `__consumer_offsets`, one shape each with every version's fields, as Kafka 4.3 defines them.

Knows names, types and versions; the bytes are `rollcall.schemas.layout`'s business. Of keys of
other kinds of group (share, streams) only the group is read.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, NamedTuple

from rollcall.schemas.layout import ClassicShape, Int8, Int32, Int64, LayoutShape, Tag, Uuid
from rollcall.schemas.shapes import Since, Versions


class RecordKey(ClassicShape, frozen=True, kw_only=True):
    """Base of every key: no key is flexible, and the group stands first."""

    group: str


class GroupKey(RecordKey, frozen=True, kw_only=True):
    """The key of a record that a group has one of."""


class OffsetCommitKey(RecordKey, frozen=True, kw_only=True):
    topic: str
    partition: Int32


class MemberKey(RecordKey, frozen=True, kw_only=True):
    """The key of a record that a member has one of."""

    member_id: str


class RegularExpressionKey(RecordKey, frozen=True, kw_only=True):
    regular_expression: str


class OffsetCommitValue(LayoutShape, frozen=True, kw_only=True):
    """A committed offset. It does not name who committed it."""

    FLEXIBLE_SINCE: ClassVar[int] = 4

    offset: Int64
    leader_epoch: Annotated[Int32, Since(3)] = -1
    metadata: str
    commit_timestamp: Int64
    expire_timestamp: Annotated[Int64, Versions(1, 1)] = -1
    """Only where a client asked for one."""
    topic_id: Annotated[Uuid, Since(4), Tag(0)] = None


class ClassicMember(LayoutShape, frozen=True, kw_only=True):
    """A member of a classic group."""

    FLEXIBLE_SINCE: ClassVar[int] = 4

    member_id: str
    group_instance_id: Annotated[str | None, Since(3)] = None
    client_id: str
    client_host: str
    rebalance_timeout: Annotated[Int32, Since(1)] = -1
    session_timeout: Int32
    subscription: bytes
    assignment: bytes
    """ConsumerProtocol bytes where the type is consumer, like `subscription`."""


class GroupMetadataValue(LayoutShape, frozen=True, kw_only=True):
    """A generation of a classic group."""

    FLEXIBLE_SINCE: ClassVar[int] = 4

    protocol_type: str
    generation: Int32
    protocol: str | None
    leader: str | None
    current_state_timestamp: Annotated[Int64, Since(2)] = -1
    """When it came into the state it was in then."""
    members: list[ClassicMember]


class ConsumerGroupMetadataValue(LayoutShape, frozen=True, kw_only=True):
    epoch: Int32
    metadata_hash: Annotated[Int64, Tag(0)] = 0


class PartitionRacks(LayoutShape, frozen=True, kw_only=True):
    partition: Int32
    racks: list[str]


class TopicMetadata(LayoutShape, frozen=True, kw_only=True):
    topic_id: Uuid
    topic_name: str
    num_partitions: Int32
    partition_metadata: list[PartitionRacks]


class PartitionMetadataValue(LayoutShape, frozen=True, kw_only=True):
    """The topics that a group subscribes to, as Kafka 4.0 wrote them; later versions write only its tombstone."""

    topics: list[TopicMetadata]


class ClassicProtocol(LayoutShape, frozen=True, kw_only=True):
    name: str
    metadata: bytes


class ClassicMemberMetadata(LayoutShape, frozen=True, kw_only=True):
    """The fields of a member of the classic protocol in a group of the newer one."""

    session_timeout_ms: Int32
    supported_protocols: list[ClassicProtocol]


class MemberMetadataValue(LayoutShape, frozen=True, kw_only=True):
    """A member. Its session timeout is not recorded."""

    ALWAYS_WRITTEN: ClassVar[tuple[str, ...]] = ("classic_member_metadata",)

    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topic_names: list[str]
    subscribed_topic_regex: str | None
    """Empty or null where it gave none."""
    rebalance_timeout_ms: Int32
    server_assignor: str | None
    classic_member_metadata: Annotated[ClassicMemberMetadata | None, Tag(0)] = None


class TargetAssignmentMetadataValue(LayoutShape, frozen=True, kw_only=True):
    assignment_epoch: Int32
    assignment_timestamp: Annotated[Int64, Tag(0)] = 0


class TargetPartitions(LayoutShape, frozen=True, kw_only=True):
    topic_id: Uuid
    partitions: list[Int32]


class TargetAssignmentMemberValue(LayoutShape, frozen=True, kw_only=True):
    topic_partitions: list[TargetPartitions]


class CurrentPartitions(LayoutShape, frozen=True, kw_only=True):
    """Partitions of one topic."""

    topic_id: Uuid
    partitions: list[Int32]
    assignment_epochs: Annotated[list[Int32] | None, Tag(0)] = None
    """Of each partition the epoch at which it was given; null before Kafka 4.3."""


class CurrentMemberAssignmentValue(LayoutShape, frozen=True, kw_only=True):
    """What a member holds."""

    member_epoch: Int32
    previous_member_epoch: Int32
    state: Int8
    """0 STABLE, 1 UNREVOKED_PARTITIONS, 2 UNRELEASED_PARTITIONS."""
    assigned_partitions: list[CurrentPartitions]
    partitions_pending_revocation: list[CurrentPartitions]


class RegularExpressionValue(LayoutShape, frozen=True, kw_only=True):
    topics: list[str]
    version: Int64
    timestamp: Int64


class RecordType(NamedTuple):
    """The type in the first two bytes of a key."""

    name: str
    key: type[RecordKey]
    value: type[LayoutShape] | None
    """None where the record is skipped."""
    versions: Versions
    """Those of the value."""


_ONE = Versions(0, 0)
RECORD_TYPES: dict[int, RecordType] = {
    # Kafka reads the commits of both types by one definition of the value.
    0: RecordType("LegacyOffsetCommit", OffsetCommitKey, OffsetCommitValue, Versions(0, 4)),
    1: RecordType("OffsetCommit", OffsetCommitKey, OffsetCommitValue, Versions(0, 4)),
    2: RecordType("GroupMetadata", GroupKey, GroupMetadataValue, Versions(0, 4)),
    3: RecordType("ConsumerGroupMetadata", GroupKey, ConsumerGroupMetadataValue, _ONE),
    4: RecordType("ConsumerGroupPartitionMetadata", GroupKey, PartitionMetadataValue, _ONE),
    5: RecordType("ConsumerGroupMemberMetadata", MemberKey, MemberMetadataValue, _ONE),
    6: RecordType("ConsumerGroupTargetAssignmentMetadata", GroupKey, TargetAssignmentMetadataValue, _ONE),
    7: RecordType("ConsumerGroupTargetAssignmentMember", MemberKey, TargetAssignmentMemberValue, _ONE),
    8: RecordType("ConsumerGroupCurrentMemberAssignment", MemberKey, CurrentMemberAssignmentValue, _ONE),
    16: RecordType("ConsumerGroupRegularExpression", RegularExpressionKey, RegularExpressionValue, _ONE),
    **{number: RecordType("share group", RecordKey, None, _ONE) for number in range(9, 16)},
    **{number: RecordType("streams group", RecordKey, None, _ONE) for number in range(17, 24)},
}
