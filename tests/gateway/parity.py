"""Parity on the wire: answers to the project's scenarios, beside those that Apache Kafka 4.3.1 gave.

    python -m tests.gateway.parity [--profile default]... [--times] [NAME...]
    python -m tests.gateway.parity --bootstrap HOST:PORT --profile default [--scale 10] ...

Without --bootstrap a gateway over the pure core is started for each profile; with it, whatever speaks Kafka's protocol
there is asked: it has the profile's broker settings (`tests.protocol.scenario.PROFILES`) and the topics t1:4,t2:4, and
may be a real broker. --scale stretches every time, for a slower peer; --times compares when answers came, not only what
they said. Says what differs, and ends with 1 if anything does.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from gateway.settings import Address, parse_address
from gateway.wire.codec import codec
from schemas.messages import APIS
from tests.gateway.parity_play import Connections, WirePlaying, otherwise
from tests.gateway.process import serving
from tests.protocol.scenario import PROFILES, Scenario, read, scenario_files

AT_ONCE = 64
"""So many scenarios are played at a time."""


def scenarios(profile: str, names: Sequence[str] = ()) -> list[Scenario]:
    """Those of a profile, all of them or those whose names are given."""
    every = map(read, scenario_files())
    return [s for s in every if s.profile == profile and (not names or s.name in names)]


async def play(some: Sequence[Scenario], address: Address, scale: float, with_times: bool) -> dict[str, list[str]]:
    """By scenario what was answered otherwise than Kafka did, one line a field; the names of equal ones have none."""
    for name, api in APIS.items():
        for version in range(api.versions.first, api.versions.last + 1):
            codec(name, version)
    connections, gate = Connections(address), asyncio.Semaphore(AT_ONCE)

    async def one(scenario: Scenario) -> list[str]:
        async with gate:
            answers = await WirePlaying(scenario, connections, scale).play()
        return otherwise(scenario, answers, with_times)

    found = await asyncio.gather(*map(one, some))
    connections.close()
    return {scenario.name: lines for scenario, lines in zip(some, found, strict=True)}


def report(found: dict[str, list[str]], what: str) -> int:
    """Says what differs and how much there was; how many scenarios differ."""
    differing = {name: lines for name, lines in found.items() if lines}
    for name, lines in sorted(differing.items()):
        print(f"{name}:", *lines, sep="\n  ")
    print(f"{what}: {len(found)} scenarios, {len(differing)} differ from Kafka", flush=True)
    return len(differing)


def main() -> int:
    parser = argparse.ArgumentParser(prog="parity", description="Plays scenarios over the wire.")
    parser.add_argument("--bootstrap", help="host:port of a peer; without it one is started")
    parser.add_argument("--profile", action="append", choices=PROFILES, help="only these; the default is all")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--times", action="store_true")
    parser.add_argument("names", nargs="*")
    told = parser.parse_args()
    differing = 0
    for profile in told.profile or PROFILES:
        some = scenarios(profile, told.names)
        with _peer(told.bootstrap, profile) as address:
            found = asyncio.run(play(some, address, told.scale, told.times))
        differing += report(found, f"{profile} on {told.bootstrap or 'a gateway over the core'}")
    return 1 if differing else 0


def _peer(bootstrap: str | None, profile: str) -> AbstractContextManager[Address]:
    return nullcontext(parse_address("--bootstrap", bootstrap)) if bootstrap else serving(PROFILES[profile])


if __name__ == "__main__":
    sys.exit(main())
