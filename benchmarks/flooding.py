"""Clients that flood a gateway, as a process of their own: `python -m benchmarks.flooding HOST:PORT KIND`.

Fifty connections send the same request as fast as the gateway reads, and come back when they are sent away. Says
`flooding` once the first answer is there, ends at SIGTERM. Knows the wire; must not know what a bench measures.
"""

from __future__ import annotations

import asyncio
import sys

import click

from benchmarks.wire_client import framed
from listeners.addresses import Address, parse_address
from programs.command_line import run_command

CONNECTIONS = 50
TOPICS = "wide:1000"
_PIECE_BYTES = 1 << 20


def _heads_with_tags() -> bytes:
    """A Heartbeat whose head has as many unknown tagged fields as are read."""
    plain = framed("Heartbeat", 4, group_id="g", member_id="m", generation_id=1)[4:]
    head_end = 8 + 2 + len("client")
    tags = bytes([100]) + b"".join(bytes([number, 0]) for number in range(10, 110))
    frame = plain[:head_end] + tags + plain[head_end + 1 :]
    return len(frame).to_bytes(4, "big") + frame


KINDS = {
    "heartbeats": framed("Heartbeat", 4, group_id="g", member_id="m", generation_id=1),
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


async def flood(address: Address, frame: bytes, answered: asyncio.Event) -> None:
    """One connection's flood; returns when the gateway has ended the connection."""
    reader, writer = await asyncio.open_connection(*address)

    async def read() -> None:
        while await reader.read(_PIECE_BYTES):
            answered.set()

    reading = asyncio.create_task(read())
    try:
        while not reading.done():
            writer.write(frame)
            await writer.drain()
    finally:
        reading.cancel()
        writer.close()


async def flood_on(address: Address, frame: bytes, answered: asyncio.Event) -> None:
    while True:
        try:
            await flood(address, frame, answered)
        except OSError:
            await asyncio.sleep(0.01)


async def run(address: Address, frame: bytes) -> None:
    """Floods until it is ended."""
    answered = asyncio.Event()
    floods = [asyncio.create_task(flood_on(address, frame, answered)) for _ in range(CONNECTIONS)]
    await answered.wait()
    print("flooding", flush=True)
    await asyncio.gather(*floods)


@click.command()
@click.argument("place")
@click.argument("kind", type=click.Choice(sorted(KINDS)))
def command(place: str, kind: str) -> None:
    """Flood a gateway with one kind of request until SIGTERM."""
    asyncio.run(run(parse_address("PLACE", place), KINDS[kind]))


if __name__ == "__main__":
    sys.exit(run_command(command, "python -m benchmarks.flooding"))
