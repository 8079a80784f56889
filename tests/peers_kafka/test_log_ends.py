"""Lag beside a real broker's own figures: the sampler asks it, and what it writes is what its admin client says.

A producer sends at a known rate, a group commits, a transaction stays open, records are deleted.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, IsolationLevel, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec  # type: ignore[attr-defined]

from rollcall.answers.sql.named_partitions import named_partitions
from rollcall.inputs.following.listed_offsets import ListedOffsets
from rollcall.inputs.following.log_ends_sampler import TOPICS_EVERY_MS, LogEndsSampler
from rollcall.programs.kafka_options import client_settings
from rollcall.tables.home import Home
from tests.peers_kafka.kafka import Broker, broker
from tests.views.story import Story, write_effects
from tests.views.view_rows import Row, rows_of
from tests.waiting import until

GROUP, PLAIN, MONEY, AGAIN, GROWN = "payments", "plain", "money", "again", "grown"
INTERVAL_MS = 1_000
RATE_MS = 10
"""The time between two records."""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    with broker(tmp_path_factory.mktemp("broker")) as address:
        yield {"bootstrap.servers": address}


@pytest.fixture(scope="module")
def admin(client: dict[str, Any]) -> AdminClient:
    admin = AdminClient(client)
    for future in admin.create_topics([NewTopic(name, 1, 1) for name in (PLAIN, MONEY, AGAIN, GROWN)]).values():
        future.result(30)
    return admin


class Followed:
    """A home that gets commits as they are made, and the ends of logs from the sampler."""

    def __init__(self, folder: Path, client: dict[str, Any]) -> None:
        self.home = Home(folder)
        self._story, self._written = Story(GROUP), 0
        self._consumer = Consumer({**client, "group.id": GROUP, "enable.auto.commit": False})
        settings = client_settings({f"kafka.{key}": value for key, value in client.items()})
        self.sampler = LogEndsSampler(self.home, ListedOffsets(settings), named_partitions, INTERVAL_MS)

    def commit(self, topic: str, offset: int, at_ms: int | None = None) -> None:
        self._consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
        self._story.commit(at_ms or now_ms(), GROUP, {f"{topic}-0": offset}, generation_id=-1)
        write_effects(self.home.path, {GROUP: self._story.rows[self._written :]})
        self._written = len(self._story.rows)

    def lag(self, topic: str) -> Row:
        (row,) = [row for row in rows_of(self.home.path, "lag") if row.topic == topic]
        return row


def now_ms() -> int:
    return int(time.time() * 1000)


def paced(producer: Producer, topic: str, count: int, sampler: LogEndsSampler) -> list[int]:
    """Sends records at the rate; when each was sent."""
    sent: list[int] = []
    begun_ms = now_ms()
    while len(sent) < count:
        if now_ms() >= begun_ms + len(sent) * RATE_MS:
            sent.append(now_ms())
            producer.produce(topic, b"x", partition=0, timestamp=sent[-1])
            producer.flush(30)
        sampler.step(now_ms())
    return sent


def asked(admin: AdminClient, topic: str) -> int:
    """The group's lag in a topic, as its admin client says it."""
    request = [ConsumerGroupTopicPartitions(GROUP, [TopicPartition(topic, 0)])]
    (committed,) = admin.list_consumer_group_offsets(request)[GROUP].result(30).topic_partitions
    return end_of(admin, topic, IsolationLevel.READ_UNCOMMITTED) - int(committed.offset)


def end_of(admin: AdminClient, topic: str, isolation: IsolationLevel) -> int:
    """Where a topic's log ends for a reader of this kind."""
    (end,) = admin.list_offsets({TopicPartition(topic, 0): OffsetSpec.latest()}, isolation_level=isolation).values()
    return int(end.result(30).offset)


def test_lag_is_what_the_admin_client_says_and_the_time_that_passed(
    client: dict[str, Any], admin: AdminClient, tmp_path: Path
) -> None:
    followed, producer = Followed(tmp_path, client), Producer(client)
    followed.commit(PLAIN, 0)
    sent = paced(producer, PLAIN, 400, followed.sampler)
    followed.commit(PLAIN, 150)
    followed.sampler.step(now_ms() + INTERVAL_MS)
    row = followed.lag(PLAIN)
    assert row.lag_records == asked(admin, PLAIN) == 250
    assert abs(row.lag_ms - (row.end_known_at - sent[150])) <= INTERVAL_MS + 500
    followed.commit(PLAIN, 400)
    assert (followed.lag(PLAIN).lag_records, followed.lag(PLAIN).lag_ms) == (0, 0)


def test_an_open_transaction_and_deleted_records_are_reported(
    client: dict[str, Any], admin: AdminClient, tmp_path: Path
) -> None:
    followed = Followed(tmp_path, client)
    producer = Producer({**client, "transactional.id": "t"})
    producer.init_transactions(30)
    producer.begin_transaction()
    for _ in range(20):
        producer.produce(MONEY, b"x", partition=0)
    producer.flush(30)
    followed.commit(MONEY, 0)
    at_ms = now_ms()
    for step in range(10):
        followed.sampler.step(at_ms + step * INTERVAL_MS // 2)
    assert (followed.lag(MONEY).end_offset, followed.lag(MONEY).last_stable_offset) == (20, 0)
    producer.commit_transaction(30)
    # It is committed before its mark is in the log.
    until(lambda: end_of(admin, MONEY, IsolationLevel.READ_COMMITTED) == 21, "the mark is there")
    admin.delete_records([TopicPartition(MONEY, 0, 5)])[TopicPartition(MONEY, 0)].result(30)
    for step in range(10, 40):
        followed.sampler.step(at_ms + step * INTERVAL_MS // 2)
    row = followed.lag(MONEY)
    assert (row.end_offset, row.last_stable_offset, row.log_start_offset) == (21, 21, 5)
    assert (row.lag_records, row.records_lost) == (16, 5)


def send(client: dict[str, Any], topic: str, count: int) -> None:
    producer = Producer(client)
    for _ in range(count):
        producer.produce(topic, b"x", partition=0)
    assert producer.flush(30) == 0


@pytest.mark.parametrize(("topic", "count"), [(AGAIN, 5), (GROWN, 60)])
def test_a_topic_made_again_begins_anew_and_what_was_committed_before_is_no_lag(
    client: dict[str, Any], admin: AdminClient, tmp_path: Path, topic: str, count: int
) -> None:
    """In GROWN only the topic's id says so: its end is beyond that of the log before."""
    followed, at_ms = Followed(tmp_path, client), now_ms()
    send(client, topic, 50)
    followed.commit(topic, 40)
    for minute in range(2):
        # It asks for ids once a minute.
        followed.sampler.step(at_ms + minute * TOPICS_EVERY_MS)
    assert followed.lag(topic).lag_records == 10
    admin.delete_topics([topic])[topic].result(30)
    until(lambda: topic not in admin.list_topics().topics, "the topic is gone")
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)
    until(lambda: topic in admin.list_topics().topics, "the topic is there again")
    send(client, topic, count)
    for step in range(1, 30):
        followed.sampler.step(at_ms + (10 + step) * TOPICS_EVERY_MS // 10)
    row = followed.lag(topic)
    assert (row.log_start_offset, row.end_offset, row.lag_records, row.records_lost) == (0, count, None, None)
    # After the samples, which run ahead of the clock.
    followed.commit(topic, 2, at_ms + 4 * TOPICS_EVERY_MS)
    row = followed.lag(topic)
    assert row.lag_records == asked(admin, topic) == count - 2


def test_a_broker_that_is_away_is_said_once_and_asked_again_when_it_is_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broker").mkdir()
    running = Broker(tmp_path / "broker")
    running.start()
    try:
        client: dict[str, Any] = {"bootstrap.servers": running.address}
        admin = AdminClient(client)
        admin.create_topics([NewTopic(PLAIN, 1, 1)])[PLAIN].result(30)
        followed, at_ms = Followed(tmp_path / "home", client), now_ms()
        send(client, PLAIN, 10)
        followed.commit(PLAIN, 4)
        followed.sampler.look(at_ms)
        running.stop()
        for step in (1, 2):
            followed.sampler.look(at_ms + step * INTERVAL_MS)
        assert (followed.lag(PLAIN).lag_records, followed.lag(PLAIN).end_known_at) == (6, at_ms)
        running.start()
        send(client, PLAIN, 10)

        def is_asked_again() -> bool:
            followed.sampler.look(now_ms())
            return bool(followed.lag(PLAIN).end_offset == 20)

        until(is_asked_again, lambda: f"the end is known: {followed.lag(PLAIN)}")
    finally:
        running.stop()
    assert followed.lag(PLAIN).lag_records == 16
    assert capsys.readouterr().err.count("could not be asked for") == 1
