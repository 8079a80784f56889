"""Parity on the wire: answers to the project's scenarios, beside those that Apache Kafka 4.3.1 gave.

    python -m tests.gateway.parity [--profile default]... [--times] [NAME...]
    python -m tests.gateway.parity --bootstrap HOST:PORT --profile default [--scale 10] ...
    python -m tests.gateway.parity --kafka ...

Without --bootstrap a gateway over the pure core is started for each profile; with it, whatever speaks Kafka's protocol
there is asked: it has the profile's broker settings (`tests.protocol.scenario.PROFILES`) and the topics t1:4,t2:4, and
may be a real broker. --kafka starts a real broker for each profile (by Maven) and asks it beside the other. --scale
multiplies every time, for a slower peer; --times compares when answers came, not only what they said. Prints what
differs, and ends with 1 if anything does.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from kafka.admin import KafkaAdminClient, NewTopic
from kafka.errors import KafkaError

from rollcall.programs.command_line import examples, run_command
from rollcall.programs.settings import parse_topics
from rollcall.schemas.messages import APIS
from rollcall.serve.gateway.wire.codec import codec
from rollcall.serve.listeners.addresses import Address, parse_address
from tests.gateway.parity_play import Connections, WirePlaying, otherwise
from tests.gateway.process import serving
from tests.peers_kafka.kafka import broker
from tests.protocol.scenario import PROFILES, Scenario, read, scenario_files
from tests.waiting import until

NAME = "python -m tests.gateway.parity"
AT_ONCE = 64
"""How many scenarios are played at a time."""
SLOWER = 3.0


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


async def play_patiently(some: Sequence[Scenario], address: Address, scale: float) -> dict[str, list[str]]:
    """As `play`; what differs is played once more, slower and with less beside it: only a late answer gets better."""
    found = await play(some, address, scale, with_times=False)
    differing = [scenario for scenario in some if found[scenario.name]]
    return found | await play(differing, address, SLOWER * scale, with_times=False)


def report(found: dict[str, list[str]], what: str) -> int:
    """Says what differs and how much there was; how many scenarios differ."""
    differing = {name: lines for name, lines in found.items() if lines}
    for name, lines in sorted(differing.items()):
        print(f"{name}:", *lines, sep="\n  ")
    print(f"{what}: {len(found)} scenarios, {len(differing)} differ from Kafka", flush=True)
    return len(differing)


@click.command(epilog=examples(f"{NAME} --profile default", f"{NAME} --bootstrap 127.0.0.1:9092 --scale 10 --times"))
@click.option("--bootstrap", metavar="HOST:PORT", help="Where a peer is; without it one is started.")
@click.option("--kafka", is_flag=True, help="Ask a real broker too, started for each profile.")
@click.option("--profile", "profiles", multiple=True, type=click.Choice(list(PROFILES)), help="Only these; all else.")
@click.option("--scale", type=float, default=1.0, help="The factor by which every time is multiplied.")
@click.option("--times", is_flag=True, help="Compare when answers came, too.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
def command(
    bootstrap: str | None, kafka: bool, profiles: tuple[str, ...], scale: float, times: bool, names: tuple[str, ...]
) -> int:
    """Play scenarios over the wire, and say what is answered otherwise than Kafka does."""
    differing = 0
    for profile in profiles or PROFILES:
        some = scenarios(profile, names)
        with _peer(bootstrap, profile) as address:
            found = asyncio.run(play(some, address, scale, times))
        differing += report(found, f"{profile} on {bootstrap or 'a gateway over the core'}")
        if kafka:
            with real_kafka(profile) as address:
                found = asyncio.run(play(some, address, scale, times))
            differing += report(found, f"{profile} on a real Kafka, just started")
    return 1 if differing else 0


def _peer(bootstrap: str | None, profile: str) -> AbstractContextManager[Address]:
    return nullcontext(parse_address("--bootstrap", bootstrap)) if bootstrap else serving(PROFILES[profile])


@contextmanager
def real_kafka(profile: str) -> Iterator[Address]:
    """A real broker with the settings and the topics of a profile."""
    settings = dict(PROFILES[profile])
    topics = parse_topics(str(settings.pop("topics")))
    with TemporaryDirectory() as folder, broker(Path(folder), settings) as bootstrap:
        admin = KafkaAdminClient(bootstrap_servers=bootstrap)
        admin.create_topics([NewTopic(topic, count, 1) for topic, count in topics.items()])
        for group in ("a", "b"):
            until(lambda group=group: _is_served(admin, group), "the coordinator of a group")  # type: ignore[misc]
        admin.close()
        yield parse_address("bootstrap", bootstrap)


def _is_served(admin: KafkaAdminClient, group: str) -> bool | None:
    """True once the broker's coordinator has loaded the partition of this group; of two names, either."""
    try:
        admin.list_group_offsets(group)
    except KafkaError:
        return None
    return True


if __name__ == "__main__":
    sys.exit(run_command(command, NAME))
