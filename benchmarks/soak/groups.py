"""Groups that live for hours: members heartbeat and commit, some go and others come in their place.

Two of three groups have three members by the classic protocol, the third two members of a consumer group. Knows what a
member does; must not know how long this goes on, nor what it costs those who answer.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from benchmarks.live_consumer_group import ConsumerMember
from benchmarks.live_group import ClassicMember, connected
from listeners.addresses import Address

TOPIC, PARTITIONS = "worked", 6
CLASSIC_SIZE, CONSUMER_SIZE = 3, 2
CONSUMER_EVERY = 3
INTERVAL_S = 5.0
COME_WITHIN_S = 120.0
"""The first members come spread over this many seconds."""
COMMIT_EVERY = 12
"""Heartbeats between a member's commits."""
STAYS_BEATS = 720
"""Heartbeats that a member stays for, on average: an hour of them."""


@dataclass
class Lived:
    """What the members have had so far."""

    beats: int = 0
    commits: int = 0
    newcomers: int = 0
    rejoined: int = 0
    """How often a member had to join again, because others came and went."""
    lost: int = 0
    """How often a living member was answered that it is no member."""
    took: list[float] = field(default_factory=list)
    """Seconds of each heartbeat; whoever reads it may empty it."""

    async def beaten(self, beat: Awaitable[str]) -> str:
        """The error of a heartbeat, which is counted."""
        began = time.perf_counter()
        error = await beat
        self.took.append(time.perf_counter() - began)
        self.beats += 1
        return error


Behaviour = Callable[[Address, str, random.Random, Lived], Awaitable[None]]


async def live(address: Address, count: int, dice: random.Random, lived: Lived) -> None:
    """Keeps these groups at work until it is cancelled. Raises RuntimeError: a member was refused."""
    async with asyncio.TaskGroup() as tasks:
        for number in range(count):
            is_consumer = number % CONSUMER_EVERY == 0
            behaviour, size = (_consume_newer, CONSUMER_SIZE) if is_consumer else (_consume_classic, CLASSIC_SIZE)
            for _ in range(size):
                group_id = f"{'consumer' if is_consumer else 'classic'}-{number}"
                tasks.create_task(_seat(behaviour, address, group_id, random.Random(dice.random()), lived))


async def _seat(behaviour: Behaviour, address: Address, group_id: str, dice: random.Random, lived: Lived) -> None:
    """One member after the other."""
    await asyncio.sleep(dice.uniform(0, COME_WITHIN_S))
    while True:
        await behaviour(address, group_id, dice, lived)
        lived.newcomers += 1


async def _consume_classic(address: Address, group_id: str, dice: random.Random, lived: Lived) -> None:
    (member,) = await connected(ClassicMember, address, group_id, 1)
    await member.join()
    for number in range(_beats(dice)):
        await asyncio.sleep(INTERVAL_S)
        match await lived.beaten(member.beat()):
            case "none":
                pass
            case "rebalance_in_progress" | "illegal_generation":
                lived.rejoined += 1
                await member.join()
            case "unknown_member_id":
                lived.lost += 1
                member.member_id = ""
                await member.join()
            case error:
                raise RuntimeError(f"Heartbeat: {error}")
        if number % COMMIT_EVERY == 0:
            lived.commits += await member.commit(TOPIC, dice.randrange(PARTITIONS), number) == "none"
    await member.leave()


async def _consume_newer(address: Address, group_id: str, dice: random.Random, lived: Lived) -> None:
    (member,) = await connected(ConsumerMember, address, group_id, 1)
    await member.join(TOPIC)

    async def beat() -> str:
        return "none" if await member.beat() else "loading"

    for _ in range(_beats(dice)):
        await asyncio.sleep(INTERVAL_S)
        await lived.beaten(beat())
    await member.leave()


def _beats(dice: random.Random) -> int:
    """How many heartbeats a member stays for."""
    return 1 + int(dice.expovariate(1 / STAYS_BEATS))
