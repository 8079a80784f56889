"""What a refused, unfinished or abandoned request took is free at once, and waits for no garbage collection."""

from __future__ import annotations

import asyncio
import gc
import struct
import threading
import tracemalloc
from collections.abc import Iterator

import pytest

from rollcall.schemas.errors import Error
from rollcall.serve.gateway.backend import BackendError
from rollcall.serve.gateway.fair_threads import FairThreads
from tests.gateway.running import Running, asynchronous, gateway
from tests.gateway.wire_client import heartbeat
from tests.waiting import WITHIN_S, until_true
from tests.wire_client import framed

TIMES = 8
LONG = b"x" * 1_500_000


def cut(frame: bytes) -> bytes:
    """A frame that ends early, with a length that says so."""
    return struct.pack(">i", len(frame) - 5) + frame[4:-1]


SYNC = framed("SyncGroup", 3, **heartbeat(), assignments=[{"member_id": "m", "assignment": LONG}])


@pytest.fixture(autouse=True)
def _no_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize(
    ("frame", "is_answered"),
    [
        (cut(SYNC), True),
        (framed("DescribeGroups", 5, groups=["g" * 140] * 10_001), True),
        (SYNC, True),
        (SYNC[:-1], False),
    ],
    ids=["malformed", "too many elements", "refused by the backend", "unfinished"],
)
@asynchronous
async def test_a_refused_requests_memory_is_free_at_once(frame: bytes, is_answered: bool) -> None:
    async with gateway() as running:
        running.backend.fails = BackendError("the request is too long", Error.INVALID_REQUEST)
        await _ask_and_leave(running, frame, is_answered)
        tracemalloc.start()
        try:
            for _ in range(TIMES):
                await _ask_and_leave(running, frame, is_answered)
            held_bytes, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert held_bytes < 2 * len(frame)


async def _ask_and_leave(running: Running, frame: bytes, is_answered: bool) -> None:
    client = await running.client()
    client.send_raw(frame)
    if is_answered:
        # An answer, or the end of the connection.
        await client.reader.read(1 << 16)
        client.close()
    else:
        await client.writer.drain()
        client.writer.transport.abort()
    await until_true(lambda: len(running.server.connections) == 0)
    running.backend.asked.clear()
    running.backend.effects.clear()


@asynchronous
async def test_work_that_nobody_waits_for_is_dropped_before_its_turn() -> None:
    threads = FairThreads(1, "test")
    may_end = threading.Event()
    first = threads.run("a", lambda: may_end.wait(WITHIN_S))
    tracemalloc.start()
    try:
        for _ in range(TIMES):
            frame = bytes(len(LONG))
            threads.run("a", lambda frame=frame: len(frame)).cancel()  # type: ignore[misc]
        del frame
        turned = asyncio.Event()
        asyncio.get_running_loop().call_soon(turned.set)
        await turned.wait()
        held_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        may_end.set()
    await first
    threads.close()
    assert held_bytes < len(LONG)
