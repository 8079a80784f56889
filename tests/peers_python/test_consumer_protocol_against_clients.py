"""Our bytes of the consumer protocol against what kafka-python and aiokafka write and read.

kafka-python knows all four versions; aiokafka knows version 0. Neither sorts what it writes, so they are given topics
and partitions in Java's order, which is ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyAssignorUserDataV1
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment, ConsumerProtocolMemberMetadata
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription

from rollcall.schemas.consumer_protocol import (
    Assignment,
    StickyUserData,
    Subscription,
    TopicPartition,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_sticky_user_data,
    encode_subscription,
    java_string_order,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
INT32 = st.integers(-(2**31), 2**31 - 1)
TOPICS = st.lists(TEXT, max_size=5, unique=True).map(lambda topics: tuple(sorted(topics, key=java_string_order)))
PARTITIONS = st.lists(st.builds(TopicPartition, TEXT, INT32), max_size=8).map(
    lambda each: tuple(sorted(each, key=lambda one: (java_string_order(one.topic), one.partition)))
)
USER_DATA = st.none() | st.binary(max_size=12)
VERSIONS = st.integers(0, 3)


def by_topic(partitions: Iterable[TopicPartition]) -> list[tuple[str, list[int]]]:
    return [(topic, [each.partition for each in run]) for topic, run in groupby(partitions, lambda each: each.topic)]


def kafka_python_entries(kind: Any, partitions: Iterable[TopicPartition]) -> list[Any]:
    return [kind.TopicPartition(topic=topic, partitions=numbers) for topic, numbers in by_topic(partitions)]


@given(st.builds(Subscription, TOPICS, USER_DATA, PARTITIONS, INT32, st.none() | TEXT.filter(bool)), VERSIONS)
def test_a_subscription_has_kafka_pythons_bytes_in_every_version(subscription: Subscription, version: int) -> None:
    theirs = ConsumerProtocolSubscription(
        version=version,
        topics=list(subscription.topics),
        user_data=subscription.user_data,
        owned_partitions=kafka_python_entries(ConsumerProtocolSubscription, subscription.owned_partitions),
        generation_id=subscription.generation_id,
        rack_id=subscription.rack_id,
    )
    data = encode_subscription(subscription, version)
    assert data == theirs.encode(version=version)
    read = ConsumerProtocolSubscription.decode(data)
    ours = decode_subscription(data)
    assert (tuple(read.topics), read.user_data) == (ours.topics, ours.user_data)


@given(PARTITIONS, USER_DATA, VERSIONS)
def test_an_assignment_has_kafka_pythons_bytes_in_every_version(
    partitions: tuple[TopicPartition, ...], user_data: bytes | None, version: int
) -> None:
    entries = kafka_python_entries(ConsumerProtocolAssignment, partitions)
    theirs = ConsumerProtocolAssignment(version=version, assigned_partitions=entries, user_data=user_data)
    data = encode_assignment(Assignment(partitions, user_data), version)
    assert data == theirs.encode(version=version)
    assert [tuple(each) for each in ConsumerProtocolAssignment.decode(data).partitions()] == list(partitions)


@given(TOPICS, USER_DATA)
def test_a_subscription_has_aiokafkas_bytes_in_version_0(topics: tuple[str, ...], user_data: bytes | None) -> None:
    data = ConsumerProtocolMemberMetadata(0, list(topics), user_data).encode()
    assert encode_subscription(Subscription(topics, user_data), 0) == data
    assert decode_subscription(data) == Subscription(topics, user_data)


@given(PARTITIONS, USER_DATA)
def test_an_assignment_has_aiokafkas_bytes_in_version_0(
    partitions: tuple[TopicPartition, ...], user_data: bytes | None
) -> None:
    data = ConsumerProtocolMemberAssignment(0, by_topic(partitions), user_data).encode()
    assert encode_assignment(Assignment(partitions, user_data), 0) == data
    assert decode_assignment(data) == Assignment(partitions, user_data)


@given(PARTITIONS, INT32)
def test_sticky_user_data_has_aiokafkas_bytes(partitions: tuple[TopicPartition, ...], generation: int) -> None:
    theirs = StickyAssignorUserDataV1(by_topic(partitions), generation).encode()
    assert encode_sticky_user_data(StickyUserData(partitions, generation)) == theirs
