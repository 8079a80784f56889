"""The gateway as a process: `rollcall gateway`, or `python -m rollcall.serve.gateway`, with the same options.

Several may run beside a coordinator on one home. Prints where it listens once it is ready, ends at SIGTERM or Ctrl-C.

Knows how the program is started and ended; must not know how anything is answered.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rollcall.programs.command_line import (
    PLACES,
    conf_option,
    examples,
    home_option,
    named_as_typed,
    place_options,
    run_command,
    set_option,
)
from rollcall.programs.errors import ConfigError, UserError
from rollcall.programs.log_lines import log_to_standard_error
from rollcall.programs.settings import read_file, read_pairs
from rollcall.schemas.tables import EFFECTS

if TYPE_CHECKING:
    from rollcall.serve.gateway.settings import Settings
    from rollcall.serve.gateway.tables.request_sink import Topic

NAME = "python -m rollcall.serve.gateway"


@click.command(
    epilog=examples(
        "rollcall gateway --topics clicks:12 --listen 127.0.0.1:9093 --metrics 127.0.0.1:9465",
        "rollcall gateway --upstream kafka.example:9092 --listen 127.0.0.1:9192",
    )
)
@home_option
@conf_option
@set_option("A setting, over the file's")
@place_options
def command(home: str, conf: Path | None, given: tuple[str, ...], **places: str) -> None:
    """Serve Kafka clients for a running coordinator."""
    from rollcall.serve.gateway.server import prepare_process
    from rollcall.serve.gateway.settings import Settings
    from rollcall.serve.gateway.tables.request_sink import topic_of

    log_to_standard_error(logging.INFO)
    pairs = ({} if conf is None else read_file(conf)) | read_pairs(given, "--set ")
    with named_as_typed(places):
        settings = Settings.from_pairs(pairs | {PLACES[name]: text for name, text in places.items() if text})
    prepare_process()
    try:
        topic = topic_of(pairs)
        with _read_home(home, topic) as (folder, slower):
            asyncio.run(run(folder, settings, topic, slower))
    except OSError as error:
        why = error if error.filename is None else f"{error.filename}: {error.strerror}"
        raise UserError(f"the gateway cannot start: {why}") from None


@contextmanager
def _read_home(home: str, topic: Topic | None) -> Iterator[tuple[Path, float]]:
    """Where the home's tables are read, and how many times longer its batches take than on a disk.

    A home in a store is copied, and the copy follows it. Raises ConfigError: nothing takes its requests; HomeError: the
    store cannot be used.
    """
    from rollcall.serve.gateway.tables.tables_backend import SLOWER_IN_A_STORE
    from rollcall.tables.home import Home

    place = Home(home)
    if place.is_local:
        # It may be made later, by the coordinator.
        yield place.path, 1.0
        return
    if topic is None:
        raise ConfigError(f"{home} takes its requests by Kafka: give spark.coordinator.source=kafka, and its topic.")
    with place.followed_here(EFFECTS) as copy:
        yield copy, SLOWER_IN_A_STORE


async def run(home: Path, settings: Settings, topic: Topic | None, slower: float) -> None:
    """Runs until a signal. Raises OSError and ConfigError before it listens."""
    from rollcall.serve.gateway.assembly import gateway_on
    from rollcall.serve.listeners.addresses import refuse_unusable

    refuse_unusable(settings.listen, "--listen")
    if settings.metrics_listen is not None:
        refuse_unusable(settings.metrics_listen, "--metrics")
    server = gateway_on(home, settings, topic, slower)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await server.start()
    print(f"rollcall: the gateway listens on {server.address}; Ctrl-C stops it.", flush=True)
    await stop.wait()
    await server.close()
    print("rollcall: the gateway has stopped.", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: see `rollcall.programs.running`."""
    return run_command(command, NAME, arguments)


if __name__ == "__main__":
    sys.exit(main())
