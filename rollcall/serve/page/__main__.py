"""The page as a process: `rollcall page`, or `python -m rollcall.serve.page`, with the same options.

Serves any home: one that runs, one that has stopped, a replay's, a shadow's. Ends at SIGTERM or Ctrl-C. Knows how the
program is started; must not know what is on a page.
"""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from rollcall.programs.command_line import conf_option, examples, home_option, run_command
from rollcall.programs.log_lines import log_to_standard_error
from rollcall.programs.settings import read_file
from rollcall.schemas.tables import EFFECTS, QUARANTINE
from rollcall.serve.page.settings import DEFAULT_PLACE, settings_of
from rollcall.tables.home import Home

NAME = "python -m rollcall.serve.page"
LISTENS = "rollcall: the page is at "


@click.command(epilog=examples("rollcall page", "rollcall page --home .rollcall-d-kill --listen 127.0.0.1:8090"))
@home_option
@conf_option
@click.option(
    *("--listen", "--page", "listen"),
    metavar="HOST:PORT",
    default="",
    help=f"Where it is served (default: {DEFAULT_PLACE}).",
)
def command(home: str, conf: Path | None, listen: str) -> None:
    """Show a home in a browser."""
    serve(home, conf, listen, lambda address: print(f"{LISTENS}{address}; Ctrl-C stops it.", flush=True))


def serve(home: str, conf: Path | None, listen: str, begun: Callable[[str], None]) -> None:
    """Serves a home's page until SIGTERM or Ctrl-C. begun: is called once with the page's address. Raises UserError."""
    from rollcall.serve.listeners.addresses import refuse_unusable
    from rollcall.serve.page.serving import PageServer

    log_to_standard_error(logging.WARNING)
    settings = settings_of(listen or DEFAULT_PLACE, {} if conf is None else read_file(conf))
    refuse_unusable(settings.listen, "--page", "the page")
    # The server raises the signal once more when it has ended; without this it would leave its folders behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with Home(home).followed_here(EFFECTS, QUARANTINE) as folder:
        PageServer(folder, home, settings).run(begun)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: see `rollcall.programs.running`."""
    return run_command(command, NAME, arguments)


if __name__ == "__main__":
    sys.exit(main())
