"""A client that sends a heartbeat now and then, beside fifty connections that flood the gateway."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.figures import Figure, at_most, bench
from benchmarks.flooding import KINDS, TOPICS
from benchmarks.gateway_process import running
from benchmarks.wire_client import framed
from listeners.addresses import Address

FOR_S = 4.0
EVERY_S = 0.02
_ROOT = Path(__file__).parents[1]
_HEARTBEAT = framed("Heartbeat", 4, group_id="quiet", member_id="m", generation_id=1)


@bench
def heartbeats_beside() -> Iterator[Figure]:
    """Wall clock. `sleeps_late` is how late a sleeper was woken meanwhile: the machine's part, not the gateway's."""
    for kind in KINDS:
        with running(topics=TOPICS) as gateway, flooded(gateway.address, kind):
            waits, late = asyncio.run(measured(gateway.address))
        yield Figure(f"{kind}_p50", waits[len(waits) // 2] * 1000, "ms")
        yield Figure(f"{kind}_p99", waits[len(waits) * 99 // 100] * 1000, "ms")
        yield Figure(f"{kind}_slowest", waits[-1] * 1000, "ms", at_most(100))
        yield Figure(f"{kind}_sleeps_late", late * 1000, "ms")


async def measured(address: Address) -> tuple[list[float], float]:
    """How long each heartbeat took, sorted, and how late the latest sleeper was woken."""
    reader, writer = await asyncio.open_connection(*address)
    waits, late, ends_at = [], 0.0, time.monotonic() + FOR_S
    while time.monotonic() < ends_at:
        began = time.monotonic()
        writer.write(_HEARTBEAT)
        await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
        waits.append(time.monotonic() - began)
        due = time.monotonic() + EVERY_S
        await asyncio.sleep(EVERY_S)
        late = max(late, time.monotonic() - due)
    writer.close()
    return sorted(waits), late


@contextmanager
def flooded(address: Address, kind: str) -> Iterator[None]:
    """A flood from here to the end of the block, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.flooding", str(address), kind]
    process = subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "flooding\n"
        yield
    finally:
        process.kill()
        process.wait()
