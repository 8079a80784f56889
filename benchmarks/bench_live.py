"""The coordinator job and gateway as users run them: what a client waits for, and what they use with nothing to do."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from kafka.admin import KafkaAdminClient, NewTopic

from benchmarks.figures import Anchor, Figure, at_most, bench
from benchmarks.groups_at_rest import heartbeats_reported, rest
from benchmarks.live_consumer_group import LiveConsumerGroup
from benchmarks.live_group import Connection, LiveGroup, commit_for
from benchmarks.processes import processor_seconds
from benchmarks.recorded_topic import real_broker
from benchmarks.spark_homes import folder
from jobs.home import Home
from jobs.run.servers import CoordinatorProcess, GatewayProcess, PageProcess
from listeners.addresses import Address

SIZES = (3, 50, 200)
TOPIC, PARTITIONS = "measured", 6
SETTINGS = {"group.initial.rebalance.delay.ms": "0", "topics": f"{TOPIC}:{PARTITIONS}"}
HEARTBEATS_FOR_S, COMMITS_FOR_S = 15.0, 10.0
RESTING_GROUPS, RESTING_SIZE, RESTING_FOR_S = 1_000, 3, 300.0
HANDED_ON_WITHIN_S = 10.0
"""Heartbeats that were answered early are in the table by then."""
IDLE_WARM_UP_S, IDLE_FOR_S = 60.0, 60.0
_START_PATIENCE_S = 120.0
_END_PATIENCE_S = 60.0


@bench
def clients_wait() -> Iterator[Figure]:
    """Groups form one after the other, by members that join at once, with no initial delay; 50 heartbeat, 3 commit.

    Beside a real Kafka that is asked the same right afterwards.
    """
    with folder() as path, serving(path / "home") as served:
        ours = asyncio.run(measure(served.address))
    with folder() as path, real_broker(path / "kafka", "group.initial.rebalance.delay.ms=0") as text:
        admin = KafkaAdminClient(bootstrap_servers=text)
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])
        admin.close()
        kafka = asyncio.run(measure(Address.from_text(text)))
    goals = {name: at_most(1.2) for name in ours if name.startswith("stable")}
    goals |= {"heartbeat_p50": at_most(2), "heartbeat_p99": at_most(20)}
    goals |= {name: at_most(40 if name.endswith("p50") else 150) for name in ours if "commit" in name}
    for name, value in ours.items():
        unit = "ms" if name.endswith(("p50", "p99")) else "s"
        yield Figure(name, value, unit, goals.get(name), Anchor(kafka[name], "a real Kafka"))


@bench
def groups_at_rest() -> Iterator[Figure]:
    """Five minutes of 1,000 groups of three members that beat every three seconds, as soon as all have formed.

    Then every heartbeat is in the history and nobody was expired, else it raises AssertionError.
    """
    with folder() as path, serving(path / "home") as served:
        used = {"job": 0.0, "gateway": 0.0}
        pids = {"job": served.job_pid, "gateway": served.gateway_pid}

        def note(sign: int) -> None:
            for name, pid in pids.items():
                used[name] += sign * processor_seconds(pid)

        beats, took = asyncio.run(rest(served.address, RESTING_GROUPS, RESTING_SIZE, RESTING_FOR_S, note))
        time.sleep(HANDED_ON_WITHIN_S)
        reported = heartbeats_reported(Home(path / "home"))
    assert reported == beats, f"{beats} heartbeats were sent, and the history has {reported}"
    hundred_thousands = len(took) / 100_000
    yield Figure("at_rest_heartbeats_a_second", len(took) / RESTING_FOR_S, "1/s")
    yield Figure("at_rest_heartbeat_p50", took[len(took) // 2] * 1000, "ms", at_most(2))
    yield Figure("at_rest_heartbeat_p99", took[len(took) * 99 // 100] * 1000, "ms", at_most(20))
    both = (used["job"] + used["gateway"]) / hundred_thousands
    yield Figure("at_rest_job_and_gateway_100000_heartbeats", both, "s of a core", at_most(15))
    yield Figure("at_rest_job_100000_heartbeats", used["job"] / hundred_thousands, "s of a core", at_most(3))


@bench
def an_idle_job() -> Figure:
    """What the coordinator job, its JVM and its Python workers use of one core with nothing to do, warm."""
    with folder() as path:
        coordinator = CoordinatorProcess(_fresh(path / "home"))
        try:
            await_ready(coordinator)
            time.sleep(IDLE_WARM_UP_S)
            before_s, started = processor_seconds(coordinator.pid), time.monotonic()
            time.sleep(IDLE_FOR_S)
            used_s, passed_s = processor_seconds(coordinator.pid) - before_s, time.monotonic() - started
        finally:
            coordinator.end(_END_PATIENCE_S)
    return Figure("idle_job", used_s / passed_s, "cores", at_most(1 / 3))


async def measure(address: Address) -> dict[str, float]:
    """Seconds until groups have formed, by size and protocol, and milliseconds that heartbeats took."""
    warm = LiveGroup(address, "warm", 1)
    await warm.form()
    await warm.beat_for(HEARTBEATS_FOR_S)
    await warm.leave()
    found: dict[str, float] = {}
    beats: list[float] = []
    for size in SIZES:
        group = LiveGroup(address, f"of-{size}", size)
        found[f"stable_{size}_members"] = await group.form()
        if size == 50:
            beats = await group.beat_for(HEARTBEATS_FOR_S)
        if size == 3:
            found |= await _commits("commit", group.members)
        await group.leave()
    newer = LiveConsumerGroup(address, "newer", 3, TOPIC, PARTITIONS)
    found["consumer_group_of_3_members"] = await newer.form()
    await newer.come_to_rest()
    found |= await _commits("consumer_group_commit", newer.members)
    await newer.leave()
    found["heartbeat_p50"] = beats[len(beats) // 2] * 1000
    found["heartbeat_p99"] = beats[len(beats) * 99 // 100] * 1000
    return found


async def _commits(name: str, members: Sequence[Connection]) -> dict[str, float]:
    """Milliseconds that commits of a group at rest take, its first ones included."""
    took = await commit_for(members, COMMITS_FOR_S, TOPIC)
    return {f"{name}_p50": took[len(took) // 2] * 1000, f"{name}_p99": took[len(took) * 99 // 100] * 1000}


class Served(NamedTuple):
    """A coordinator job and its gateway."""

    address: Address
    """Where the gateway listens."""
    job_pid: int
    gateway_pid: int


@contextmanager
def serving(path: Path, settings: Mapping[str, str] = SETTINGS) -> Iterator[Served]:
    """A job and a gateway on a fresh home. Raises RuntimeError: a server did not start."""
    home = _fresh(path)
    words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    coordinator = CoordinatorProcess(home, *words)
    try:
        await_ready(coordinator)
        gateway = GatewayProcess(home, "--listen", "127.0.0.1:0", "--set", "gateway.metrics.listen=", *words)
        try:
            await_ready(gateway)
            assert gateway.address is not None
            yield Served(gateway.address, coordinator.pid, gateway.pid)
        finally:
            gateway.end(_END_PATIENCE_S)
    finally:
        coordinator.end(_END_PATIENCE_S)


def _fresh(path: Path) -> Home:
    (path / "logs").mkdir(parents=True)
    return Home(path)


def await_ready(server: CoordinatorProcess | GatewayProcess | PageProcess) -> None:
    """Raises RuntimeError: it ended, or took too long."""
    deadline = time.monotonic() + _START_PATIENCE_S
    while not server.is_ready:
        if server.status is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the {server.name} did not start: {server.last_words()}")
        time.sleep(0.05)
