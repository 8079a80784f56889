"""The newer group protocol on one processor core: heartbeats beside the classic ones, and target assignments."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, islice

from benchmarks.bench_core import heartbeat_rate
from benchmarks.figures import Figure, at_least, at_most, bench, cpu_seconds
from coordinator_udfs.protocol.config import ConsumerConfig, GroupConfig
from coordinator_udfs.protocol.consumer.states import ConsumerGroupState
from coordinator_udfs.protocol.group import Group
from coordinator_udfs.protocol.step import expire_due, step
from schemas.messages import ConsumerGroupHeartbeatRequest, ConsumerGroupTopicPartitions

GROUP_ID = "orders"
INTERVAL_MS = 15_000
"""The assignment interval: all members join within it, so that one heartbeat after it assigns for all of them."""


def config(topics: dict[str, int]) -> GroupConfig:
    return GroupConfig(topics=topics, consumer=ConsumerConfig(assignment_interval_ms=INTERVAL_MS))


def heartbeat(n: int, member_epoch: int, at_ms: int, **said: object) -> ConsumerGroupHeartbeatRequest:
    """A heartbeat of the member with this number, with only the given fields."""
    return ConsumerGroupHeartbeatRequest(
        request_id=f"{n}-{at_ms}",
        api_version=1,
        client_id=f"orders-{n}",
        client_host=f"/10.0.{n >> 8}.{n & 255}",
        received_at_ms=at_ms,
        group_id=GROUP_ID,
        member_id=member_id(n),
        member_epoch=member_epoch,
        **said,  # type: ignore[arg-type]
    )


def member_id(n: int) -> str:
    return f"{n:04d}-Vb5RY0tPjxeRtW5Ew"


def joined_group(members: int, settings: GroupConfig, assignor: str = "uniform") -> Group:
    """All members have joined; but for the first, who has everything, their target is still due."""
    group = Group(GROUP_ID)
    names = list(settings.topics or {})
    for n in range(members):
        request = heartbeat(
            n,
            0,
            n,
            rebalance_timeout_ms=300_000,
            subscribed_topic_names=names,
            server_assignor=assignor,
            topic_partitions=[],
        )
        step(group, request, n, settings)
    return group


def settled_group(members: int, settings: GroupConfig) -> Group:
    """Every member has what it is to have."""
    group = joined_group(members, settings)
    consumer = group.consumer
    assert consumer is not None
    for _ in range(4):
        for n, member in enumerate(consumer.members.values()):
            owned = [ConsumerGroupTopicPartitions(topic_name=t, partitions=list(p)) for t, p in member.assigned.items()]
            step(group, heartbeat(n, member.member_epoch, INTERVAL_MS, topic_partitions=owned), INTERVAL_MS, settings)
    if consumer.state is not ConsumerGroupState.STABLE:
        raise AssertionError("the group did not stabilize")
    return group


@bench
def heartbeats_per_second() -> Iterator[Figure]:
    """Heartbeats of settled members, what is due looked for before each; the group's size must not slow them."""
    rates = {members: consumer_heartbeat_rate(members) for members in (20, 200, 2000)}
    yield Figure("heartbeats_200_members", rates[200], "1/s", at_least(250_000))
    yield Figure("heartbeats_200_members_over_classic", rates[200] / heartbeat_rate(200), "ratio", at_least(0.5))
    yield Figure("heartbeats_2000_members_over_20", rates[2000] / rates[20], "ratio", at_least(0.6))


def consumer_heartbeat_rate(members: int, count: int = 200_000) -> float:
    """Heartbeats a second of one core, in a group of this size."""
    settings = config({"orders": 2 * members})
    epoch = settled_group(members, settings).generation_id
    # Five seconds apart for each member, from when the group has settled.
    numbers = enumerate(islice(cycle(range(members)), count))
    requests = [heartbeat(n, epoch, INTERVAL_MS + place * 5000 // members) for place, n in numbers]
    groups: list[Group] = []

    def beat() -> None:
        group = groups[-1]
        for request in requests:
            at_ms = request.received_at_ms
            expire_due(group, at_ms - 1, settings)
            step(group, request, at_ms, settings)

    seconds = cpu_seconds(beat, repeats=3, prepare=lambda: groups.append(settled_group(members, settings)))
    if any(group.consumer is None or len(group.consumer.members) != members for group in groups):
        raise AssertionError("a healthy member was lost")
    return count / seconds


@bench
def target_assignment() -> Iterator[Figure]:
    """1,000 members that all joined within an interval are assigned 10,000 partitions by one heartbeat after it."""
    for shape, topics in (
        ("1_topic", {"orders": 10_000}),
        ("100_topics", {f"orders-{n:04d}": 100 for n in range(100)}),
        ("1000_topics", {f"orders-{n:04d}": 10 for n in range(1000)}),
    ):
        for assignor in ("uniform", "range"):
            seconds = target_seconds(topics, assignor)
            yield Figure(f"target_{assignor}_{shape}", seconds * 1000, "ms", at_most(1000))


def target_seconds(topics: dict[str, int], assignor: str) -> float:
    """How long the heartbeat takes that assigns all partitions of these topics to 1,000 members."""
    settings = config(topics)
    pristine = joined_group(1000, settings, assignor)
    groups: list[Group] = []

    def assign() -> None:
        step(groups[-1], heartbeat(0, 2, INTERVAL_MS), INTERVAL_MS, settings)

    seconds = cpu_seconds(assign, repeats=3, prepare=lambda: groups.append(pristine.copy()))
    for group in groups:
        consumer = group.consumer
        assert consumer is not None
        given = sum(len(p) for member in consumer.members.values() for p in (member.target or {}).values())
        if (consumer.target_epoch, given) != (1001, 10_000):
            raise AssertionError(f"{given} partitions were given at epoch {consumer.target_epoch}")
    return seconds
