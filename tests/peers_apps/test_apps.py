"""Kafka Connect and Kafka Streams before a real Kafka, coordinated by the job: one of each dies and comes back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from rollcall.answers.why.explanation import Explanation
from rollcall.answers.why.telling import headline, remarks
from rollcall.cli.why import explanation_of
from rollcall.schemas.connect_protocol import CONNECTOR_ITSELF
from tests.peers_apps.apps import HELD_BACK_MS, App, ConnectWorker, Counter, kill_all
from tests.peers_job.job import Job
from tests.peers_kafka.kafka import broker
from tests.waiting import until

CONNECT, SINK, STREAMS = "workers", "file", "counter"
WORKERS, COUNTERS = ("worker-a", "worker-b"), ("counter-a", "counter-b")
PARTITIONS = TASKS = 4
A_TIME = 200
WITHIN_S = 90.0
SETTINGS = {"group.initial.rebalance.delay.ms": "0", "group.min.session.timeout.ms": "500"}


@dataclass
class Stage:
    """The applications, and what they were given to do."""

    folder: Path
    kafka: str
    bootstrap: str
    written: int = 0
    apps: dict[str, App] = field(default_factory=dict)

    @property
    def file(self) -> Path:
        return self.folder / "copied.txt"

    def start(self, name: str) -> None:
        """An application's instance, for the first time or again."""
        kind, group = (ConnectWorker, CONNECT) if name in WORKERS else (Counter, STREAMS)
        self.apps[name] = kind(self.folder, self.bootstrap, name, group)

    def worker(self, name: str) -> ConnectWorker:
        found = self.apps[name]
        assert isinstance(found, ConnectWorker)
        return found

    def write(self) -> None:
        """Some more records for both."""
        producer = Producer({"bootstrap.servers": self.bootstrap})
        for number in range(self.written, self.written + A_TIME):
            for topic in ("lines", "spoken"):
                producer.produce(topic, f"{number}", key=f"{number}", partition=number % PARTITIONS)
        assert producer.flush(30) == 0
        self.written += A_TIME

    def work(self) -> None:
        """More records, until all of them were copied and counted."""
        self.write()
        until(lambda: self._copied() == self.written, lambda: f"{self._copied()} copied; {self._tell()}", WITHIN_S)
        until(lambda: self._counted() >= self.written, lambda: f"{self._counted()} counted; {self._tell()}", WITHIN_S)

    def await_tasks(self, *names: str) -> None:
        """Until all tasks run, and on these workers."""
        addresses = sorted(self.worker(name).address for name in names)

        def is_so() -> bool:
            tasks = self.worker(names[0]).tasks(SINK)
            runs = len(tasks) == TASKS and all(state == "RUNNING" for state, _ in tasks)
            return runs and sorted({worker for _, worker in tasks}) == addresses

        until(is_so, lambda: f"{self.worker(names[0]).tasks(SINK)}; {self._tell()}", WITHIN_S)

    def await_counters(self, admin: AdminClient, count: int) -> None:
        """Waits until this many instances share the partitions."""

        def is_so() -> bool:
            group = admin.describe_consumer_groups([STREAMS])[STREAMS].result()
            shares = [len(member.assignment.topic_partitions) for member in group.members]
            return len(shares) == count and all(shares) and sum(shares) == PARTITIONS

        until(is_so, self._tell, WITHIN_S)

    def _copied(self) -> int:
        return len(set(self.file.read_text().split())) if self.file.exists() else 0

    def _counted(self) -> int:
        """How many counts came out; a record that is counted twice comes out twice."""
        reader = Consumer({"bootstrap.servers": self.kafka, "group.id": "nobody"})
        ends = [reader.get_watermark_offsets(TopicPartition("counted", n), 10)[1] for n in range(PARTITIONS)]
        reader.close()
        return sum(ends)

    def _tell(self) -> str:
        return "\n".join(f"{name}: {app.last_words()}" for name, app in self.apps.items())


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Job]:
    """The whole story, played once; the home that has it."""
    folder = tmp_path_factory.mktemp("apps")
    with broker(folder) as kafka, Job(folder / "home", {}, {"gateway.upstream": kafka, **SETTINGS}) as job:
        job.start_coordinator()
        stage = Stage(folder, kafka, str(job.start_gateway()))
        try:
            play(stage, job)
        finally:
            kill_all(stage.apps.values())
        job.await_answers()
        yield job


def play(stage: Stage, job: Job) -> None:
    """Two workers and two instances share the work; one of each is killed, and comes back."""
    admin = AdminClient({"bootstrap.servers": stage.bootstrap})
    topics = [NewTopic(name, PARTITIONS, 1) for name in ("lines", "spoken", "counted")]
    for made in admin.create_topics(topics).values():
        made.result()
    for name in (*WORKERS, *COUNTERS):
        stage.start(name)
    sink = {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "tasks.max": str(TASKS),
        "topics": "lines",
        "file": str(stage.file),
    }
    until(lambda: stage.worker(WORKERS[0]).configure(SINK, sink), stage.apps[WORKERS[0]].last_words, WITHIN_S)
    stage.await_tasks(*WORKERS)
    stage.await_counters(admin, 2)
    stage.work()
    # A leader that never learnt what a lost worker ran holds nothing back: the one that does not lead dies.
    leads = last(job, "join_phase_ended", CONNECT)["leader_id"]
    staying, dying = WORKERS if leads.startswith(WORKERS[0]) else WORKERS[::-1]
    for name in (dying, COUNTERS[1]):
        stage.apps[name].kill()
    stage.await_tasks(staying)
    stage.await_counters(admin, 1)
    stage.work()
    for name in (dying, COUNTERS[1]):
        stage.start(name)
    stage.await_tasks(*WORKERS)
    stage.await_counters(admin, 2)
    stage.work()


def last(job: Job, effect: str, group: str) -> dict[str, Any]:
    """The detail of the latest fact of a kind."""
    found: dict[str, Any] = json.loads([row for row in job.effects(effect) if row["group_id"] == group][-1]["detail"])
    return found


def explanations(job: Job, group: str) -> list[Explanation]:
    """What `make why` says of each rebalance that led to a generation with members, in order."""
    ended = [json.loads(row["detail"]) for row in job.effects("rebalance_ended") if row["group_id"] == group]
    return [explanation_of(job.home, group, one["to_generation_id"]) for one in ended if one["outcome"] == "completed"]


def held_after(explanation: Explanation) -> list[tuple[str, int]]:
    """Which partitions somebody held when a rebalance had ended.

    Later the programs, which are killed at the end, hold nothing: their sessions expire.
    """
    ended_ms = explanation.rebalance.ended_at_ms
    assert ended_ms is not None
    held = (one.partition for one in explanation.holdings if one.is_held_at(ended_ms))
    return sorted((partition.topic, partition.number) for partition in held)


def test_connects_workers_share_a_connector_and_its_tasks_and_each_move_is_explained(job: Job) -> None:
    reported = explanations(job, CONNECT)
    causes = [one.rebalance.cause.kind for one in reported]
    assert causes[0] == "member_joined"
    assert {"member_joined", "member_rejoined", "session_expired", "cooperative_followup"} <= set(causes)
    expired = next(one for one in reported if one.held_back_ms)
    assert (expired.rebalance.cause.kind, expired.held_back_ms) == ("session_expired", HELD_BACK_MS)
    assert "holds back what a lost worker ran" in " ".join(remarks(expired))
    lost = [move.partition for move in expired.moves]
    assert len(lost) >= TASKS // 2
    assert {partition.topic for partition in lost} == {SINK}
    assert held_after(reported[-1]) == [(SINK, number) for number in range(CONNECTOR_ITSELF, TASKS)]
    assert {one.kind.many for one in reported} == {"connectors and tasks"}


def test_a_streams_application_has_its_partitions_and_its_own_bytes_are_said_to_be_unread(job: Job) -> None:
    reported = explanations(job, STREAMS)
    causes = [one.rebalance.cause.kind for one in reported]
    assert {"member_joined", "session_expired", "cooperative_followup"} <= set(causes)
    assert {one.protocol_name for one in reported} == {"stream"}
    assert all("standby tasks" in text for one in reported for text in one.kind.unread(one))
    assert held_after(reported[-1]) == [("spoken", number) for number in range(PARTITIONS)]
    dead = next(one for one in reported if one.rebalance.cause.kind == "session_expired")
    assert dead.culprit_name.startswith(COUNTERS[1])


def test_the_connectors_own_consumers_are_a_group_as_any(job: Job) -> None:
    reported = explanations(job, f"connect-{SINK}")
    assert "session_expired" in [one.rebalance.cause.kind for one in reported]
    assert {move.partition.topic for one in reported for move in one.moves} == {"lines"}
    assert [text for one in reported for text in one.kind.unread(one)] == []


def test_every_rebalance_has_its_sentence(job: Job) -> None:
    for group in (CONNECT, STREAMS, f"connect-{SINK}"):
        for one in explanations(job, group):
            assert "unknown" not in headline(one), (group, one.rebalance)
