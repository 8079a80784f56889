"""The coordinator job and gateway as users run them: what a client waits for, and what they use with nothing to do."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeVar

import pyarrow.compute as pc
from deltalake import DeltaTable
from kafka.admin import KafkaAdminClient, NewTopic

from benchmarks.figures import Anchor, Figure, at_most, bench, quantiles
from benchmarks.live_group import ConsumerMember, LiveGroup
from benchmarks.processes import folder, processor_seconds
from benchmarks.recorded_topic import real_broker
from jobs.home import Home
from jobs.run.servers import CoordinatorProcess, GatewayProcess
from listeners.addresses import Address
from schemas.effect_names import EffectName
from schemas.errors import Error
from schemas.heartbeat_runs import beats_taken

SIZES = (3, 50, 200)
TOPIC, PARTITIONS = "measured", 6
SETTINGS = {"group.initial.rebalance.delay.ms": "0", "topics": f"{TOPIC}:{PARTITIONS}"}
HEARTBEATS_FOR_S, COMMITS_FOR_S = 15.0, 10.0
RESTING_GROUPS, RESTING_SIZE, RESTING_FOR_S, RESTING_INTERVAL_S = 1_000, 3, 300.0, 3.0
FORMED_AT_ONCE = 25
HANDED_ON_WITHIN_S = 10.0
"""Heartbeats that were answered early are in the table by then."""
IDLE_WARM_UP_S, IDLE_FOR_S = 60.0, 60.0
_PATIENCE_S = 120.0


@bench
def clients_wait() -> Iterator[Figure]:
    """Groups form one after the other, by members that join at once, with no initial delay; 50 heartbeat, 3 commit.

    Beside a real Kafka that is asked the same right afterwards.
    """
    with folder() as path, serving(path / "home") as (address, *_):
        ours = asyncio.run(_waits(address))
    with folder() as path, real_broker(path / "kafka", "group.initial.rebalance.delay.ms=0") as text:
        admin = KafkaAdminClient(bootstrap_servers=text)
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])
        admin.close()
        kafka = asyncio.run(_waits(Address.from_text(text)))
    for figure, same in zip(ours, kafka, strict=True):
        yield figure._replace(anchor=Anchor(same.value, "a real Kafka"))


async def _waits(address: Address) -> list[Figure]:
    """How long groups take to form, by size and protocol, and what heartbeats and commits take."""
    warm = LiveGroup(address, "warm", 1)
    await warm.form()
    await warm.beat_for(HEARTBEATS_FOR_S)
    await warm.leave()
    found = []
    for size in SIZES:
        group = LiveGroup(address, f"of-{size}", size, topic=TOPIC)
        found.append(Figure(f"stable_{size}_members", await group.form(), "s", at_most(1.2)))
        if size == 50:
            found += quantiles("heartbeat", await group.beat_for(HEARTBEATS_FOR_S), at_most(2), at_most(20))
        if size == 3:
            found += quantiles("commit", await group.commit_for(COMMITS_FOR_S), at_most(40), at_most(150))
        await group.leave()
    newer = LiveGroup(address, "newer", 3, ConsumerMember, TOPIC, PARTITIONS)
    found.append(Figure("consumer_group_of_3_members", await newer.form(), "s"))
    await newer.come_to_rest()
    commits = await newer.commit_for(COMMITS_FOR_S)
    await newer.leave()
    return found + quantiles("consumer_group_commit", commits, at_most(40), at_most(150))


@bench
def groups_at_rest() -> Iterator[Figure]:
    """Five minutes of 1,000 groups of three members that beat every three seconds, as soon as all have formed.

    Then every heartbeat is in the history and nobody was expired, else it raises AssertionError.
    """
    with folder() as path, serving(path / "home") as (address, *pids):
        beats, took, (job_s, gateway_s) = asyncio.run(_rest(address, pids))
        time.sleep(HANDED_ON_WITHIN_S)
        reported = _heartbeats_reported(Home(path / "home"))
    assert reported == beats, f"{beats} heartbeats were sent, and the history has {reported}"
    hundred_thousands = len(took) / 100_000
    yield Figure("at_rest_heartbeats_a_second", len(took) / RESTING_FOR_S, "1/s")
    yield from quantiles("at_rest_heartbeat", took, at_most(2), at_most(20))
    both = (job_s + gateway_s) / hundred_thousands
    yield Figure("at_rest_job_and_gateway_100000_heartbeats", both, "s of a core", at_most(15))
    yield Figure("at_rest_job_100000_heartbeats", job_s / hundred_thousands, "s of a core", at_most(3))


async def _rest(address: Address, pids: Sequence[int]) -> tuple[int, list[float], list[float]]:
    """How many heartbeats were taken in all; and what beats and processes took once all groups had formed."""
    groups = [LiveGroup(address, f"resting-{number}", RESTING_SIZE) for number in range(RESTING_GROUPS)]
    took, over, beating = list[float](), asyncio.Event(), []
    for first in range(0, RESTING_GROUPS, FORMED_AT_ONCE):
        some = groups[first : first + FORMED_AT_ONCE]
        await asyncio.gather(*(group.form() for group in some))
        beating += [asyncio.create_task(group.beat_every(RESTING_INTERVAL_S, took, over)) for group in some]
    took.clear()
    before = [processor_seconds(pid) for pid in pids]
    await asyncio.sleep(RESTING_FOR_S)
    used = [processor_seconds(pid) - used_before for pid, used_before in zip(pids, before, strict=True)]
    measured = list(took)
    over.set()
    await asyncio.gather(*beating)
    return sum(member.beats for group in groups for member in group.members), measured, used


def _heartbeats_reported(home: Home) -> int:
    """How many heartbeats a history says were answered NONE, in runs and alone. Raises AssertionError: one removed."""
    facts = DeltaTable(home.effects).to_pyarrow_table(columns=["effect", "api", "error_code", "detail"])
    removed = facts.filter(pc.equal(facts["effect"], EffectName.MEMBER_REMOVED)).num_rows
    assert not removed, f"{removed} members were removed"
    runs = facts.filter(pc.equal(facts["effect"], EffectName.HEARTBEATS_TAKEN))["detail"].to_pylist()
    taken = sum(len(beats) for run in runs for beats in beats_taken(run))
    replies = facts.filter(pc.and_(pc.equal(facts["effect"], EffectName.REPLY), pc.equal(facts["api"], "Heartbeat")))
    return taken + sum(error == Error.NONE for error in replies["error_code"].to_pylist())


@bench
def an_idle_job() -> Figure:
    """What the coordinator job, its JVM and its Python workers use of one core with nothing to do, warm."""
    with folder() as path, coordinator(fresh(path / "home")) as job:
        time.sleep(IDLE_WARM_UP_S)
        before_s, began = processor_seconds(job.pid), time.monotonic()
        time.sleep(IDLE_FOR_S)
        used_s, passed_s = processor_seconds(job.pid) - before_s, time.monotonic() - began
    return Figure("idle_job", used_s / passed_s, "cores", at_most(1 / 3))


@contextmanager
def serving(path: Path) -> Iterator[tuple[Address, int, int]]:
    """A job and a gateway on a fresh home: where the gateway listens, and the process ids of the two."""
    home = fresh(path)
    words = [word for key, value in SETTINGS.items() for word in ("--set", f"{key}={value}")]
    with coordinator(home, *words) as job, gateway(home, *words) as serves:
        assert serves.address is not None
        yield serves.address, job.pid, serves.pid


def fresh(path: Path) -> Home:
    (path / "logs").mkdir(parents=True)
    return Home(path)


def coordinator(home: Home, *words: str) -> AbstractContextManager[CoordinatorProcess]:
    return _ready(CoordinatorProcess(home, *words))


def gateway(home: Home, *words: str) -> AbstractContextManager[GatewayProcess]:
    return _ready(GatewayProcess(home, "--listen", "127.0.0.1:0", "--set", "gateway.metrics.listen=", *words))


Server = TypeVar("Server", CoordinatorProcess, GatewayProcess)


@contextmanager
def _ready(server: Server) -> Iterator[Server]:
    """A server that serves, to the end of the block. Raises RuntimeError: it ended, or took too long."""
    deadline = time.monotonic() + _PATIENCE_S
    try:
        while not server.is_ready:
            if server.status is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the {server.name} did not start: {server.last_words()}")
            time.sleep(0.05)
        yield server
    finally:
        server.end(_PATIENCE_S)
