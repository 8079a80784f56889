"""The coordinator job and gateway as users run them: what a client waits for, and what they use with nothing to do."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.figures import Figure, at_most, bench
from benchmarks.live_group import LiveGroup
from benchmarks.processes import processor_seconds
from benchmarks.spark_homes import folder
from gateway.settings import Address
from jobs.home import Home
from jobs.run.servers import CoordinatorProcess, GatewayProcess

SIZES = (3, 50, 200)
HEARTBEATS_FOR_S = 15.0
IDLE_WARM_UP_S, IDLE_FOR_S = 60.0, 60.0
_START_PATIENCE_S = 120.0
_END_PATIENCE_S = 60.0


@bench
def clients_wait() -> Iterator[Figure]:
    """Groups form one after the other, each by members that join at once, with no initial delay; then 50 heartbeat."""
    with folder() as path, serving(path / "home") as address:
        formed, beats = asyncio.run(measure(address))
    for size, seconds in formed.items():
        yield Figure(f"stable_{size}_members", seconds, "s", at_most(1.2))
    yield Figure("heartbeat_p50", beats[len(beats) // 2] * 1000, "ms", at_most(2))
    yield Figure("heartbeat_p99", beats[len(beats) * 99 // 100] * 1000, "ms", at_most(20))


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


async def measure(address: Address) -> tuple[dict[int, float], list[float]]:
    """Seconds to Stable by size, and those of heartbeats, sorted."""
    warm = LiveGroup(address, "warm", 1)
    await warm.form()
    await warm.beat_for(HEARTBEATS_FOR_S)
    await warm.leave()
    formed: dict[int, float] = {}
    for size in SIZES:
        group = LiveGroup(address, f"of-{size}", size)
        formed[size] = await group.form()
        if size == 50:
            beats = await group.beat_for(HEARTBEATS_FOR_S)
        await group.leave()
    return formed, beats


@contextmanager
def serving(path: Path) -> Iterator[Address]:
    """Where the gateway of a fresh home listens. Raises RuntimeError: a server did not start."""
    home = _fresh(path)
    coordinator = CoordinatorProcess(home, "--set", "group.initial.rebalance.delay.ms=0")
    try:
        await_ready(coordinator)
        gateway = GatewayProcess(home, "--listen", "127.0.0.1:0", "--set", "gateway.metrics.listen=")
        try:
            await_ready(gateway)
            assert gateway.address is not None
            yield gateway.address
        finally:
            gateway.end(_END_PATIENCE_S)
    finally:
        coordinator.end(_END_PATIENCE_S)


def _fresh(path: Path) -> Home:
    (path / "logs").mkdir(parents=True)
    return Home(path)


def await_ready(server: CoordinatorProcess | GatewayProcess) -> None:
    """Raises RuntimeError: it ended, or took too long."""
    deadline = time.monotonic() + _START_PATIENCE_S
    while not server.is_ready:
        if server.status is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the {server.name} did not start: {server.last_words()}")
        time.sleep(0.05)
