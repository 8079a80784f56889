"""The gateway under a thousand connections: what it adds to an answer, how much it serves, what memory it takes."""

from __future__ import annotations

import asyncio
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.figures import Figure, at_least, at_most, bench
from benchmarks.gateway_load import Beat, Load
from benchmarks.gateway_process import running
from benchmarks.table_answers import Commits, answering, commits

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


@bench
def through_the_tables() -> Iterator[Figure]:
    """Requests go out and answers come in through a home's tables: what the gateway adds to the coordinator's time.

    That is the time from a request's arrival to the commit that holds it, and from the commit that holds the answer to
    the answer's arrival. The batches between them are the coordinator's.
    """
    with tempfile.TemporaryDirectory() as folder, answering(Path(folder)):
        with running(Path(folder)) as gateway:
            load = Load(gateway.address, CONNECTIONS)

            async def measure() -> list[Beat]:
                await load.join()
                return await load.beat_evenly(REQUESTS_A_SECOND, FOR_S)

            beats = asyncio.run(measure())
        written = commits(Path(folder))
    added = added_seconds(beats, written)
    yield Figure("tables_adds_p50", median(added) * 1000, "ms", at_most(50))
    yield Figure("tables_adds_p99", added[len(added) * 99 // 100] * 1000, "ms")
    yield Figure("tables_requests_an_append", written.requests / written.appends, "requests")
    yield Figure("tables_peak_memory", gateway.peak_bytes / _MB, "MB", at_most(300))


def added_seconds(beats: list[Beat], written: Commits) -> list[float]:
    """The gateway's part of each heartbeat's time, sorted."""
    places: dict[str, int] = defaultdict(int)
    added = []
    for beat in sorted(beats, key=lambda beat: beat.sent_at):
        place = places[beat.group_id]
        places[beat.group_id] += 1
        before = written.asked[beat.group_id][place] - beat.sent_at
        after = beat.answered_at - written.answered[beat.group_id][place]
        added.append(before + after)
    return sorted(added)
