"""The bytes that members of a group of protocol type "consumer" send each other through the coordinator.

What it knows: Kafka's ConsumerProtocolSubscription and ConsumerProtocolAssignment (versions 0 to 3) and the userData
of the sticky assignors. What it must not know: groups, generations' meaning, assignors, or anything outside its
folder: the coordinator's core imports it too.

A decoder reads a version newer than 3 with the layout of version 3 and ignores what follows, as Kafka's does. Bytes
that do not fit raise LayoutError, never anything else, and a count that the bytes cannot hold is refused before
anything is allocated. Text must be valid UTF-8: Kafka replaces what is not and so invents topic names.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Annotated, NamedTuple

from rollcall.schemas.layout import (
    ClassicShape,
    Converted,
    Int32,
    LayoutError,
    read_shape,
    read_versioned,
    write_shape,
)
from rollcall.schemas.shapes import Since

HIGHEST_VERSION = 3
NO_GENERATION = -1
_VERSION_BYTES = 2


class TopicPartition(NamedTuple):
    """One partition of a topic, by the topic's name."""

    topic: str
    partition: int


class PartitionsOfTopic(ClassicShape, frozen=True, kw_only=True):
    topic: str
    partitions: list[Int32]


def java_string_order(text: str) -> bytes:
    """A sort key that orders text as Java's String.compareTo does: by UTF-16 units, not by code points."""
    return text.encode("utf-16-be", "surrogatepass")


def flat(entries: Iterable[PartitionsOfTopic]) -> tuple[TopicPartition, ...]:
    """Every partition with its topic."""
    return tuple([TopicPartition(topic, n) for entry in entries for topic in (entry.topic,) for n in entry.partitions])


def _by_topic(partitions: Iterable[TopicPartition]) -> list[PartitionsOfTopic]:
    """Topics in the order first met, partitions in the order given."""
    topics: dict[str, list[int]] = {}
    for topic, number in partitions:
        topics.setdefault(topic, []).append(number)
    return [PartitionsOfTopic(topic=topic, partitions=numbers) for topic, numbers in topics.items()]


def _sorted_by_topic(partitions: Iterable[TopicPartition]) -> list[PartitionsOfTopic]:
    return _by_topic(sorted(partitions, key=lambda one: (java_string_order(one.topic), one.partition)))


def _in_java_order(topics: Iterable[str]) -> list[str]:
    return sorted(topics, key=java_string_order)


def _or_none(rack_id: str | None) -> str | None:
    return rack_id or None


_Topics = Annotated[tuple[str, ...], Converted(list[str], tuple, _in_java_order)]
_Partitions = Annotated[tuple[TopicPartition, ...], Converted(list[PartitionsOfTopic], flat, _by_topic)]
_SortedPartitions = Annotated[tuple[TopicPartition, ...], Converted(list[PartitionsOfTopic], flat, _sorted_by_topic)]
_Rack = Annotated[str | None, Converted(str | None, _or_none, _or_none)]


class Subscription(ClassicShape, frozen=True):
    """The subscription that a member sends to the leader when it joins (KIP-429, KIP-792, KIP-881)."""

    topics: _Topics
    user_data: bytes | None = None
    owned_partitions: Annotated[_SortedPartitions, Since(1)] = ()
    generation_id: Annotated[Int32, Since(2)] = NO_GENERATION
    rack_id: Annotated[_Rack, Since(3)] = None


class Assignment(ClassicShape, frozen=True):
    """What the leader gives a member."""

    partitions: _Partitions
    user_data: bytes | None = None


class StickyUserData(ClassicShape, frozen=True):
    """What a member of the eager sticky assignor says it was assigned last; generation is None in version 0.

    Sorted, so that the same partitions always give the same bytes (Kafka leaves the topics' order to chance).
    """

    partitions: _SortedPartitions
    generation: Annotated[int | None, struct.Struct(">i"), Since(1)] = None


class _CooperativeStickyUserData(ClassicShape, frozen=True):
    generation: Int32


def encode_subscription(subscription: Subscription, version: int = HIGHEST_VERSION) -> bytes:
    """The bytes of a subscription, topics and owned partitions sorted, fields newer than `version` left out.

    Raises LayoutError: version outside 0..3, text over 32767 bytes, a number outside int32.
    Source: ConsumerProtocol.serializeSubscription.
    """
    return _written(subscription, version)


def decode_subscription(metadata: bytes) -> Subscription:
    """The subscription in a member's metadata; fields its version lacks keep their defaults, an empty rack is none.

    Raises LayoutError in the order of the bytes. Source: ConsumerProtocol.deserializeSubscription.
    """
    subscription: Subscription = read_versioned(Subscription, HIGHEST_VERSION, metadata)
    return subscription


def decode_topics(metadata: bytes) -> frozenset[str]:
    """The topics a member subscribes to, read as a broker does: version 0's layout, whatever the version says.

    Raises LayoutError also for a bad user_data, which a broker reads and drops.
    Source: ClassicGroup.computeSubscribedTopics.
    """
    return frozenset(read_shape(Subscription, 0, metadata, _VERSION_BYTES).topics)


def encode_assignment(assignment: Assignment, version: int = HIGHEST_VERSION) -> bytes:
    """The bytes of an assignment; topics in the order first met, partitions in the order given.

    Raises LayoutError as encode_subscription does. Source: ConsumerProtocol.serializeAssignment.
    """
    return _written(assignment, version)


def decode_assignment(assignment: bytes) -> Assignment:
    """The assignment in a member's SyncGroup answer. Empty bytes mean "no assignment": check before decoding.

    Raises LayoutError in the order of the bytes. Source: ConsumerProtocol.deserializeAssignment.
    """
    decoded: Assignment = read_versioned(Assignment, HIGHEST_VERSION, assignment)
    return decoded


def encode_sticky_user_data(user_data: StickyUserData) -> bytes:
    """The sticky assignor's userData: version 1, or version 0 when there is no generation.

    Raises LayoutError as encode_subscription does. Source: StickyAssignor.
    """
    return write_shape(user_data, 0 if user_data.generation is None else 1)


def decode_sticky_user_data(user_data: bytes) -> StickyUserData:
    """The sticky assignor's userData, read as version 1 and, where the generation is missing, as version 0.

    Raises LayoutError if it is neither. Source: StickyAssignor.deserializeTopicPartitionAssignment.
    """
    try:
        decoded: StickyUserData = read_shape(StickyUserData, 1, user_data)
    except LayoutError:
        decoded = read_shape(StickyUserData, 0, user_data)
    return decoded


def encode_cooperative_sticky_user_data(generation: int) -> bytes:
    """The cooperative-sticky assignor's userData: the generation. Source: CooperativeStickyAssignor."""
    return write_shape(_CooperativeStickyUserData(generation), 0)


def decode_cooperative_sticky_user_data(user_data: bytes) -> int:
    """The generation in the cooperative-sticky assignor's userData; raises LayoutError if it is too short."""
    generation: int = read_shape(_CooperativeStickyUserData, 0, user_data).generation
    return generation


def _written(value: Subscription | Assignment, version: int) -> bytes:
    if not 0 <= version <= HIGHEST_VERSION:
        raise LayoutError("version", f"{version} is outside 0..{HIGHEST_VERSION}")
    return version.to_bytes(_VERSION_BYTES) + write_shape(value, version)
