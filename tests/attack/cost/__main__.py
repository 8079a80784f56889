"""Searches for the dearest request of every API and page, and runs the commands: `python -m tests.attack.cost`.

Exit status 1 if something misses its goal by far. Knows the command line and in which order things are measured.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import click
import msgspec

from programs.command_line import examples, run_command
from tests.attack.cost.broker import Broker
from tests.attack.cost.commands import costs_of_commands, costs_of_readers
from tests.attack.cost.pages import ROOT, costs_of_pages
from tests.attack.cost.search import Found
from tests.attack.cost.table import far_off, keep, written
from tests.page.homes import hostile

NAME = "python -m tests.attack.cost"


@click.command(epilog=examples(f"{NAME}", f"{NAME} --seconds 30 --write"))
@click.option("--seconds", type=float, default=2.0, show_default=True, help="How long each API, page and reader.")
@click.option("--write", is_flag=True, help="Write the tables into SECURITY.md.")
def command(seconds: float, write: bool) -> int:
    """Find out what the dearest request of each kind costs."""
    apis = {api: _searched(api, seconds) for api in apis_served()}
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
    found = far_off(apis, pages)
    print(*found, sep="\n")
    return 1 if found else 0


def apis_served() -> list[str]:
    """The APIs that a gateway answers by itself."""
    broker = Broker()
    try:
        return list(broker.codecs)
    finally:
        broker.close()


def _searched(api: str, seconds: float) -> Found:
    words = [sys.executable, "-m", "tests.attack.cost.search", api, str(seconds)]
    said = subprocess.run(words, cwd=ROOT, check=True, capture_output=True).stdout
    return msgspec.json.decode(said, type=Found)


def main(arguments: list[str] | None = None) -> int:
    """Exit status: see above."""
    return run_command(command, NAME, arguments)


if __name__ == "__main__":
    sys.exit(main())
