"""A gateway before a real Kafka: real clients read its records while their group lives with us."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from rollcall.serve.listeners.addresses import parse_address
from tests.gateway.process import serving
from tests.peers_clients.conftest import PARTITIONS, TOPIC, Coordinator
from tests.peers_clients.fleet import CONSUMER_PROTOCOL_KINDS, KINDS, Fleet, Worker
from tests.peers_clients.java_clients import consumer_groups
from tests.peers_kafka.kafka import broker
from tests.source_tree import ROOT
from tests.waiting import until

RECORDS = 100_000
READ = "records"
GROUP = "readers"
RECORDS_A_TURN, AHEAD = 200, 5_000


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with broker(tmp_path_factory.mktemp("kafka")) as address:
        yield address


@pytest.fixture(scope="module")
def before(kafka: str) -> Iterator[Coordinator]:
    """A gateway before it; topics are made and filled through the gateway."""
    settings = {
        "gateway.upstream": kafka,
        "group.min.session.timeout.ms": "500",
        "group.initial.rebalance.delay.ms": "0",
        "group.consumer.heartbeat.interval.ms": "1000",
        "group.consumer.assignment.interval.ms": "0",
        "gateway.upstream.topics.interval.ms": "500",
    }
    with serving(settings) as address:
        admin = AdminClient({"bootstrap.servers": str(address)})
        for made in admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1), NewTopic(READ, PARTITIONS, 1)]).values():
            made.result()
        yield Coordinator(address)


class Event(NamedTuple):
    """What a reader said."""

    at_s: float
    what: str
    partition: int
    numbers: tuple[int, ...]


class Reader:
    """A consumer of the records, as a process. seen: partition and offset of what any reader has read."""

    def __init__(self, bootstrap: str, client_id: str, seen: set[tuple[int, int]]) -> None:
        words = {"bootstrap": bootstrap, "group": GROUP, "topic": READ, "client-id": client_id}
        command = [sys.executable, "-m", "tests.peers_clients.workers.reader"]
        command += [word for name, value in words.items() for word in (f"--{name}", value)]
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.seen = seen
        self.events: list[Event] = []
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            at_s, what, partition, *numbers = line.split()
            event = Event(float(at_s), what, int(partition), tuple(map(int, numbers)))
            self.events.append(event)
            if what == "read":
                first, last = event.numbers
                self.seen.update((event.partition, offset) for offset in range(first, last + 1))

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("close\n")
        self.process.wait(60)
        self._thread.join()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self._thread.join()


class Readers:
    """The readers of the group, and who writes what they read; ends those that still live when it is left."""

    def __init__(self, coordinator: Coordinator) -> None:
        self.coordinator = coordinator
        self.readers: list[Reader] = []
        self.seen: set[tuple[int, int]] = set()
        self.written = 0
        self._producer = Producer({"bootstrap.servers": coordinator.bootstrap})

    def __enter__(self) -> Readers:
        return self

    def __exit__(self, *_: object) -> None:
        for reader in self.readers:
            reader.kill()

    def start(self) -> Reader:
        reader = Reader(self.coordinator.bootstrap, f"reader-{len(self.readers)}", self.seen)
        self.readers.append(reader)
        return reader

    def until_members(self, count: int) -> None:
        """Waits until this many members share the records; meanwhile records come, not too far ahead of the readers."""

        def is_so() -> bool:
            if self.written - len(self.seen) < AHEAD:
                self.write(RECORDS_A_TURN)
            group = self.coordinator.describe(GROUP)
            return group.group_state == "Stable" and len(group.members) == count

        until(is_so, lambda: f"{self.written} written, {len(self.seen)} read, {self.coordinator.describe(GROUP)}")
        assert self.written < RECORDS

    def write(self, count: int) -> None:
        """Produces more records, through the gateway as well."""
        for number in range(self.written, self.written + count):
            self._producer.produce(READ, b"%d" % number, partition=number % PARTITIONS)
        assert self._producer.flush(60) == 0
        self.written += count

    def write_the_rest(self) -> None:
        while self.written < RECORDS:
            self.write(min(RECORDS - self.written, 10_000))
        until(lambda: len(self.seen) == RECORDS, lambda: f"{len(self.seen)} of {RECORDS} read")


def test_a_hundred_thousand_records_are_read_through_three_rebalances(before: Coordinator) -> None:
    with Readers(before) as all_of_it:
        staying, leaving, dying = [all_of_it.start() for _ in range(3)]
        all_of_it.until_members(3)
        all_of_it.start()
        all_of_it.until_members(4)
        leaving.close()
        all_of_it.until_members(3)
        dying.kill()
        all_of_it.until_members(2)
        all_of_it.write_the_rest()
        for reader in (staying, all_of_it.readers[-1]):
            reader.close()
        assert before.describe(GROUP).group_state == "Empty"
        events = [event for reader in all_of_it.readers for event in reader.events]
    assert_no_more_is_repeated_than_was_uncommitted(events)


def assert_no_more_is_repeated_than_was_uncommitted(events: list[Event]) -> None:
    committed, read = [0] * PARTITIONS, [0] * PARTITIONS
    for event in sorted(events):
        match event:
            case Event(what="committed", partition=partition, numbers=(offset,)):
                committed[partition] = max(committed[partition], offset)
            case Event(what="read", partition=partition, numbers=(first, last)):
                assert committed[partition] <= first <= read[partition], event
                read[partition] = max(read[partition], last + 1)
    assert sum(read) == RECORDS


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_client_shares_a_real_topic(kind: str, before: Coordinator) -> None:
    with before.fleet() as fleet:
        workers = [fleet.start(kind) for _ in range(2)]
        fleet.await_shares(workers, PARTITIONS)
        workers[0].ask("commit", f"{TOPIC}/3", 0)
        workers.pop().close()
        fleet.await_shares(workers, PARTITIONS)


def test_consumers_of_the_newer_protocol_follow_the_clusters_topics(before: Coordinator, kafka: str) -> None:
    admin = AdminClient({"bootstrap.servers": before.bootstrap})
    admin.create_topics([NewTopic("growing", 4, 1)])["growing"].result()
    with Fleet(before.bootstrap, "followers", "growing", protocol="consumer") as fleet:
        two = [fleet.start(kind) for kind in CONSUMER_PROTOCOL_KINDS]
        fleet.await_shares(two, 4)
        assert_read(before, two, "growing", 4)
        admin.create_partitions([NewPartitions("growing", 6)])["growing"].result()
        fleet.await_shares(two, 6)
        assert_read(before, two, "growing", 6)
        two[0].ask("commit", min(two[0].partitions), 1)
        two[0].tell("subscribe", "^grow.*")
        # Kafka's own client does not go over from names to an expression.
        two.pop().close()
        two.append(fleet.start("java", topic="^grow.*"))
        admin.create_topics([NewTopic("growth", 2, 1)])["growth"].result()
        fleet.await_topics(two, {"growing": 6, "growth": 2})
        assert_read(before, two, "growth", 2)
        admin.delete_topics(["growing"])["growing"].result()
        fleet.await_topics(two, {"growth": 2})
        listed = before.call("ListGroups", 5, types_filter=["consumer"]).groups
        assert fleet.group in {group.group_id for group in listed}
        assert consumer_groups(kafka, "--list").split() == []


def assert_read(coordinator: Coordinator, workers: list[Worker], topic: str, count: int) -> None:
    """One more record of each partition comes to the worker that has it."""
    owners = {place: worker for worker in workers for place in worker.partitions if place.startswith(f"{topic}/")}
    assert len(owners) == count
    before = {place: worker.ask("position", place) for place, worker in owners.items()}
    # One that has been at work for a while asks for new partitions once in five minutes.
    producer = Producer({"bootstrap.servers": coordinator.bootstrap})
    for partition in range(count):
        producer.produce(topic, b"news", partition=partition)
    assert producer.flush(60) == 0
    for place, worker in owners.items():
        until(lambda: worker.ask("position", place) > max(before[place], 0), f"{place} of {worker.client_id}")  # noqa: B023


def test_the_group_is_ours_and_the_cluster_knows_nothing_of_it(before: Coordinator, kafka: str) -> None:
    with before.fleet() as fleet:
        worker = fleet.start("java")
        fleet.await_shares([worker], PARTITIONS)
        assert fleet.group in consumer_groups(before.bootstrap, "--list").split()
        assert consumer_groups(kafka, "--list").split() == []
        described = consumer_groups(before.bootstrap, "--describe", "--group", fleet.group)
        assert str(parse_address("kafka", kafka).port) not in described


def test_transactions_pass_but_for_offsets_in_them_which_are_refused(before: Coordinator) -> None:
    producer = Producer({"bootstrap.servers": before.bootstrap, "transactional.id": "transactions"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(TOPIC, b"in a transaction", partition=0)
    producer.commit_transaction(30)
    reader = Consumer(
        {"bootstrap.servers": before.bootstrap, "group.id": "transactions", "isolation.level": "read_committed"}
    )
    reader.assign([TopicPartition(TOPIC, 0, 0)])
    message = reader.poll(30)
    assert message is not None
    assert (message.error(), message.value()) == (None, b"in a transaction")
    producer.begin_transaction()
    with pytest.raises(KafkaException, match=r"(?i)unsupported"):
        producer.send_offsets_to_transaction([TopicPartition(TOPIC, 0, 1)], reader.consumer_group_metadata(), 10)
    reader.close()
