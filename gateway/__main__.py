"""The gateway as a process: `python -m gateway [--home HOME] [--conf-file FILE] [--set key=value]...`.

Stands beside a coordinator on the same home; several may. Says where it listens once it is ready, ends at SIGTERM or
Ctrl-C. Exit status 0 when stopped, 2 for what the person in front of it can put right.

Knows how the program is started and ended; must not know how anything is answered.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import sys
from pathlib import Path

from gateway.assembly import gateway_on
from gateway.ports import refuse_unusable
from gateway.server import prepare_process
from gateway.settings import Settings
from programs.errors import ConfigError
from programs.settings import read_file, read_pairs

_SHORT = {
    "listen": "gateway.listen",
    "topics": "topics",
    "upstream": "gateway.upstream",
    "metrics": "gateway.metrics.listen",
}


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="gateway", description="Lets Kafka's clients join through the coordinator.")
    parser.add_argument("--home", help="where the tables are; else ROLLCALL_HOME, else .rollcall")
    parser.add_argument("--conf-file", type=Path, help="settings, key=value lines; conf/coordinator.conf names them")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="one setting, over the file's")
    parser.add_argument("--listen", metavar="HOST:PORT", help="where clients connect")
    parser.add_argument("--topics", metavar="T1:4,T2:4", help="stand-alone: the topics there are")
    parser.add_argument("--upstream", metavar="HOST:PORT", help="a broker of the Kafka cluster that has the data")
    parser.add_argument("--metrics", metavar="HOST:PORT", help="where /metrics and /health are served")
    return parser.parse_args(arguments)


def settings_of(arguments: argparse.Namespace) -> Settings:
    """The settings of the file, then of the command line. Raises ConfigError."""
    pairs = {} if arguments.conf_file is None else read_file(arguments.conf_file)
    pairs |= read_pairs(arguments.set, "--set ")
    for option, key in _SHORT.items():
        value = getattr(arguments, option)
        if value:
            pairs[key] = value
    return Settings.from_pairs(pairs)


async def run(home: Path, settings: Settings) -> None:
    """Runs until a signal. Raises OSError and ConfigError before it listens."""
    refuse_unusable(settings.listen, "LISTEN")
    if settings.metrics_listen is not None:
        refuse_unusable(settings.metrics_listen, "METRICS")
    server = gateway_on(home, settings)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await server.start()
    print(f"rollcall: the gateway listens on {server.address}; Ctrl-C stops it.", flush=True)
    await stop.wait()
    await server.close()
    print("rollcall: the gateway has stopped.", flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Exit status: see above."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s", stream=sys.stderr)
    parsed = parse(arguments)
    home = Path(parsed.home or os.environ.get("ROLLCALL_HOME") or ".rollcall").expanduser().absolute()
    try:
        settings = settings_of(parsed)
        prepare_process()
        asyncio.run(run(home, settings))
    except ConfigError as error:
        print(f"rollcall: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"rollcall: the gateway cannot start: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
