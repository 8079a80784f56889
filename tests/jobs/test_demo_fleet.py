"""The demo's members as threads of one process, and its logs."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from kafka import TopicPartition
from kafka.protocol.schemas.fields import StructField
from kafka.structs import OffsetAndMetadata

from rollcall.cli.run import demo_fleet
from rollcall.cli.run.command import growth_words
from rollcall.cli.run.demo_fleet import Signals, compile_one_at_a_time, take_part
from rollcall.cli.run.demo_plan import RECORDS_PER_SECOND, TOPICS, DemoGroup, DemoMember
from rollcall.serve.gateway.settings import Settings
from rollcall.serve.gateway.standalone import Growth
from rollcall.tables.home import Home
from tests.lag.homes import ends, group, write_home


def growth_of(home: Path) -> Growth:
    """The growth that a gateway makes of the words."""
    pairs = dict(word.split("=", 1) for word in growth_words(Home(home)) if word != "--set")
    settings = Settings.from_pairs(pairs)
    return Growth(settings.demo_records_per_second, settings.demo_since_ms)


def test_every_topic_of_the_demo_grows_and_no_other(tmp_path: Path) -> None:
    assert growth_of(tmp_path).per_second == RECORDS_PER_SECOND
    assert RECORDS_PER_SECOND.keys() == TOPICS.keys()


def test_the_logs_of_a_new_home_begin_now(tmp_path: Path) -> None:
    before_ms = int(time.time() * 1000)
    assert growth_of(tmp_path).since_ms >= before_ms


@pytest.mark.parametrize(("end", "committed"), [(7000, 500), (500, 7000)])
def test_the_logs_of_a_home_go_on_where_they_ended_however_long_ago(end: int, committed: int, tmp_path: Path) -> None:
    write_home(tmp_path, [group("audit", "audit", (2000, committed))], ends((2000, end), topic="audit"))
    growth = growth_of(tmp_path)
    grown_s = time.time() - growth.since_ms / 1000
    assert growth.end("audit") >= 7000
    assert growth.end("orders") == growth.end("audit")
    assert 7000 / RECORDS_PER_SECOND["audit"] <= grown_s < 10 * 7000 / RECORDS_PER_SECOND["audit"]


def test_codecs_are_compiled_by_one_thread_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two at once left a JoinGroup's answer that no member of the process could read."""
    inside, together = threading.Semaphore(1), threading.Event()

    def compiled(*_: object) -> None:
        if not inside.acquire(blocking=False):
            together.set()
            return
        together.wait(0.3)
        inside.release()

    monkeypatch.setattr(StructField, "compiled_decode_from", compiled)
    monkeypatch.setattr(StructField, "compiled_encode_into", compiled)
    compile_one_at_a_time()
    threads = [threading.Thread(target=StructField.compiled_decode_from, args=(None,)) for _ in range(2)]
    threads.append(threading.Thread(target=StructField.compiled_encode_into, args=(None,)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not together.is_set()


class Consumer:
    """A member that owns two partitions and is one record further with each look; it stops the fleet after six."""

    made: list[Consumer]
    signals: Signals

    def __init__(self, *_: str, **__: object) -> None:
        self.looks, self.is_closed = 0, False
        self.committed: list[dict[int, int]] = []
        self.made.append(self)

    def poll(self, timeout_ms: int, max_records: int | None) -> None:
        self.looks += 1
        if self.looks == 6:
            self.signals.stop.set()

    def assignment(self) -> set[TopicPartition]:
        return {TopicPartition("t", 1), TopicPartition("t", 0)}

    def position(self, _: TopicPartition) -> int:
        return self.looks

    def commit(self, offsets: dict[TopicPartition, OffsetAndMetadata]) -> None:
        self.committed.append({each.partition: at.offset for each, at in offsets.items()})

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def signals(monkeypatch: pytest.MonkeyPatch) -> Signals:
    Consumer.made, Consumer.signals = [], Signals(threading.Event(), threading.Event())
    monkeypatch.setattr(demo_fleet, "KafkaConsumer", Consumer)
    monkeypatch.setattr(demo_fleet, "WORK_EVERY_S", 0.0)
    return Consumer.signals


def test_a_stuck_member_commits_all_partitions_but_the_first(signals: Signals) -> None:
    plan = DemoMember("a", sticks_after_commits=2)
    take_part("", DemoGroup("g", {"t": 2}, "range", (plan,)), plan, signals)
    (member,) = Consumer.made
    assert member.committed == [{0: 1, 1: 1}, {0: 2, 1: 2}, {1: 3}, {1: 4}, {1: 5}, {1: 6}]


def test_a_restarted_member_leaves_and_comes_back_once(signals: Signals) -> None:
    plan = DemoMember("a", restarts_after_s=1e-9)
    take_part("", DemoGroup("g", {"t": 2}, "range", (plan,)), plan, signals)
    first, second = Consumer.made
    assert (first.looks, first.is_closed) == (1, True)
    assert (second.looks, second.is_closed) == (6, True)
