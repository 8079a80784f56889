"""What Kafka 4.3 and 4.4 answer differently to the members of consumer groups, one test a difference."""

from __future__ import annotations

import pytest

from rollcall.coordinator_udfs.protocol.kafka_versions import KafkaVersion
from rollcall.schemas.effects import RebalanceEnded
from rollcall.schemas.errors import Error
from tests.protocol.consumer_bench import ConsumerBench
from tests.protocol.rules import rule

V4_3, V4_4 = KafkaVersion
INTERVAL_MS = 5_000


@rule("Kafka versions: since 4.4 the assignment of an Empty group has the group's epoch (KAFKA-20442)")
@pytest.mark.parametrize(("version", "epochs"), [(V4_3, (3, 2)), (V4_4, (3, 3))])
@pytest.mark.parametrize("ending", ["leaves", "expires"])
def test_the_assignment_of_an_empty_group(version: KafkaVersion, epochs: tuple[int, int], ending: str) -> None:
    bench = ConsumerBench(kafka_version=version).with_members("m1")
    bench.leave("m1") if ending == "leaves" else bench.at(100_000)
    described = bench.describe()
    assert (described.group_state, described.group_epoch, described.assignment_epoch) == ("Empty", *epochs)


@rule("Kafka versions: the members that stay wait for a new assignment in either version")
@pytest.mark.parametrize("version", KafkaVersion)
def test_a_group_that_is_not_empty_is_assigned_anew(version: KafkaVersion) -> None:
    bench = ConsumerBench(kafka_version=version).with_members("m1", "m2")
    bench.leave("m1")
    described = bench.describe()
    assert (described.group_state, described.group_epoch, described.assignment_epoch) == ("Assigning", 4, 3)


@rule("Kafka versions: since 4.4 the assignment interval is over once a group is Empty (KAFKA-20442)")
@pytest.mark.parametrize(("version", "assigned"), [(V4_3, {}), (V4_4, {"t1": [0, 1, 2, 3]})])
def test_who_joins_an_empty_group_within_the_interval(version: KafkaVersion, assigned: dict[str, list[int]]) -> None:
    bench = ConsumerBench(kafka_version=version, assignment_interval_ms=INTERVAL_MS).with_members("m1")
    bench.at(100).leave("m1")
    assert bench.at(200).join("m2", "t1").assigned == assigned


@rule("Kafka versions: since 4.4 votes for another assignor raise the epoch, once most members agree (KAFKA-20434)")
@pytest.mark.parametrize(("version", "epochs"), [(V4_3, [4, 4, 4, 4]), (V4_4, [5, 5, 5, 6])])
def test_votes_raise_the_epoch(version: KafkaVersion, epochs: list[int]) -> None:
    bench = ConsumerBench(kafka_version=version).with_members("m1", "m2", "m3")
    seen = []
    for client, assignor in (("m1", "range"), ("m2", "range"), ("m3", "uniform"), ("m1", "uniform")):
        bench.beat(client, server_assignor=assignor)
        seen.append(bench.epoch)
    assert seen == epochs


@rule("Kafka versions: a vote that is repeated raises no epoch, also where two assignors have as many")
def test_a_repeated_vote_raises_no_epoch() -> None:
    bench = ConsumerBench(kafka_version=V4_4)
    bench.join("m1", "t1", server_assignor="uniform")
    bench.join("m2", "t1", server_assignor="range")
    for client, assignor in (("m1", "uniform"), ("m2", "range"), ("m2", "range")):
        bench.beat(client, server_assignor=assignor)
        assert bench.epoch == 3


@rule("Kafka versions: a static member that comes back with another vote raises the epoch since 4.4 (KAFKA-20434)")
@pytest.mark.parametrize(("version", "epoch"), [(V4_3, 2), (V4_4, 3)])
def test_a_static_member_comes_back_with_another_vote(version: KafkaVersion, epoch: int) -> None:
    bench = ConsumerBench(kafka_version=version)
    bench.join("m1", "t1", instance_id="i1", server_assignor="uniform")
    bench.leave("m1", -2, instance_id="i1")
    bench.join("m2", "t1", instance_id="i1", server_assignor="range")
    assert (bench.epoch, bench.describe().assignor_name) == (epoch, "range")


@rule("Kafka versions: since 4.4 a static member comes back to a full group (KAFKA-20601)")
@pytest.mark.parametrize(("version", "error"), [(V4_3, Error.GROUP_MAX_SIZE_REACHED), (V4_4, Error.NONE)])
def test_a_static_member_comes_back_to_a_full_group(version: KafkaVersion, error: Error) -> None:
    bench = ConsumerBench(kafka_version=version, max_size=1)
    bench.join("m1", "t1", instance_id="i1")
    assert bench.join("m2", "t1", instance_id="i2").error is Error.GROUP_MAX_SIZE_REACHED
    bench.leave("m1", -2, instance_id="i1")
    assert bench.join("m2", "t1", instance_id="i1").error is error
    classic = bench.join_classic("c1", "t1", member_id="", group_instance_id="i1")
    assert classic.error is error


@rule("Kafka versions: how a classic member's subscription that cannot be read is refused (KAFKA-20662)")
@pytest.mark.parametrize(
    ("version", "error"), [(V4_3, Error.UNKNOWN_SERVER_ERROR), (V4_4, Error.INCONSISTENT_GROUP_PROTOCOL)]
)
def test_a_subscription_that_cannot_be_read(version: KafkaVersion, error: Error) -> None:
    reply = ConsumerBench(kafka_version=version).with_members("m1").join_classic("c9", protocols={"p": b"?"})
    assert reply.error is error


@rule("History: nobody is waited for until an epoch has its target (KIP-1263)")
@pytest.mark.parametrize("interval_ms", [0, 60_000])
def test_the_time_before_a_target_is_no_members(interval_ms: int) -> None:
    bench = ConsumerBench(assignment_interval_ms=interval_ms).with_members("m1")
    bench.at(100).join("m2", "t1")
    for at_ms in range(1_000, interval_ms, 1_000):
        bench.at(at_ms).beat("m1")
        bench.beat("m2")
    target_ms = max(interval_ms, 100)
    bench.at(target_ms + 500).beat("m1")
    bench.at(target_ms + 1_500).beat("m1", owned={"t1": [0, 1]})
    bench.beat("m2")
    bench.settle()
    ended = bench.of(RebalanceEnded)[-1]
    assert {wait.client_id: wait.held_others_ms for wait in ended.waits} == {
        "m1": 1_000 if interval_ms else 1_500,
        "m2": 0,
    }
