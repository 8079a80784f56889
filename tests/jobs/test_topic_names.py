"""Topic ids in a batch's facts give way to names: those that somebody knows, each asked for when it is new."""

from __future__ import annotations

from collections.abc import Iterable

from rollcall.jobs.stream.topic_names import TopicNames
from rollcall.schemas.effect_rows import row_of, texts_of
from rollcall.schemas.effects import Assigned, TopicPartitions

KNOWN, UNKNOWN = "ku-z4qpeQzKl6UjHnTlR_g", "YQgemTWgTHemmC2I9sHetw"


class Cluster:
    """Knows one topic, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def names(self, topic_ids: Iterable[str]) -> dict[str, str]:
        self.asked.append(list(topic_ids))
        return {KNOWN: "orders"}


def texts(*topics: str) -> list[str]:
    partitions = [TopicPartitions(topic=topic, partitions=[0, 1]) for topic in topics]
    fact = Assigned(
        at_ms=5,
        generation_id=2,
        member_id="m",
        client_id="c",
        group_instance_id=None,
        partitions=partitions,
        assignment=b"",
    )
    return texts_of("g", [row_of(fact, 1)])


def test_an_id_gives_way_to_its_name_and_one_that_nobody_knows_stays() -> None:
    names = TopicNames(Cluster().names)
    assert names.named(texts(KNOWN, UNKNOWN, "billing")) == texts("orders", UNKNOWN, "billing")


def test_a_name_is_asked_for_once() -> None:
    cluster = Cluster()
    names = TopicNames(cluster.names)
    for _ in range(3):
        assert names.named(texts(KNOWN)) == texts("orders")
    assert cluster.asked == [[KNOWN]]


def test_a_batch_without_ids_asks_nobody() -> None:
    cluster = Cluster()
    assert TopicNames(cluster.names).named(texts("billing")) == texts("billing")
    assert cluster.asked == []
