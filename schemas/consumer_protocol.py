"""The bytes that members of a group of protocol type "consumer" send each other through the coordinator.

What it knows: the layouts of Kafka's ConsumerProtocolSubscription and ConsumerProtocolAssignment (versions 0 to 3)
and of the userData of the sticky assignors, all big-endian with an int16 version in front of the first two.
What it must not know: groups, generations' meaning, assignors, or anything outside its folder beyond the standard
library: the coordinator's core imports it too.

A decoder reads a version newer than 3 with the layout of version 3 and ignores what follows, as Kafka's does. Bytes
that do not fit raise ConsumerProtocolError, never anything else, and a count that the bytes cannot hold is refused
before anything is allocated. Text must be valid UTF-8: Kafka replaces what is not and so invents topic names.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from rollcall.schemas.member_bytes import MemberBytesError, Reader

HIGHEST_VERSION = 3
NO_GENERATION = -1

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_MAX_INT16 = 2**15 - 1
_MAX_INT32 = 2**31 - 1
_MIN_INT32 = -(2**31)


class TopicPartition(NamedTuple):
    """One partition of a topic, by the topic's name."""

    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class Subscription:
    """The subscription that a member sends to the leader when it joins (KIP-429, KIP-792, KIP-881)."""

    topics: tuple[str, ...]
    user_data: bytes | None = None
    owned_partitions: tuple[TopicPartition, ...] = ()
    generation_id: int = NO_GENERATION
    rack_id: str | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """What the leader gives a member."""

    partitions: tuple[TopicPartition, ...]
    user_data: bytes | None = None


@dataclass(frozen=True, slots=True)
class StickyUserData:
    """What a member of the eager sticky assignor says it was assigned last; generation is None in version 0."""

    partitions: tuple[TopicPartition, ...]
    generation: int | None = None


class ConsumerProtocolError(MemberBytesError):
    """A value that the layout cannot carry, or bytes that do not follow it: which field, and where."""


def java_string_order(text: str) -> bytes:
    """A sort key that orders text as Java's String.compareTo does: by UTF-16 units, not by code points."""
    return text.encode("utf-16-be", "surrogatepass")


def encode_subscription(subscription: Subscription, version: int = HIGHEST_VERSION) -> bytes:
    """The bytes of a subscription, topics and owned partitions sorted, fields newer than `version` left out.

    Raises ConsumerProtocolError: version outside 0..3, text over 32767 bytes, a number outside int32.
    Source: ConsumerProtocol.serializeSubscription.
    """
    out = [_version(version), _count(subscription.topics)]
    out += [_string("topics", topic) for topic in sorted(subscription.topics, key=java_string_order)]
    out.append(_nullable_bytes(subscription.user_data))
    if version >= 1:
        out.append(_topic_partitions("owned_partitions", _sorted_partitions(subscription.owned_partitions)))
    if version >= 2:
        out.append(_int32("generation_id", subscription.generation_id))
    if version >= 3:
        out.append(_string("rack_id", subscription.rack_id) if subscription.rack_id else _INT16.pack(-1))
    return b"".join(out)


def decode_subscription(metadata: bytes) -> Subscription:
    """The subscription in a member's metadata; fields its version lacks keep their defaults, an empty rack is none.

    Raises ConsumerProtocolError in the order of the bytes. Source: ConsumerProtocol.deserializeSubscription.
    """
    reader = _reader(metadata)
    version = reader.version()
    topics = reader.strings("topics")
    user_data = reader.nullable_bytes("user_data")
    owned = _read_topic_partitions(reader, "owned_partitions") if version >= 1 else ()
    generation_id = reader.int32("generation_id") if version >= 2 else NO_GENERATION
    rack_id = reader.nullable_string("rack_id") if version >= 3 else None
    return Subscription(topics, user_data, owned, generation_id, rack_id or None)


def decode_topics(metadata: bytes) -> frozenset[str]:
    """The topics a member subscribes to, read as a broker does: version 0's layout, whatever the version says.

    Raises ConsumerProtocolError also for a bad user_data, which a broker reads and drops.
    Source: ClassicGroup.computeSubscribedTopics.
    """
    reader = _reader(metadata)
    reader.int16("version")
    topics = reader.strings("topics")
    reader.nullable_bytes("user_data")
    return frozenset(topics)


def encode_assignment(assignment: Assignment, version: int = HIGHEST_VERSION) -> bytes:
    """The bytes of an assignment; topics in the order first met, partitions in the order given.

    Raises ConsumerProtocolError as encode_subscription does. Source: ConsumerProtocol.serializeAssignment.
    """
    entries = _topic_partitions("assigned_partitions", assignment.partitions)
    return b"".join((_version(version), entries, _nullable_bytes(assignment.user_data)))


def decode_assignment(assignment: bytes) -> Assignment:
    """The assignment in a member's SyncGroup answer. Empty bytes mean "no assignment": check before decoding.

    Raises ConsumerProtocolError in the order of the bytes. Source: ConsumerProtocol.deserializeAssignment.
    """
    reader = _reader(assignment)
    reader.version()
    partitions = _read_topic_partitions(reader, "assigned_partitions")
    return Assignment(partitions, reader.nullable_bytes("user_data"))


def encode_sticky_user_data(user_data: StickyUserData) -> bytes:
    """The sticky assignor's userData: version 1, or version 0 when there is no generation; sorted, so that the same
    partitions always give the same bytes (Kafka leaves the topics' order to chance).

    Raises ConsumerProtocolError as encode_subscription does. Source: StickyAssignor.
    """
    entries = _topic_partitions("previous_assignment", _sorted_partitions(user_data.partitions))
    return entries if user_data.generation is None else entries + _int32("generation", user_data.generation)


def decode_sticky_user_data(user_data: bytes) -> StickyUserData:
    """The sticky assignor's userData, read as version 1 and, where the generation is missing, as version 0.

    Raises ConsumerProtocolError if it is neither. Source: StickyAssignor.deserializeTopicPartitionAssignment.
    """
    reader = _reader(user_data)
    partitions = _read_topic_partitions(reader, "previous_assignment")
    return StickyUserData(partitions, reader.int32("generation") if reader.remaining() >= _INT32.size else None)


def encode_cooperative_sticky_user_data(generation: int) -> bytes:
    """The cooperative-sticky assignor's userData: the generation. Source: CooperativeStickyAssignor."""
    return _int32("generation", generation)


def decode_cooperative_sticky_user_data(user_data: bytes) -> int:
    """The generation in the cooperative-sticky assignor's userData; raises ConsumerProtocolError if it is too short."""
    return _reader(user_data).int32("generation")


def _sorted_partitions(partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
    return sorted(partitions, key=lambda owned: (java_string_order(owned.topic), owned.partition))


def _version(version: int) -> bytes:
    if not 0 <= version <= HIGHEST_VERSION:
        raise ConsumerProtocolError("version", f"{version} is outside 0..{HIGHEST_VERSION}")
    return _INT16.pack(version)


def _count(items: tuple[str, ...] | list[int] | dict[str, list[int]]) -> bytes:
    return _INT32.pack(len(items))


def _int32(field: str, value: int) -> bytes:
    if not _MIN_INT32 <= value <= _MAX_INT32:
        raise ConsumerProtocolError(field, f"{value} does not fit an int32")
    return _INT32.pack(value)


def _string(field: str, text: str) -> bytes:
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise ConsumerProtocolError(field, f"{text!r} cannot be written as UTF-8") from None
    if len(data) > _MAX_INT16:
        raise ConsumerProtocolError(field, f"{len(data)} bytes of text are more than {_MAX_INT16}")
    return _INT16.pack(len(data)) + data


def _nullable_bytes(data: bytes | None) -> bytes:
    return _INT32.pack(-1) if data is None else _INT32.pack(len(data)) + data


def _topic_partitions(field: str, partitions: Iterable[TopicPartition]) -> bytes:
    by_topic: dict[str, list[int]] = {}
    for topic, run in groupby(partitions, attrgetter("topic")):
        by_topic.setdefault(topic, []).extend(entry.partition for entry in run)
    out = [_count(by_topic)]
    for topic, numbers in by_topic.items():
        out += [_string(f"{field}.topic", topic), _count(numbers)]
        out += [_int32(f"{field}.partitions", number) for number in numbers]
    return b"".join(out)


def _reader(data: bytes) -> Reader:
    return Reader(data, ConsumerProtocolError)


def _read_topic_partitions(reader: Reader, field: str) -> tuple[TopicPartition, ...]:
    entries = reader.numbers_by_name(field, "topic", "partitions")
    return tuple([TopicPartition(topic, number) for topic, numbers in entries for number in numbers])
