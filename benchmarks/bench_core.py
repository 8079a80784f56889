"""The pure core on one processor core: heartbeats, a rebalance, a mass expiry, memory."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable, Iterator
from timeit import repeat

from benchmarks.figures import Figure, at_least, at_most, bench
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
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.coordinator_udfs.protocol.step import expire_due, step

BEATS = 200_000


@bench
def heartbeats_per_second() -> Iterator[Figure]:
    """Heartbeats of healthy members, due deadlines looked for before each; the group's size must not slow them."""
    rates = {members: BEATS / _beats_s(members) for members in (20, 200, 2000)}
    yield Figure("heartbeats_200_members", rates[200], "1/s", at_least(500_000))
    yield Figure("heartbeats_2000_members_over_20", rates[2000] / rates[20], "ratio", at_least(0.6))


def _beats_s(members: int) -> float:
    requests = heartbeats(stable_group(members), BEATS, 2000)

    def beat(group: Group) -> None:
        for request in requests:
            at_ms = request.received_at_ms
            expire_due(group, at_ms - 1, CONFIG)
            step(group, request, at_ms, CONFIG)

    return _seconds(beat, members, lambda group: len(group.members) == members)


@bench
def rebalance() -> Iterator[Figure]:
    """One rebalance: every member's JoinGroup, then every member's SyncGroup, each answered."""
    times = {members: _rebalance_s(members) for members in (250, 1000, 2000)}
    yield Figure("rebalance_1000_members", times[1000] * 1000, "ms", at_most(50))
    yield Figure("rebalance_2000_members_over_250", times[2000] / times[250], "ratio", at_most(16))


def _rebalance_s(members: int) -> float:
    pristine = stable_group(members)
    joins, synced = rejoins(pristine, 5000), syncs(pristine, pristine.generation_id + 1, 5000)

    def run(group: Group) -> None:
        drive(group, 5000, joins)
        drive(group, 5000, synced)

    return _seconds(run, members, lambda group: group.state is GroupState.STABLE and group.generation_id == 2)


@bench
def mass_expiry() -> Figure:
    """Every member of a group falls silent at once: each session ends on its own, the first begins a rebalance."""
    end_ms = 3000 + SESSION_TIMEOUT_MS + REBALANCE_TIMEOUT_MS
    seconds = _seconds(lambda group: expire_due(group, end_ms, CONFIG), 1000, lambda group: not group.members)
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


def _seconds(action: Callable[[Group], object], members: int, is_as_meant: Callable[[Group], bool]) -> float:
    """The least processor time of an action on a settled group, garbage collected as usual: others only add to it.

    Raises AssertionError: a group is left otherwise than it was meant to be.
    """
    groups: list[Group] = []

    def prepare() -> None:
        groups.append(stable_group(members))
        gc.collect()
        gc.enable()

    seconds = min(repeat(lambda: action(groups[-1]), prepare, timer=time.process_time, repeat=5, number=1))
    assert all(map(is_as_meant, groups)), "a group was left otherwise than it was meant to be"
    return seconds
