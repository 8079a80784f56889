"""The gateway under a thousand connections: what it adds to an answer, how much it serves, what memory it takes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from statistics import median

from benchmarks.figures import Figure, at_least, at_most, bench
from benchmarks.gateway_load import Load
from benchmarks.gateway_process import running

CONNECTIONS = 1000
REQUESTS_A_SECOND = 5000
FOR_S = 4.0
_MB = 1_000_000


@bench
def over_the_core() -> Iterator[Figure]:
    """Every answer is there at once, so that what is measured is the wire, the connections and nothing else."""
    with running() as gateway:
        load = Load(gateway.address, CONNECTIONS)

        async def measure() -> tuple[list[float], float]:
            await load.join()
            beats = await load.beat_evenly(REQUESTS_A_SECOND, FOR_S)
            return sorted(beat.answered_at - beat.sent_at for beat in beats), await load.beat_without_pause(FOR_S)

        waits, rate = asyncio.run(measure())
    yield Figure("adds_p50", median(waits) * 1000, "ms", at_most(50))
    yield Figure("adds_p99", waits[len(waits) * 99 // 100] * 1000, "ms")
    yield Figure("requests_1000_connections", rate, "1/s", at_least(REQUESTS_A_SECOND))
    yield Figure("peak_memory", gateway.peak_bytes / _MB, "MB", at_most(300))
