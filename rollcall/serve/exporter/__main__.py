"""The exporter as a process: `rollcall export`, or `python -m rollcall.serve.exporter`, with the same options.

Serves /metrics and /health of any home: one that runs, a replay's, a shadow's, one in a store. Needs no Spark and only
reads. Ends at SIGTERM or Ctrl-C. Knows how the program is started; must not know a metric.
"""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Event

import click

from rollcall.programs.command_line import conf_option, examples, home_option, run_command, set_option
from rollcall.programs.errors import ConfigError
from rollcall.programs.log_lines import log_to_standard_error
from rollcall.programs.settings import read_file, read_pairs
from rollcall.schemas.tables import EFFECTS, FETCHES, LOG_ENDS
from rollcall.serve.exporter.settings import PREFIX
from rollcall.tables.home import Home

NAME = "python -m rollcall.serve.exporter"
DEFAULT_PLACE = "127.0.0.1:9308"
"""kafka_exporter's port."""


@click.command(
    epilog=examples(
        "rollcall export", 'rollcall export --home .rollcall-d-kill --set "rollcall.export.groups=clicks-.*"'
    )
)
@home_option
@conf_option
@set_option("A setting, over the file's")
@click.option("--listen", metavar="HOST:PORT", default="", help=f"Where it is served (default: {DEFAULT_PLACE}).")
@click.option("--allow-others", is_flag=True, help="Listen beyond this machine, without authentication.")
def command(home: str, conf: Path | None, given: tuple[str, ...], listen: str, allow_others: bool) -> None:
    """Serve metrics of a home's groups to Prometheus."""
    from rollcall.programs.settings import from_texts
    from rollcall.serve.exporter.serving import Exporter
    from rollcall.serve.exporter.settings import ExportSettings
    from rollcall.serve.listeners.addresses import parse_address, refuse_unusable
    from rollcall.serve.listeners.monitor import Monitor
    from rollcall.serve.listeners.settings import KEY_OF_HOSTS, MetricsHosts

    log_to_standard_error(logging.WARNING)
    pairs = ({} if conf is None else read_file(conf)) | read_pairs(given, "--set ")
    settings = from_texts(ExportSettings, {key: text for key, text in pairs.items() if key.startswith(PREFIX)})
    hosts = from_texts(MetricsHosts, {key: text for key, text in pairs.items() if key == KEY_OF_HOSTS})
    address = parse_address("--listen", listen or DEFAULT_PLACE)
    if not address.is_loopback and not allow_others:
        raise ConfigError(
            "others reach it and nobody has to authenticate: give --allow-others, or an address of this machine only",
            "--listen",
            address,
        )
    refuse_unusable(address, "--listen", "the exporter")
    ended = Event()
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, lambda *_: ended.set())
    with ExitStack() as ends:
        exporter = Exporter(ends.enter_context(Home(home).followed_here(EFFECTS, LOG_ENDS, FETCHES)), settings)
        ends.callback(exporter.stop)
        monitor = Monitor(address, exporter, exporter.health, hosts.metrics_hosts)
        ends.callback(monitor.close)
        exporter.start()
        print(f"rollcall: the metrics of {home} are at http://{monitor.address}/metrics; Ctrl-C stops it.", flush=True)
        ended.wait()


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: see `rollcall.programs.running`."""
    return run_command(command, NAME, arguments)


if __name__ == "__main__":
    sys.exit(main())
