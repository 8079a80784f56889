"""A client that sends a heartbeat now and then, beside fifty connections that flood the gateway."""

from __future__ import annotations

import asyncio
import multiprocessing
import multiprocessing.synchronize
import time
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.figures import Figure, at_most, bench, quantiles
from rollcall.serve.listeners.addresses import Address
from tests.gateway.process import serving
from tests.wire_client import Client, framed

FOR_S, EVERY_S = 4.0, 0.02
CONNECTIONS = 50
AT_LEAST_BYTES = 1 << 16
"""What one write of the flood holds: with a write a request, short ones fill the sockets for most of a minute."""
_QUIET = framed("Heartbeat", 4, group_id="quiet", member_id="m", generation_id=1)
_HEARTBEAT = framed("Heartbeat", 4, group_id="g", member_id="m", generation_id=1)


def _heads_with_tags() -> bytes:
    """A Heartbeat whose head has as many unknown tagged fields as are read."""
    head_end = 4 + 8 + 2 + len("client")
    tags = bytes([100]) + b"".join(bytes([number, 0]) for number in range(10, 110))
    frame = _HEARTBEAT[4:head_end] + tags + _HEARTBEAT[head_end + 1 :]
    return len(frame).to_bytes(4, "big") + frame


KINDS = {
    "heartbeats": _HEARTBEAT,
    "one_topic": framed("Metadata", 12, topics=[{"name": "wide"}] * 10_000),
    "topics": framed("Metadata", 12, topics=[{"name": f"t{i}"} for i in range(10_000)]),
    "all_topics": framed("Metadata", 12, topics=None),
    "coordinators": framed("FindCoordinator", 4, coordinator_keys=[f"g{i}" for i in range(10_000)]),
    "describe": framed("DescribeGroups", 5, groups=[f"g{i}" for i in range(5000)]),
    "offsets": framed("OffsetFetch", 8, groups=[{"group_id": f"g{i}", "topics": None} for i in range(5000)]),
    "leave": framed("LeaveGroup", 4, group_id="g", members=[{"member_id": f"m{i}"} for i in range(10_000)]),
    "delete": framed("DeleteGroups", 1, groups_names=[f"g{i}" for i in range(5000)]),
    "list": framed("ListGroups", 4),
    "tags": _heads_with_tags(),
}
"""The requests of the floods, by kind."""


@bench
def heartbeats_beside() -> Iterator[Figure]:
    """Wall clock. `sleeps_late` is how late a sleeper was woken meanwhile: the machine's part, not the gateway's."""
    for kind, frame in KINDS.items():
        with serving({"topics": "wide:1000"}) as address, _flooded(address, frame):
            waits, late = asyncio.run(_measured(address))
        yield from quantiles(kind, waits)
        yield Figure(f"{kind}_slowest", max(waits) * 1000, "ms", at_most(100))
        yield Figure(f"{kind}_sleeps_late", late * 1000, "ms")


async def _measured(address: Address) -> tuple[list[float], float]:
    """How long each heartbeat took, and how late the latest sleeper was woken."""
    client, waits, late = await Client.connect(address), list[float](), 0.0
    ends_at = time.monotonic() + FOR_S
    while time.monotonic() < ends_at:
        began = time.monotonic()
        client.send_raw(_QUIET)
        await client.receive_raw()
        waits.append(time.monotonic() - began)
        due = time.monotonic() + EVERY_S
        await asyncio.sleep(EVERY_S)
        late = max(late, time.monotonic() - due)
    client.close()
    return waits, late


@contextmanager
def _flooded(address: Address, frame: bytes) -> Iterator[None]:
    """A flood from its first answer to the end of the block, in a process of its own."""
    spawning = multiprocessing.get_context("spawn")
    answered = spawning.Event()
    process = spawning.Process(target=_flood, args=(address, frame, answered), daemon=True)
    process.start()
    try:
        if not answered.wait(60):
            raise RuntimeError("no answer came to a flood within 60 s")
        yield
    finally:
        process.kill()
        process.join()


def _flood(address: Address, frame: bytes, answered: multiprocessing.synchronize.Event) -> None:
    """Every connection sends the request as fast as it is read, and comes back when it is sent away."""
    frames = frame * -(-AT_LEAST_BYTES // len(frame))

    async def read(client: Client) -> None:
        while await client.reader.read(1 << 20):
            answered.set()

    async def flood() -> None:
        client = await Client.connect(address)
        reading = asyncio.create_task(read(client))
        try:
            while not reading.done():
                client.send_raw(frames)
                await client.writer.drain()
        finally:
            reading.cancel()
            client.close()

    async def flood_on() -> None:
        while True:
            try:
                await flood()
            except OSError:
                await asyncio.sleep(0.01)

    async def all_of_them() -> None:
        await asyncio.gather(*(flood_on() for _ in range(CONNECTIONS)))

    asyncio.run(all_of_them())
