"""The coordinator job and gateway as users run them: what a client waits for, and what groups at rest cost."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import NamedTuple

from kafka.admin import KafkaAdminClient, NewTopic

from benchmarks.figures import Anchor, Figure, at_most, bench, quantiles
from benchmarks.live_group import ConsumerMember, LiveGroup, Member
from benchmarks.processes import ROOT, folder, processor_seconds, seconds_since
from rollcall.schemas.effect_names import EffectName
from rollcall.serve.listeners.addresses import Address
from rollcall.tables.job_status import read_status
from tests.peers_job.job import Job
from tests.peers_kafka.kafka import broker
from tests.waiting import until

FORMS_WITHIN_S = {3: 0.75, 50: 1.2, 200: 0.85}
"""By the size of a group."""
FORMED = 6
"""How many groups of three form; one alone is chance."""
TOPIC, PARTITIONS = "measured", 6
SETTINGS = {"group.initial.rebalance.delay.ms": "0"}
HEARTBEATS_FOR_S, COMMITS_FOR_S = 15.0, 10.0
QUIET_INTERVAL_S = 0.25
RESTING_SIZE, RESTING_SETTLED_S, RESTING_FOR_S, FORMED_AT_ONCE = 3, 60.0, 120.0, 25
IDLE_SETTLED_S, IDLE_FOR_S = 30.0, 40.0


class Rest(NamedTuple):
    """Groups of three members at rest, and how often each member beats."""

    groups: int
    interval_s: float

    @property
    def beats_a_second(self) -> int:
        return round(self.groups * RESTING_SIZE / self.interval_s)


AT_REST = Rest(1_000, 3.0)
OTHERS_AT_REST = (Rest(300, 0.9), Rest(3_000, 9.0), Rest(1_000, 9.0), Rest(1_000, 1.0))
"""Fewer and more groups at the same rate; the same groups at a lower and a higher one."""


@bench
def clients_wait() -> Iterator[Figure]:
    """Groups form one after the other, by members that join at once, with no initial delay; 50 heartbeat, 3 commit.

    Beside a real Kafka that is asked the same right afterwards, and beside a server that only says yes.
    """
    with folder() as path, Job(path / "home", {TOPIC: PARTITIONS}, SETTINGS) as job:
        job.start_coordinator()
        ours = asyncio.run(_waits(job.start_gateway()))
    with folder() as path, broker(path, SETTINGS) as text:
        admin = KafkaAdminClient(bootstrap_servers=text)
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])
        admin.close()
        kafka = asyncio.run(_waits(Address.from_text(text)))
    for figure, same in zip(ours, kafka, strict=True):
        yield figure._replace(anchor=Anchor(same.value, "a real Kafka"))
    with subprocess.Popen([sys.executable, "-m", "benchmarks.yes_server"], cwd=ROOT, stdout=subprocess.PIPE) as yes:
        assert yes.stdout is not None
        beats = asyncio.run(_beats_alone(Address("127.0.0.1", int(yes.stdout.readline()))))
        yes.terminate()
    yield quantiles("heartbeat_of_the_client_alone", beats)[0]


async def _beats_alone(address: Address) -> list[float]:
    """What heartbeats take that nobody has to think about."""
    group = LiveGroup(address, "of-50", 50)
    group.members = [await Member.connect(address) for _ in range(group.size)]
    beats = await group.beat_for(HEARTBEATS_FOR_S)
    for member in group.members:
        member.close()
    return beats


async def _waits(address: Address) -> list[Figure]:
    """How long groups take to form, by size and protocol, and what heartbeats and commits take."""
    warm = LiveGroup(address, "warm", 1)
    await warm.form()
    await warm.beat_for(HEARTBEATS_FOR_S)
    await warm.leave()
    found = []
    for size, within_s in FORMS_WITHIN_S.items():
        group = LiveGroup(address, f"of-{size}", size, topic=TOPIC)
        formed_s = await _formed_s(group, FORMED if size == 3 else 1)
        found.append(Figure(f"stable_{size}_members", formed_s, "s", at_most(within_s)))
        if size == 50:
            found += quantiles("heartbeat", await group.beat_for(HEARTBEATS_FOR_S), at_most(2), at_most(20))
        if size == 3:
            quiet = await group.commit_for(COMMITS_FOR_S, QUIET_INTERVAL_S)
            found += quantiles("quiet_commit", quiet, at_most(6), at_most(15))
            found += quantiles("commit", await group.commit_for(COMMITS_FOR_S), at_most(40), at_most(150))
        await group.leave()
    newer = LiveGroup(address, "newer", 3, ConsumerMember, TOPIC, PARTITIONS)
    found.append(Figure("consumer_group_of_3_members", await _formed_s(newer, FORMED), "s", at_most(0.4)))
    await newer.come_to_rest()
    commits = await newer.commit_for(COMMITS_FOR_S)
    await newer.leave()
    return found + quantiles("consumer_group_commit", commits, at_most(40), at_most(150))


async def _formed_s(last: LiveGroup, count: int) -> float:
    """The median of how long as many groups take to form, one after the other; the last one stays."""
    took = []
    for number in range(1, count):
        group = replace(last, group_id=f"{last.group_id}-{number}", members=[])
        took.append(await group.form())
        await group.leave()
    return median([*took, await last.form()])


@bench
def groups_at_rest() -> Iterator[Figure]:
    """What two minutes of 1,000 groups of three members cost, 1,000 heartbeats a second; and other sizes beside it."""
    took, (job_s, gateway_s) = _rested(AT_REST)
    hundred_thousands = len(took) / 100_000
    yield from quantiles("at_rest_heartbeat", took, at_most(2), at_most(20))
    both = (job_s + gateway_s) / hundred_thousands
    yield Figure("at_rest_job_and_gateway_100000_heartbeats", both, "s of a core", at_most(12))
    yield Figure("at_rest_job_100000_heartbeats", job_s / hundred_thousands, "s of a core", at_most(4))
    yield _cores(AT_REST, (job_s, gateway_s))
    for rest in OTHERS_AT_REST:
        yield _cores(rest, _rested(rest)[1])


def _cores(rest: Rest, used: Iterable[float]) -> Figure:
    name = f"at_rest_{rest.groups}_groups_{rest.beats_a_second}_heartbeats_a_second"
    return Figure(name, sum(used) / RESTING_FOR_S, "of a core")


def _rested(rest: Rest) -> tuple[list[float], list[float]]:
    """What each heartbeat took at rest, and seconds of a core that job and gateway used meanwhile.

    Raises RuntimeError: a heartbeat was refused. AssertionError: the history has others, or an expiry.
    """
    with folder() as path, Job(path / "home", {TOPIC: PARTITIONS}, SETTINGS) as job:
        job.start_coordinator()
        beats, took, used = asyncio.run(_rest(rest, job.start_gateway(), job))
        until(lambda: len(job.now().heartbeats()) >= beats, f"{beats} heartbeats in the history")
        history = job.now()
        assert len(history.heartbeats()) == beats
        assert not history.effects(EffectName.MEMBER_REMOVED)
    return took, used


@bench
def nobody_asks() -> Iterator[Figure]:
    """A job and a gateway without a client, once they have settled: what they use, and the files that they make."""
    with folder() as path, Job(path / "home", {TOPIC: PARTITIONS}, SETTINGS) as job:
        job.start_coordinator()
        job.start_gateway()
        until(lambda: (status := read_status(job.home.path)) is not None and status.rests_until_ms, "a job at rest")
        time.sleep(IDLE_SETTLED_S)
        before, used = _files(path), [processor_seconds(pid) for pid in job.pids()]
        time.sleep(IDLE_FOR_S)
        cores = sum(map(seconds_since, job.pids(), used)) / IDLE_FOR_S
        files = len(_files(path) - before)
    yield Figure("idle_job_and_gateway", cores, "of a core", at_most(0.05))
    yield Figure("idle_files_40_s", files, "files", at_most(20))


def _files(folder_of_home: Path) -> set[tuple[Path, int]]:
    """The files below a folder; one that takes another's place is another file."""
    return {(path, path.stat().st_ino) for path in folder_of_home.rglob("*") if path.is_file()}


async def _rest(rest: Rest, address: Address, job: Job) -> tuple[int, list[float], list[float]]:
    """How many heartbeats were taken in all; and what beats and processes took a minute after all groups had formed."""
    groups = [LiveGroup(address, f"resting-{number}", RESTING_SIZE) for number in range(rest.groups)]
    took, over, beating = list[float](), asyncio.Event(), []
    for first in range(0, rest.groups, FORMED_AT_ONCE):
        some = groups[first : first + FORMED_AT_ONCE]
        await asyncio.gather(*(group.form() for group in some))
        beating += [asyncio.create_task(group.beat_every(rest.interval_s, took, over)) for group in some]
    await asyncio.sleep(RESTING_SETTLED_S)
    took.clear()
    before = [processor_seconds(pid) for pid in job.pids()]
    await asyncio.sleep(RESTING_FOR_S)
    used = [*map(seconds_since, job.pids(), before)]
    measured = list(took)
    over.set()
    await asyncio.gather(*beating)
    return sum(member.beats for group in groups for member in group.members), measured, used
