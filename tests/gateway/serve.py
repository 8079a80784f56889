"""A gateway over the pure core as a process of its own: `python -m tests.gateway.serve [--set key=value]...`.

Says `listening on host:port` once it is ready, ends at SIGTERM. Takes the gateway's keys and Kafka's.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections import deque

import click

from rollcall.coordinator_udfs.protocol.config import CONSUMER_KEYS, GroupConfig
from rollcall.coordinator_udfs.protocol.config import KEYS as GROUP_KEYS
from rollcall.programs.command_line import run_command, set_option
from rollcall.programs.settings import from_texts, read_pairs
from rollcall.serve.gateway.assembly import before_upstream, stand_alone
from rollcall.serve.gateway.server import prepare_process
from rollcall.serve.gateway.settings import Settings
from tests.gateway.core_backend import CoreBackend


async def serve(pairs: dict[str, str]) -> None:
    known = {*GROUP_KEYS.values(), *CONSUMER_KEYS.values()}
    group = {key: value for key, value in pairs.items() if key in known}
    settings, backend = Settings.from_pairs(pairs), CoreBackend(from_texts(GroupConfig, group))
    # Nobody asks this process what it was asked, and a bench floods it.
    backend.asked = backend.effects = deque(maxlen=0)  # type: ignore[assignment]
    if settings.upstream is None:
        server = stand_alone(settings, backend)
    else:
        server = before_upstream(settings, settings.upstream, backend)
    await server.start()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    print(f"listening on {server.address}", flush=True)
    await stop.wait()
    await server.close()


@click.command()
@set_option("A key of the gateway's or Kafka's")
def command(given: tuple[str, ...]) -> None:
    """Serve until SIGTERM."""
    prepare_process()
    asyncio.run(serve(read_pairs(given, "--set ")))


if __name__ == "__main__":
    sys.exit(run_command(command, "python -m tests.gateway.serve"))
