"""Lag in records where a log has transactions, where its topic is made again, and where its broker was away: what the
admin client says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec  # type: ignore[attr-defined]

from tests.peers_kafka.cluster_shadow import SHORT_HOLD, ClusterShadow
from tests.peers_kafka.kafka import Broker
from tests.peers_kafka.members import QUICK
from tests.waiting import until

MONEY, AGAIN, PLAIN = "money", "again", "plain"
"""Each topic has one partition, and a group of its name."""
ANSWER_S = 30


@dataclass
class Cluster:
    """A broker, and a shadow that follows its request log and its topic of offsets."""

    running: Broker
    shadow: ClusterShadow

    def __post_init__(self) -> None:
        self.client: dict[str, Any] = {"bootstrap.servers": self.running.address, "log_level": 3}
        self._admins = [AdminClient(self.client)]

    @property
    def admin(self) -> AdminClient:
        return self._admins[-1]

    def restart(self) -> None:
        """The old admin client knows a leader of before. It stays: one that goes may yet await an answer."""
        self.running.stop()
        self.running.start()
        self._admins.append(AdminClient(self.client))

        # Answered NOT_COORDINATOR, librdkafka 2.16 asks its consumer group to look for the coordinator: an admin client
        # has none, and the process ends.
        with closing(Consumer({**self.client, "group.id": PLAIN})) as reader:

            def has_loaded_its_groups() -> bool:
                with suppress(KafkaException):
                    (committed,) = reader.committed([TopicPartition(PLAIN, 0)], timeout=ANSWER_S)
                    return committed.error is None and committed.offset >= 0
                return False

            until(has_loaded_its_groups, "the broker has loaded its groups")

    def make(self, topic: str) -> None:
        self.admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(ANSWER_S)
        until(lambda: topic in self.admin.list_topics().topics, "the topic is there")

    def delete(self, topic: str) -> None:
        self.admin.delete_topics([topic])[topic].result(ANSWER_S)
        until(lambda: topic not in self.admin.list_topics().topics, "the topic is gone")

    def send(self, topic: str, count: int) -> None:
        producer = Producer(self.client)
        for _ in range(count):
            producer.produce(topic, b"x", partition=0)
        assert producer.flush(ANSWER_S) == 0

    def member(self, topic: str, isolation_level: str = "read_committed") -> Consumer:
        settings = {"group.id": topic, "client.id": f"{topic}-member", "auto.offset.reset": "earliest"}
        member = Consumer({**self.client, **settings, "isolation.level": isolation_level, "enable.auto.commit": False})
        member.subscribe([topic])
        return member

    def lag(self, topic: str, isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED) -> int:
        """As the admin client has it: the end for a reader of this kind, less the commit."""
        request = [ConsumerGroupTopicPartitions(topic, [TopicPartition(topic, 0)])]
        (committed,) = self.admin.list_consumer_group_offsets(request)[topic].result(ANSWER_S).topic_partitions
        asked = {TopicPartition(topic, 0): OffsetSpec.latest()}
        (end,) = self.admin.list_offsets(asked, isolation_level=isolation).values()
        return int(end.result(ANSWER_S).offset - committed.offset)

    def decided_lag(self, topic: str) -> int:
        """Once all is decided: a transaction is committed before its marks are in the logs."""
        until(lambda: self.lag(topic, IsolationLevel.READ_COMMITTED) == self.lag(topic), "all is decided")
        return self.lag(topic)

    def await_lag(self, topic: str, lag: int) -> None:
        query = f"select lag_records, committed_offset, end_offset, last_stable_offset from lag where topic = '{topic}'"
        self.shadow.await_rows(query, f"{topic}: {lag} records", lambda rows: [row[0] for row in rows] == [lag])


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder: Path = tmp_path_factory.mktemp("changing")
    log = folder / "kafka-request.log"
    running = Broker(folder, QUICK, requests_log=log)
    running.start()
    settings = {**SHORT_HOLD, "rollcall.lag.interval.ms": "1000"}
    shadow = ClusterShadow(folder, str(log), f"kafka://{running.address}", settings=settings)
    try:
        shadow.start()
        cluster = Cluster(running, shadow)
        # A topic of offsets is made with the first group.
        cluster.make(PLAIN)
        read_some(cluster, PLAIN, 0).close()
        shadow.await_begun()
        yield cluster
        shadow.stop()
    finally:
        shadow.end()
        running.stop()


def read(member: Consumer, count: int) -> None:
    """Reads so many records, and commits where it goes on."""
    found: list[object] = []

    def has_all() -> bool:
        message = member.poll(0.5)
        if message is not None and message.error() is None:
            found.append(message)
        return len(found) >= count

    until(has_all, lambda: f"{count} records are read: {len(found)}")
    member.commit(asynchronous=False)


def read_some(cluster: Cluster, topic: str, count: int) -> Consumer:
    """A member that has its partition, and has committed."""
    cluster.send(topic, count + 10)
    member = cluster.member(topic)
    read(member, count + 1)
    return member


def test_a_reader_of_transactions_is_behind_what_is_decided_with_what_was_aborted(cluster: Cluster) -> None:
    cluster.make(MONEY)
    producer = Producer({**cluster.client, "transactional.id": MONEY})
    producer.init_transactions(ANSWER_S)

    def send(count: int) -> None:
        producer.begin_transaction()
        for _ in range(count):
            producer.produce(MONEY, b"x", partition=0)
        producer.flush(ANSWER_S)

    send(20)
    producer.commit_transaction(ANSWER_S)
    with closing(cluster.member(MONEY)) as member:
        read(member, 20)
        cluster.await_lag(MONEY, cluster.lag(MONEY, IsolationLevel.READ_COMMITTED))
        send(10)
        producer.abort_transaction(ANSWER_S)
        send(5)
        producer.commit_transaction(ANSWER_S)
        decided = cluster.decided_lag(MONEY)
        cluster.await_lag(MONEY, decided)
        send(7)
        assert cluster.lag(MONEY) == decided + 7
        assert cluster.lag(MONEY, IsolationLevel.READ_COMMITTED) == decided
        sampled = "select 1 from log_ends where topic = 'money' and end_offset = last_stable_offset + 7"
        cluster.shadow.await_rows(sampled, "the open transaction is known")
        cluster.await_lag(MONEY, decided)
        producer.commit_transaction(ANSWER_S)
        cluster.await_lag(MONEY, cluster.decided_lag(MONEY))
        read(member, 12)
        # The mark that ends a transaction is no record. The admin client counts it, and so does the view of a log of
        # which it is not known that it has transactions.
        assert cluster.lag(MONEY, IsolationLevel.READ_COMMITTED) == 1
        cluster.await_lag(MONEY, 0)


def test_a_topic_made_again_has_the_lag_of_its_new_log(cluster: Cluster) -> None:
    cluster.make(AGAIN)
    with closing(read_some(cluster, AGAIN, 40)):
        cluster.await_lag(AGAIN, cluster.lag(AGAIN))
    cluster.delete(AGAIN)
    cluster.make(AGAIN)
    with closing(read_some(cluster, AGAIN, 2)):
        assert 0 < cluster.lag(AGAIN) < 11
        cluster.await_lag(AGAIN, cluster.lag(AGAIN))


def test_after_its_broker_was_away_the_lag_is_that_of_now(cluster: Cluster) -> None:
    with closing(cluster.member(PLAIN)) as member:
        cluster.send(PLAIN, 30)
        read(member, 5)
        cluster.await_lag(PLAIN, cluster.lag(PLAIN))
        cluster.restart()
        cluster.send(PLAIN, 50)
        cluster.await_lag(PLAIN, cluster.lag(PLAIN))
        read(member, 20)
        cluster.await_lag(PLAIN, cluster.lag(PLAIN))
