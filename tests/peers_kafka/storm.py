"""A storm on a real Kafka: members of many groups start, close, are killed and stall, as a seed says.

It leaves what the broker recorded, as `Recorded` names it, and what was done to each member. Groups are of the classic
protocol, of the newer one, and of both at once; topics grow; with an odd seed the broker restarts. Knows what it did;
must not know what is made of the recordings.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic  # type: ignore[attr-defined]

from rollcall.inputs.offsets_topic.dumps.json_lines import write_line
from rollcall.inputs.offsets_topic.dumps.log_record import LogRecord
from tests.peers_clients.fleet import Fleet, Worker
from tests.peers_kafka.kafka import Broker
from tests.waiting import until

STORM_S = 80.0
TOPIC, PARTITIONS = "orders", 4
OFFSETS = "__consumer_offsets"
MOST_MEMBERS = 3
SESSIONS_MS = (6_000, 8_000, 10_000)
CLASSIC = (("confluent", "range"), ("confluent", "cooperative-sticky"), ("kafka-python", "range"))
NEWER = (("confluent", "consumer"),)
GROUPS = {
    "classic-0": CLASSIC[:1],
    "classic-1": CLASSIC[1:2],
    "classic-2": CLASSIC[2:],
    "newer-0": NEWER,
    "newer-1": NEWER,
    "mixed-0": (CLASSIC[0], *NEWER),
    "mixed-1": (CLASSIC[0], CLASSIC[2], *NEWER),
    "mixed-2": (CLASSIC[2], *NEWER),
    "mixed-3": (CLASSIC[0], *NEWER),
    "static-classic": CLASSIC[:1],
    "static-newer": NEWER,
}
"""Which clients each group has, with their assignor or the newer protocol. librdkafka's cooperative-sticky writes bytes
of its own, so Kafka does not upgrade its groups.
"""


class Act(NamedTuple):
    """Something that is done: `start`, `close`, `kill`, `stall` and `go_on` a member, `grow` a topic, or `restart`."""

    at_s: float
    what: str
    group: str = ""
    client_id: str = ""
    kind: str = ""
    speaks: str = ""
    """Its assignor, or `consumer`: the newer protocol."""
    session_ms: int = 0
    instance_id: str = ""


@dataclass
class Span:
    """From one moment to another, in ms."""

    from_ms: int
    to_ms: int

    def touches(self, from_ms: int, to_ms: int) -> bool:
        return self.from_ms <= to_ms and from_ms <= self.to_ms


@dataclass
class Member:
    """What was done to a member. started_ms: when its process began."""

    act: Act
    started_ms: int
    closed: Span | None = None
    """From when it was asked to close until its process had ended."""
    killed_ms: int | None = None
    stalls: list[Span] = field(default_factory=list)


@dataclass
class Recorded:
    """The files that a storm left, and what was done."""

    log: Path
    topic: Path
    server: Path
    members: dict[str, Member] = field(default_factory=dict)
    """By client id."""
    grown: list[Span] = field(default_factory=list)
    restarts: list[Span] = field(default_factory=list)


def plan_of(seed: int) -> list[Act]:
    """What is done, in order of time."""
    acts = [act for group in GROUPS for act in _plan_of_group(Random(f"{seed} {group}"), group)]
    acts.append(Act(STORM_S / 2, "grow"))
    if seed % 2:
        acts.append(Act(Random(seed).uniform(0.3, 0.7) * STORM_S, "restart"))
    return sorted(acts)


def _plan_of_group(random: Random, group: str) -> Iterator[Act]:
    at_s, started = random.uniform(0, 3), 0
    living: dict[str, Act] = {}
    stalled_until_s: dict[str, float] = {}
    while at_s < STORM_S:
        free = [act for name, act in living.items() if stalled_until_s.get(name, 0) < at_s]
        may_start = len(living) < MOST_MEMBERS or not free
        what = random.choice(["start"] * 2 * may_start + ["close", "kill", "stall"] * bool(free))
        if what == "start":
            kind, speaks = random.choice(GROUPS[group])
            instance_id = _free_instance(random, living.values()) if group.startswith("static") else ""
            name = f"{group}.{started}"
            act = Act(at_s, what, group, name, kind, speaks, random.choice(SESSIONS_MS), instance_id)
            living[name], started = act, started + 1
        else:
            act = random.choice(free)._replace(at_s=at_s, what=what)
            if what == "stall":
                # As long as a session, more or less.
                stalled_until_s[act.client_id] = at_s + random.uniform(2, 14)
                yield act._replace(at_s=stalled_until_s[act.client_id], what="go_on")
            else:
                del living[act.client_id]
        yield act
        at_s += random.choice((0.1, 0.5, 1.5, 4, 7)) * random.uniform(0.7, 1.3)


def _free_instance(random: Random, living: Iterable[Act]) -> str:
    taken = {each.instance_id for each in living}
    names = [f"instance-{number}" for number in range(len(taken) + 2)]
    return random.choice([name for name in names if name not in taken])


class Storm:
    """Does a plan's acts on a broker."""

    def __init__(self, folder: Path, seed: int) -> None:
        session_ms = Random(seed).choice(SESSIONS_MS)
        self._recorded = Recorded(folder / "kafka-request.log", folder / "offsets.jsonl", folder / "broker.log")
        settings = {
            "group.initial.rebalance.delay.ms": 500,
            "group.consumer.min.session.timeout.ms": min(SESSIONS_MS),
            "group.consumer.session.timeout.ms": session_ms,
            "group.consumer.min.heartbeat.interval.ms": 500,
            "group.consumer.heartbeat.interval.ms": 1_000,
            "log.cleaner.enable": "false",
        }
        self._broker = Broker(folder, settings, requests_log=self._recorded.log)
        self._client: dict[str, Any] = {"bootstrap.servers": self._broker.address, "log_level": 0}
        self._workers: dict[str, Worker] = {}
        self._endings: list[threading.Thread] = []
        self._seed = seed

    def play(self) -> Recorded:
        """The whole storm, until all groups are empty."""
        self._broker.start()
        try:
            self._admin = AdminClient(self._client)
            self._admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result()
            with self._records(), ExitStack() as stack:
                log = stack.enter_context(Path("/dev/null").open("w"))
                self._fleets = {
                    name: stack.enter_context(Fleet(self._broker.address, name, TOPIC, commit_ms="700"))
                    for name in GROUPS
                }
                for fleet in self._fleets.values():
                    fleet.log = log
                began_s = time.monotonic()
                for act in plan_of(self._seed):
                    time.sleep(max(0.0, began_s + act.at_s - time.monotonic()))
                    self._do(act)
                for name, member in self._recorded.members.items():
                    if member.closed is None and member.killed_ms is None:
                        self._do(member.act._replace(client_id=name, what="close"))
                for ending in self._endings:
                    ending.join()
                # A group that became classic may keep members that died for its rebalance timeout, which is minutes.
                with suppress(AssertionError):
                    until(self._are_empty, "groups without members", within_s=20, every_s=0.5)
            self._dump()
        finally:
            self._broker.stop()
        return self._recorded

    def _do(self, act: Act) -> None:
        if act.what == "restart":
            self._recorded.restarts.append(self._span_of(self._restart))
        elif act.what == "grow":
            more = self._admin.create_partitions([NewPartitions(TOPIC, PARTITIONS + 2)])[TOPIC]
            self._recorded.grown.append(self._span_of(more.result))
        elif act.what == "start":
            self._start(act)
        else:
            self._do_to_member(act, self._workers[act.client_id], self._recorded.members[act.client_id])

    def _start(self, act: Act) -> None:
        is_newer = act.speaks == "consumer"
        options = {"protocol": "consumer"} if is_newer else {"assignor": act.speaks, "session_ms": str(act.session_ms)}
        if act.instance_id:
            options["instance_id"] = act.instance_id
        self._recorded.members[act.client_id] = Member(act, _now_ms())
        self._workers[act.client_id] = self._fleets[act.group].start(act.kind, act.client_id, **options)

    def _do_to_member(self, act: Act, worker: Worker, member: Member) -> None:
        if act.what == "kill":
            worker.kill()
            member.killed_ms = _now_ms()
        elif act.what == "stall":
            worker.pause()
            member.stalls.append(Span(_now_ms(), _now_ms() + round(STORM_S * 1000)))
        elif act.what == "go_on":
            member.stalls[-1].to_ms = _now_ms()
            worker.resume()
        elif worker.process.poll() is None:
            member.closed = Span(_now_ms(), _now_ms() + round(STORM_S * 1000))
            worker.tell("close")
            self._endings.append(threading.Thread(target=self._await_end, args=(worker, member.closed)))
            self._endings[-1].start()

    def _await_end(self, worker: Worker, closed: Span) -> None:
        worker.process.wait()
        closed.to_ms = _now_ms()

    def _restart(self) -> None:
        self._broker.stop()
        self._broker.start()

    def _span_of(self, work: Callable[[], object]) -> Span:
        from_ms = _now_ms()
        work()
        return Span(from_ms, _now_ms())

    def _are_empty(self) -> bool:
        groups = self._admin.describe_consumer_groups(list(GROUPS))
        return not any(group.result().members for group in groups.values())

    @contextmanager
    def _records(self) -> Iterator[None]:
        """Records all the time, so that there is something to commit."""
        is_over = threading.Event()

        def produce() -> None:
            producer = Producer(self._client)
            while not is_over.wait(0.2):
                for partition in range(PARTITIONS):
                    producer.produce(TOPIC, b"x", partition=partition)
                producer.poll(0)

        producing = threading.Thread(target=produce)
        producing.start()
        try:
            yield
        finally:
            is_over.set()
            producing.join()

    def _dump(self) -> None:
        """Writes all records of __consumer_offsets."""
        reader = Consumer({**self._client, "group.id": "nobody", "enable.auto.commit": False})
        with self._recorded.topic.open("wb") as out:
            for partition in self._admin.list_topics(OFFSETS).topics[OFFSETS].partitions:
                place = TopicPartition(OFFSETS, partition, 0)
                _, end = reader.get_watermark_offsets(place)
                reader.assign([place])
                is_read = end == 0
                while not is_read:
                    message = reader.poll(1.0)
                    if message is None:
                        continue
                    offset, key, value = message.offset(), message.key(), message.value()
                    assert offset is not None
                    is_read = offset == end - 1
                    out.write(write_line(LogRecord(partition, offset, message.timestamp()[1], key, value)) + b"\n")
        reader.close()


def _now_ms() -> int:
    return int(time.time() * 1000)
