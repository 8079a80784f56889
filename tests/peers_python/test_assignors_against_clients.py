"""Our assignors against those of the Python clients, kafka-python and aiokafka, on random groups.

Where they may differ, each by one rule:
- Both sort text by code points, Java by UTF-16 units: the groups here have plain names.
- aiokafka's assignors know no static members: it is given groups without any.
- kafka-python groups static and dynamic members with itertools.groupby, which wants them next to each other: a list in
  which they alternate loses members (pinned below), so it is given the static ones first.
- kafka-python's roundrobin fails when it must skip a member that does not subscribe (pinned below).
- kafka-python writes a version before the sticky userData, which Java and aiokafka do not (pinned below): it is given
  userData of its own.
- Their sticky algorithm is Kafka's before 2.4 (KIP-54). With differing subscriptions that is still Java's. They differ
  in a swap, about once in 250 groups: which of several partitions of one topic is moved back (the lowest here, any
  in theirs), and aiokafka moves that one alone where both of the swap had moved before, as Java does. With equal
  subscriptions Java has another algorithm since 2.4: the loads are the same, ours keeps at least as much. Whether
  subscriptions are equal they decide by the topics that exist, Java by all.
- Of two claims in one generation they let the first win, Java lets both lose: the claims here never conflict.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.coordinator.assignors.range import RangePartitionAssignor as AiokafkaRange
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor as AiokafkaRoundRobin
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor as AiokafkaSticky
from aiokafka.coordinator.protocol import ConsumerProtocolMemberMetadata
from hypothesis import given
from hypothesis import strategies as st
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor as KafkaPythonCooperativeSticky
from kafka.coordinator.assignors.range import RangePartitionAssignor as KafkaPythonRange
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor as KafkaPythonRoundRobin
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor as KafkaPythonSticky
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription

from rollcall.answers.clients.assignors import ASSIGNORS
from rollcall.schemas.consumer_protocol import (
    TopicPartition,
    decode_sticky_user_data,
    decode_subscription,
    encode_subscription,
)
from rollcall.schemas.layout import LayoutError
from tests.clients.assignor_groups import PLAIN_NAMES, PLAIN_TOPICS, Group, Member, groups, parse

KAFKA_PYTHON: dict[str, Any] = {
    "range": KafkaPythonRange,
    "roundrobin": KafkaPythonRoundRobin,
    "sticky": KafkaPythonSticky,
    "cooperative-sticky": KafkaPythonCooperativeSticky,
}
AIOKAFKA: dict[str, Any] = {"range": AiokafkaRange, "roundrobin": AiokafkaRoundRobin, "sticky": AiokafkaSticky}
CLIENTS = st.sampled_from(["kafka-python", "aiokafka"])
Assignment = dict[str, list[TopicPartition]]


@pytest.fixture(autouse=True, scope="module")
def quiet_clients() -> Iterator[None]:
    """The clients warn of every topic without metadata."""
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


class Cluster:
    """What the clients' assignors ask of their cluster metadata."""

    def __init__(self, partitions_by_topic: Mapping[str, int]) -> None:
        self._partitions = {topic: set(range(count)) for topic, count in partitions_by_topic.items() if count}

    def topics(self) -> set[str]:
        return set(self._partitions)

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return self._partitions.get(topic)


def kafka_python(name: str, group: Group) -> Assignment:
    members = [
        SimpleNamespace(
            member_id=member_id,
            group_instance_id=member.group_instance_id,
            metadata=ConsumerProtocolSubscription.decode(kafka_python_bytes(name, group, member_id)),
        )
        for member_id, member in group.members(name).items()
    ]
    return result(KAFKA_PYTHON[name]().assign(Cluster(group.partitions_by_topic), members))


def kafka_python_bytes(name: str, group: Group, member_id: str) -> bytes:
    if name != "sticky":
        return encode_subscription(group.members(name)[member_id].subscription)
    topics, generation = group.topics[member_id], group.generations[member_id]
    data: bytes = KafkaPythonSticky._metadata(topics, group.claims[member_id], generation).encode(version=0)
    return data


def aiokafka(name: str, group: Group) -> Assignment:
    members = {
        member_id: ConsumerProtocolMemberMetadata.decode(encode_subscription(member.subscription, 0))
        for member_id, member in group.members(name).items()
    }
    return result(AIOKAFKA[name].assign(Cluster(group.partitions_by_topic), members))


def result(assignment: Mapping[str, Any]) -> Assignment:
    return {
        member_id: sorted(TopicPartition(topic, number) for topic, number in theirs.partitions())
        for member_id, theirs in assignment.items()
    }


def ours(name: str, group: Group) -> Assignment:
    return {member_id: sorted(partitions) for member_id, partitions in group.assign(name).items()}


def theirs(client: str, name: str, group: Group) -> tuple[Group, Assignment]:
    """The group as the client can take it, and what it makes of it."""
    if client == "aiokafka":
        group = replace(group, instances=dict.fromkeys(group.instances))
        return group, aiokafka(name, group)
    static_first = sorted(group.topics, key=lambda member_id: group.instances[member_id] is None)
    group = replace(group, topics={member_id: group.topics[member_id] for member_id in static_first})
    return group, kafka_python(name, group)


def kept(group: Group, assignment: Assignment) -> int:
    return sum(len(set(group.claims[member_id]) & set(assignment[member_id])) for member_id in assignment)


def random_group(random: Random, is_equal: bool) -> Group:
    """A group whose members had everything shared out unevenly, some of it to a member that is gone."""
    counts = {topic: random.randint(0, 9) for topic in random.sample(PLAIN_TOPICS, random.randint(1, 3))}
    member_ids = [f"{random.choice(PLAIN_NAMES)}-{number}" for number in range(random.randint(1, 7))]
    common = random.sample(list(counts), random.randint(1, len(counts)))
    owners = [*member_ids, "gone"]
    weights = [random.random() ** 3 for _ in owners]
    claims: dict[str, list[TopicPartition]] = {owner: [] for owner in owners}
    for topic, count in counts.items():
        for number in range(count):
            claims[random.choices(owners, weights)[0]].append(TopicPartition(topic, number))
    topics = {
        each: common if is_equal else random.sample(common, random.randint(1, len(common))) for each in member_ids
    }
    return Group(
        counts,
        {member_id: tuple(topics[member_id]) for member_id in member_ids},
        {member_id: tuple(claims[member_id]) for member_id in member_ids},
        dict.fromkeys(member_ids, 3),
        {member_id: random.choice([None, f"instance-{member_id}"]) for member_id in member_ids},
    )


def random_groups(is_equal: bool) -> list[Group]:
    """300 groups, always the same, whose subscriptions are equal or differ in topics that exist."""
    random = Random(54)
    found: list[Group] = []
    while len(found) < 300:
        group = random_group(random, is_equal)
        existing = Cluster(group.partitions_by_topic).topics()
        subscriptions = {frozenset(existing.intersection(topics)) for topics in group.topics.values()}
        if is_equal or len(subscriptions) > 1:
            found.append(group)
    return found


@given(groups(is_plain=True), CLIENTS)
def test_range_is_the_same(group: Group, client: str) -> None:
    group, assignment = theirs(client, "range", group)
    assert ours("range", group) == assignment


@given(groups(is_plain=True))
def test_roundrobin_is_the_same_as_in_aiokafka(group: Group) -> None:
    group, assignment = theirs("aiokafka", "roundrobin", group)
    assert ours("roundrobin", group) == assignment


@given(groups(is_plain=True, is_equal=True))
def test_roundrobin_is_the_same_as_in_kafka_python_where_it_skips_nobody(group: Group) -> None:
    group, assignment = theirs("kafka-python", "roundrobin", group)
    assert ours("roundrobin", group) == assignment


@pytest.mark.parametrize(
    ("client", "name"), [("kafka-python", "sticky"), ("aiokafka", "sticky"), ("kafka-python", "cooperative-sticky")]
)
def test_sticky_is_the_same_with_differing_subscriptions_up_to_rare_swaps(client: str, name: str) -> None:
    different = 0
    for group in random_groups(is_equal=False):
        taken, assignment = theirs(client, name, group)
        mine = ours(name, taken)
        different += mine != assignment
        assert sorted(map(len, mine.values())) == sorted(map(len, assignment.values()))
        assert kept(taken, mine) >= kept(taken, assignment)
    assert different <= 6


@pytest.mark.parametrize("client", ["kafka-python", "aiokafka"])
def test_sticky_loads_are_the_same_with_equal_subscriptions_and_no_less_is_kept(client: str) -> None:
    for group in random_groups(is_equal=True):
        taken, assignment = theirs(client, "sticky", group)
        mine = ours("sticky", taken)
        assert sorted(map(len, mine.values())) == sorted(map(len, assignment.values()))
        assert kept(taken, mine) >= kept(taken, assignment)


def test_cooperative_sticky_keeps_no_less_with_equal_subscriptions_and_ends_with_the_same_loads() -> None:
    for group in random_groups(is_equal=True):
        taken, assignment = theirs("kafka-python", "cooperative-sticky", group)
        mine = ours("cooperative-sticky", taken)
        assert kept(taken, mine) >= kept(taken, assignment)
        second = ours("cooperative-sticky", taken.after(mine))
        _, their_second = theirs("kafka-python", "cooperative-sticky", taken.after(assignment))
        assert sorted(map(len, second.values())) == sorted(map(len, their_second.values()))


def group_of(*members: Member, **partitions_by_topic: int) -> Group:
    return Group(
        partitions_by_topic,
        {member.member_id: tuple(member.topics.split()) for member in members},
        {member.member_id: parse(member.claims) for member in members},
        {member.member_id: member.generation for member in members},
        {member.member_id: member.instance for member in members},
    )


@pytest.mark.parametrize("name", ["range", "roundrobin"])
def test_kafka_python_loses_members_where_static_and_dynamic_ones_alternate(name: str) -> None:
    group = group_of(Member("a", "t", instance="i1"), Member("b", "t"), Member("c", "t", instance="i2"), t=3)
    assert all(ours(name, group).values())
    assert kafka_python(name, group)["a"] == []


def test_kafka_python_fails_where_its_roundrobin_must_skip_a_member() -> None:
    group = group_of(Member("a", "s"), Member("b", "t"), Member("c", "t"), s=1, t=3)
    assert ours("roundrobin", group) == {"a": [*parse("sp0")], "b": [*parse("tp0 tp2")], "c": [*parse("tp1")]}
    assert aiokafka("roundrobin", group) == ours("roundrobin", group)
    with pytest.raises(KeyError):
        kafka_python("roundrobin", group)


def test_kafka_python_writes_a_version_before_sticky_user_data_that_java_and_aiokafka_take_for_a_count() -> None:
    claims = parse("tp0 tp1")
    from_kafka_python = KafkaPythonSticky._metadata(("t",), claims, 5).encode(version=0)
    from_aiokafka = AiokafkaSticky._metadata(("t",), claims, 5).encode()
    user_data = decode_subscription(from_aiokafka).user_data
    assert user_data is not None
    assert user_data == ASSIGNORS["sticky"].subscription_user_data(claims, 5)
    prefixed = decode_subscription(from_kafka_python).user_data
    assert prefixed == b"\x00\x01" + user_data
    with pytest.raises(LayoutError, match="partitions: count at byte 0"):
        decode_sticky_user_data(prefixed)
