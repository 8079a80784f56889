"""The pure core on one processor core: heartbeats, a rebalance, a mass expiry, memory."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator

from benchmarks.figures import Figure, at_least, at_most, bench, cpu_seconds
from benchmarks.groups import (
    CONFIG,
    REBALANCE_TIMEOUT_MS,
    SESSION_TIMEOUT_MS,
    drive,
    heartbeats,
    rejoins,
    stable_group,
    syncs,
)
from coordinator_udfs.protocol.group import Group
from coordinator_udfs.protocol.states import GroupState
from coordinator_udfs.protocol.step import expire_due, step


@bench
def heartbeats_per_second() -> Iterator[Figure]:
    """Heartbeats of healthy members, due deadlines looked for before each; the group's size must not slow them."""
    rates = {members: heartbeat_rate(members) for members in (20, 200, 2000)}
    yield Figure("heartbeats_200_members", rates[200], "1/s", at_least(500_000))
    yield Figure("heartbeats_2000_members_over_20", rates[2000] / rates[20], "ratio", at_least(0.6))


def heartbeat_rate(members: int, count: int = 200_000) -> float:
    requests = heartbeats(stable_group(members), count, 2000)
    groups: list[Group] = []

    def beat() -> None:
        group = groups[-1]
        for request in requests:
            at_ms = request.received_at_ms
            expire_due(group, at_ms - 1, CONFIG)
            step(group, request, at_ms, CONFIG)

    seconds = cpu_seconds(beat, prepare=lambda: groups.append(stable_group(members)))
    if any(len(group.members) != members for group in groups):
        raise AssertionError("a healthy member was lost")
    return count / seconds


@bench
def rebalance() -> Iterator[Figure]:
    """One rebalance: every member's JoinGroup, then every member's SyncGroup, each answered."""
    times = {members: _rebalance_seconds(members) for members in (250, 1000, 2000)}
    yield Figure("rebalance_1000_members", times[1000] * 1000, "ms", at_most(50))
    yield Figure("rebalance_2000_members_over_250", times[2000] / times[250], "ratio", at_most(16))


def _rebalance_seconds(members: int) -> float:
    at_ms = 5000
    pristine = stable_group(members)
    joins = rejoins(pristine, at_ms)
    sync_requests = syncs(pristine, pristine.generation_id + 1, at_ms)
    groups: list[Group] = []

    def run() -> None:
        drive(groups[-1], at_ms, joins)
        drive(groups[-1], at_ms, sync_requests)

    seconds = cpu_seconds(run, repeats=5, prepare=lambda: groups.append(stable_group(members)))
    if any(group.state is not GroupState.STABLE or group.generation_id != 3 for group in groups):
        raise AssertionError("the rebalance did not complete")
    return seconds


@bench
def mass_expiry() -> Figure:
    """Every member of a group falls silent at once: each session ends on its own, the first begins a rebalance."""
    groups: list[Group] = []

    def run() -> None:
        expire_due(groups[-1], 3000 + SESSION_TIMEOUT_MS + REBALANCE_TIMEOUT_MS, CONFIG)

    seconds = cpu_seconds(run, prepare=lambda: groups.append(stable_group(1000)))
    if any(group.members for group in groups):
        raise AssertionError("a silent member is left")
    return Figure("mass_expiry_1000_members", seconds * 1000, "ms", at_most(500))


@bench
def memory() -> Figure:
    """What a settled member takes, its own subscription and assignment included."""
    members = 2000
    stable_group(10)
    gc.collect()
    tracemalloc.start()
    group = stable_group(members)
    gc.collect()
    size_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return Figure("memory_per_member", size_bytes / len(group.members), "bytes")
