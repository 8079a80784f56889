"""Searches for the dearest request of every API and page, and runs the commands: `python -m tests.attack.cost`.

Exit status 1 if memory or bytes miss their goal by far; times that do are reported. Knows the command line and in which
order things are measured.
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
from pathlib import Path

import click

from rollcall.programs.command_line import examples, run_command
from rollcall.programs.guardian import guard
from tests.attack.cost.broker import Broker
from tests.attack.cost.commands import costs_of_commands, costs_of_readers
from tests.attack.cost.pages import costs_of_pages
from tests.attack.cost.search import Found, search
from tests.attack.cost.table import far_off, far_too_slow, keep, written
from tests.page.homes import hostile

NAME = "python -m tests.attack.cost"


@click.command(epilog=examples(f"{NAME}", f"{NAME} --seconds 30 --write"))
@click.option("--seconds", type=float, default=2.0, show_default=True, help="How long each API, page and reader.")
@click.option("--write", is_flag=True, help="Write the tables into SECURITY.md.")
def command(seconds: float, write: bool) -> int:
    """Find out what the dearest request of each kind costs."""
    apis = _searched(apis_served(), seconds)
    with tempfile.TemporaryDirectory() as folder:
        home, small, place = (Path(folder) / name for name in ("home", "small", "out"))
        for each in (home, small, place):
            each.mkdir()
        pages = list(costs_of_pages(home, seconds))
        hostile(small)
        commands = [*costs_of_commands(home, small, place), *costs_of_readers(seconds)]
    tables = written(apis, pages, commands)
    print(tables)
    if write:
        keep(tables)
    found = far_off(apis)
    print(*found, *far_too_slow(apis, pages), sep="\n")
    return 1 if found else 0


def apis_served() -> list[str]:
    """The APIs that a gateway answers by itself."""
    broker = Broker()
    try:
        return list(broker.codecs)
    finally:
        broker.close()


def _searched(apis: list[str], seconds: float) -> dict[str, Found]:
    """What was found of each: in a process of its own, whose memory is measured, with all that is imported once."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.attack.cost.__main__"])
    with context.Pool(1, maxtasksperchild=1) as pool:
        return dict(zip(apis, pool.starmap(search, [(api, seconds) for api in apis], chunksize=1), strict=True))


def main(arguments: list[str] | None = None) -> int:
    """Exit status: see above."""
    guard()
    return run_command(command, NAME, arguments)


if __name__ == "__main__":
    sys.exit(main())
