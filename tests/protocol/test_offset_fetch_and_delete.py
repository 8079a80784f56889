"""OffsetFetch and OffsetDelete: what a group has committed, by version, and taking it away."""

from __future__ import annotations

import pytest

from rollcall.schemas.errors import Error
from tests.protocol.bench import Bench
from tests.protocol.rules import rule
from tests.requests import subscription

T1, T2 = ("t1", 0), ("t2", 0)


def fetched(bench: Bench, **asked: object) -> dict[tuple[str, int], int]:
    """Offsets by (topic, partition), as answered."""
    call = bench.fetch(**asked)  # type: ignore[arg-type]
    response = call.response
    topics = response.groups[0].topics if response.groups else response.topics
    return {(t.name, p.partition_index): p.committed_offset for t in topics for p in t.partitions}


# ---------------------------------------------------------------- OffsetFetch


@rule(
    "OffsetFetch: an unknown or Dead group has committed nothing, without error",
    origin="testFetchOffsetsWithUnknownGroup testFetchAllOffsetsWithUnknownGroup"
    " testGenericGroupFetchOffsetsWithDeadGroup testGenericGroupFetchAllOffsetsWithDeadGroup",
)
@pytest.mark.parametrize("is_dead", [False, True])
@pytest.mark.parametrize("v", [1, 7, 9])
def test_a_group_without_offsets_answers_minus_one(is_dead: bool, v: int) -> None:
    bench = Bench()
    if is_dead:
        bench.stable("m1").unload()
    call = bench.fetch({"t1": [0, 3]}, v=v)
    topics = call.response.groups[0].topics if v >= 8 else call.response.topics
    assert [
        (p.partition_index, p.committed_offset, p.committed_leader_epoch, p.metadata, p.error_code)
        for p in topics[0].partitions
    ] == [(0, -1, -1, "", Error.NONE), (3, -1, -1, "", Error.NONE)]
    assert fetched(bench, v=max(v, 2)) == {}
    assert bench.group.is_known is is_dead


@rule("OffsetFetch: all topics are asked for by none, from v2")
@pytest.mark.parametrize("v", [2, 7, 8, 9])
def test_all_that_is_committed_is_answered(v: int) -> None:
    bench = Bench()
    bench.commit(offsets={T2: 7, T1: 5, ("t1", 3): 6})
    assert fetched(bench, v=v) == {T1: 5, ("t1", 3): 6, T2: 7}


@rule("OffsetFetch: unknown partitions are asked for like known ones; v10 names an unknown topic id")
def test_what_does_not_exist_is_not_committed() -> None:
    bench = Bench(topics={"t1": 4})
    assert fetched(bench, partitions={"nope": [0], "t1": [99]}) == {("nope", 0): -1, ("t1", 99): -1}
    by_id = bench.fetch({"t1": [0], "nope": [0]}, v=10).response.groups[0].topics
    assert [(t.topic_id, t.partitions[0].error_code) for t in by_id] == [
        ("t1", Error.NONE),
        ("nope", Error.UNKNOWN_TOPIC_ID),
    ]


@rule("OffsetFetch: require_stable changes nothing where there are no transactions")
def test_every_offset_is_stable() -> None:
    bench = Bench()
    bench.commit(offsets={T1: 5})
    assert fetched(bench, require_stable=True) == {T1: 5}


@rule("OffsetFetch: epoch and metadata come back as committed")
def test_everything_committed_comes_back() -> None:
    bench = Bench()
    bench.commit(offsets={T1: 5}, metadata="mine", leader_epoch=3)
    partition = bench.fetch().response.groups[0].topics[0].partitions[0]
    assert (partition.committed_leader_epoch, partition.metadata) == (3, "mine")


# ---------------------------------------------------------------- OffsetDelete


@rule(
    "OffsetDelete: an unknown or Dead group is GROUP_ID_NOT_FOUND on top, with no topics",
    origin="testGenericGroupOffsetDeleteWithErrors testDeleteOffsetOfNonExistingGroup"
    " testDeleteOffsetOfDeadConsumerGroup testValidateOffsetDelete",
)
@pytest.mark.parametrize("is_dead", [False, True])
def test_there_must_be_a_group(is_dead: bool) -> None:
    bench = Bench()
    if is_dead:
        bench.stable("m1").unload()
    sent = bench.delete_offsets({"t1": [0]})
    assert (sent.response.error_code, sent.response.topics) == (Error.GROUP_ID_NOT_FOUND, [])


@rule("Subscription: it changes at the end of a join phase only")
def test_the_last_generations_subscription_holds() -> None:
    bench = Bench().stable("m1")
    bench.enter("m2", protocols={"range": subscription("t2")})
    assert bench.delete_offsets({"t2": [0]}).partition_errors == {T2: Error.NONE}
    bench.join("m1")
    assert bench.delete_offsets({"t2": [0]}).partition_errors == {T2: Error.GROUP_SUBSCRIBED_TO_TOPIC}


@rule("Subscription: a static member's return without rebalance leaves it as it was")
def test_a_return_changes_no_subscription() -> None:
    bench = Bench().static("m1").stable("m1")
    bench.join("m1b", instance_id="i1", protocols={"range": subscription("t2")})
    sent = bench.delete_offsets({"t1": [0], "t2": [0]})
    assert sent.partition_errors == {T1: Error.GROUP_SUBSCRIBED_TO_TOPIC, T2: Error.NONE}


@rule("Subscription: in the first join phase it is to everything")
def test_the_subscription_of_a_group_that_has_not_formed_yet() -> None:
    first = Bench(group_initial_rebalance_delay_ms=3_000)
    first.enter("m1")
    assert first.delete_offsets({"t2": [0]}).partition_errors == {T2: Error.GROUP_SUBSCRIBED_TO_TOPIC}
