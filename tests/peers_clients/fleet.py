"""Real consumers as processes: started, commanded, listened to, closed, killed, paused; whatever their client library.

Knows the workers and their lines; must not know who coordinates them.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from tests.brief_java import BRIEF
from tests.peers_clients.java_clients import class_path
from tests.waiting import until

ROOT = Path(__file__).parents[2]
PYTHON_WORKERS = {
    "kafka-python": "tests.peers_clients.workers.with_kafka_python",
    "confluent": "tests.peers_clients.workers.with_confluent",
    "aiokafka": "tests.peers_clients.workers.with_aiokafka",
}
KINDS = (*PYTHON_WORKERS, "java")
CONSUMER_PROTOCOL_KINDS = ("confluent", "java")
"""They speak the newer group protocol (KIP-848) too."""
PATIENCE_S = 120.0
AS_SHIPPED = {"session_ms": "45000", "heartbeat_ms": "3000", "max_poll_ms": "300000"}
"""Kafka's defaults: what a coordinator that is started again has to be in time for."""


def command_of(kind: str) -> list[str]:
    if kind == "java":
        return ["java", *BRIEF, "-Xmx128m", "-cp", class_path(), "Worker"]
    return [sys.executable, "-m", PYTHON_WORKERS[kind]]


@dataclass
class Worker:
    """One consumer. assignments: every assignment it reported, in order."""

    kind: str
    client_id: str
    process: subprocess.Popen[str]
    assignments: list[frozenset[str]] = field(default_factory=list)
    answers: list[dict[str, Any]] = field(default_factory=list)
    progress: list[dict[str, Any]] = field(default_factory=list)
    """What it committed by itself, as `workers.lines` has it."""

    def listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            said = json.loads(line)
            if said["event"] == "assignment":
                self.assignments.append(frozenset(said["partitions"]))
            elif said["event"] == "progress":
                self.progress.append(said)
            else:
                self.answers.append(said)

    @property
    def partitions(self) -> frozenset[str]:
        """What it has now, as far as it said."""
        return self.assignments[-1] if self.assignments else frozenset()

    def tell(self, *words: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def ask(self, *words: object) -> Any:
        """The offset that it answers with."""
        before = len(self.answers)
        self.tell(*words)
        until(lambda: len(self.answers) > before, f"an answer of {self.client_id}")
        return self.answers[before].get("offset", self.answers[before])

    def await_work(self) -> None:
        """Until it knows where to begin in each of its partitions.

        Kafka's own client with `group.protocol=consumer` asks for that as a member; if it is a member no more when the
        answer comes, it reports so to its application and does not join again.
        """
        for place in sorted(self.partitions):
            self.ask("position", place)

    def close(self) -> None:
        """Leaves the group and ends."""
        self.tell("close")
        self.process.wait(PATIENCE_S)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def pause(self) -> None:
        os.kill(self.process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)


class Fleet:
    """The consumers of one group and topic. Ends those that still live when it is left.

    patience_s: how long they may take to share the topic. log: where what they log goes, else to this process's own.
    """

    log: IO[str] | None = None

    def __init__(self, bootstrap: str, group: str, topic: str, **options: str) -> None:
        self.bootstrap = bootstrap
        self.patience_s = PATIENCE_S
        self.group = group
        self.topic = topic
        self.options = options
        self.workers: list[Worker] = []

    def __enter__(self) -> Fleet:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            if worker.process.poll() is None:
                worker.resume()
                worker.kill()

    def start(self, kind: str, client_id: str = "", **options: str) -> Worker:
        """Starts a consumer; options as of `workers.lines.options`."""
        client_id = client_id or f"{kind}-{len(self.workers)}"
        given = {"bootstrap": self.bootstrap, "group": self.group, "topic": self.topic, "client-id": client_id}
        given |= {name.replace("_", "-"): value for name, value in {**self.options, **options}.items()}
        words = [word for name, value in given.items() for word in (f"--{name}", value)]
        process = subprocess.Popen(
            [*command_of(kind), *words],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
        )
        worker = Worker(kind, client_id, process)
        threading.Thread(target=worker.listen, daemon=True).start()
        self.workers.append(worker)
        return worker

    def await_shares(self, workers: Iterable[Worker], count: int) -> None:
        """Until these consumers have all the partitions among them, each its fair share and none twice."""
        self.await_topics(workers, {self.topic: count})

    def await_topics(self, workers: Iterable[Worker], sizes: Mapping[str, int]) -> None:
        """The same for several topics with their numbers of partitions, and no partition of any other topic."""
        some = list(workers)
        wanted = {f"{topic}/{partition}" for topic, count in sizes.items() for partition in range(count)}

        def is_shared() -> bool:
            shares = [worker.partitions for worker in some]
            sizes = [len(share) for share in shares]
            return sum(sizes) == len(wanted) and set().union(*shares) == wanted and max(sizes) - min(sizes) <= 1

        until(is_shared, lambda: f"{[sorted(worker.partitions) for worker in some]}", self.patience_s)
