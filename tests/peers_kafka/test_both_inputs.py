"""A broker's request log and its cluster's topic, followed together by a shadow that is killed on the way.

The log lacks all lines of one group, as if another broker had them: that group the topic tells, the other one the log.
"""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from duck_sql.engine import ask
from tests.peers_kafka.kafka import broker
from tests.source_tree import ROOT
from tests.streaming.live import read_rows
from tests.waiting import until

HERE, ELSEWHERE = "orders-here", "orders-elsewhere"
PARTITIONS = 4
HOLD_MS = 15_000
"""Half of what a shadow waits for its log by default: on a busy machine a line may be that late."""


class PartOfALog:
    """Copies a log as it grows, without the lines that name a group."""

    def __init__(self, log: Path, copy: Path) -> None:
        self._log, self._copy = log, copy
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        copy.touch()
        self._thread.start()

    def stop(self) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        with self._log.open("rb") as lines, self._copy.open("ab", buffering=0) as copy:
            rest = b""
            while not self._is_over.wait(0.05):
                *whole, rest = (rest + lines.read()).split(b"\n")
                copy.write(b"".join(line + b"\n" for line in whole if ELSEWHERE.encode() not in line))


class Members:
    """Consumers of a group, which are polled by the test."""

    def __init__(self, address: str, group: str) -> None:
        self._settings = {"bootstrap.servers": address, "group.id": group, "enable.auto.commit": False}
        self.all: list[Consumer] = []

    def start(self) -> None:
        client_id = f"{self._settings['group.id']}-{len(self.all)}"
        consumer = Consumer({**self._settings, "client.id": client_id, "heartbeat.interval.ms": 500})
        consumer.subscribe(["orders"])
        self.all.append(consumer)
        self.share()

    def close_first(self) -> None:
        self.all.pop(0).close()
        self.share()

    def share(self) -> None:
        """Until they have all partitions among them, each at least one."""

        def are_shared() -> bool:
            for consumer in self.all:
                consumer.poll(0.05)
            shares = [consumer.assignment() for consumer in self.all]
            return all(shares) and sum(map(len, shares)) == PARTITIONS

        until(are_shared, "the partitions' owners")

    def commit(self, offset: int) -> None:
        (first, *_) = self.all[0].assignment()
        first.offset = offset
        self.all[0].commit(offsets=[first], asynchronous=False)


class Shadow:
    """The program, on a log and a cluster."""

    def __init__(self, folder: Path, log: Path, address: str) -> None:
        self.home = folder / "home"
        conf = folder / "shadow.conf"
        conf.write_text(f"spark.coordinator.log.hold.ms={HOLD_MS}\n")
        words = ["shadow", str(log), f"kafka://{address}", "--conf", str(conf), "--home", str(self.home)]
        self._command = [sys.executable, "-m", "jobs.rollcall", *words]
        self._said = folder / "shadow.log"
        self.start()

    def start(self) -> None:
        with self._said.open("a") as said:
            self.process = subprocess.Popen(self._command, cwd=ROOT, stdout=said, stderr=said)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> str:
        self.process.terminate()
        assert self.process.wait(120) == 0, self._said.read_text()
        return self._said.read_text()

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in ask(self.home, query).rows]

    def await_rows(self, query: str, wanted: list[tuple[Any, ...]]) -> None:
        found: list[tuple[Any, ...]] = []

        def are_there() -> bool:
            assert self.process.poll() is None, self._said.read_text()
            if (self.home / "effects" / "_delta_log").exists():
                found[:] = self.rows(query)
            return found == wanted

        until(are_there, lambda: f"{wanted} instead of {found}: {self._said.read_text()}", 120, 0.5)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "kafka-request.log"


@pytest.fixture
def address(tmp_path: Path, log: Path) -> Iterator[str]:
    with broker(tmp_path, {"group.initial.rebalance.delay.ms": 0}, requests_log=log) as address:
        admin = AdminClient({"bootstrap.servers": address})
        for made in admin.create_topics([NewTopic("orders", PARTITIONS, 1)]).values():
            made.result()
        yield address


def test_what_one_log_lacks_the_topic_tells_and_nothing_is_told_twice(address: str, log: Path, tmp_path: Path) -> None:
    part = PartOfALog(log, tmp_path / "part.log")
    groups = [Members(address, HERE), Members(address, ELSEWHERE)]
    for group in groups:
        group.start()
        group.commit(1)
    shadow = Shadow(tmp_path, tmp_path / "part.log", address)
    completed = "select group_id, max(to_generation_id) from rebalances group by group_id order by group_id"
    shadow.await_rows(completed, [(ELSEWHERE, 1), (HERE, 1)])
    for group in groups:
        group.start()
    shadow.kill()
    for group in groups:
        group.commit(2)
        group.close_first()
    shadow.start()
    for group in groups:
        group.commit(3)
    shadow.await_rows(completed, [(ELSEWHERE, 3), (HERE, 3)])
    offsets = "select group_id, max(committed_offset) from offsets group by group_id order by group_id"
    shadow.await_rows(offsets, [(ELSEWHERE, 3), (HERE, 3)])
    told = shadow.stop()
    part.stop()
    for group in groups:
        for consumer in group.all:
            consumer.close()

    found = re.search(r"the history has (\d+) facts of the log and (\d+) that the topic alone tells", told)
    assert found, told
    assert all(int(count) > 10 for count in found.groups()), told
    assert "and they never disagree" in told
    # When a rebalance began, and that a client said it leaves, no record tells.
    query = "select to_generation_id, members_after, cause, started_at is null from rebalances where group_id = '{}'"
    expected = [(1, 1, "member_joined"), (2, 2, "member_joined"), (3, 1, "member_left")]
    for name, is_of_topic in ((HERE, False), (ELSEWHERE, True)):
        told_of = sorted(shadow.rows(query.format(name)))
        assert told_of == [(*generation, is_of_topic) for generation in expected]
    facts = Counter((row["group_id"], row["at_ms"], row["seq"]) for row in read_rows(str(shadow.home / "effects")))
    assert set(facts.values()) == {1}
    commits = [
        row["group_id"] for row in read_rows(str(shadow.home / "effects")) if row["effect"] == "offsets_committed"
    ]
    assert Counter(commits) == {HERE: 3, ELSEWHERE: 3}
    assert not read_rows(str(shadow.home / "quarantine"))
