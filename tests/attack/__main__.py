"""Attacks the product: `python -m tests.attack [--minutes 5 | --count 300] [--seed N] [--input frames]`.

Exit status 1 if something was found; the cases are kept beside the others. Knows the command line and which inputs
there are.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import click

from rollcall.programs.command_line import examples, run_command
from rollcall.programs.guardian import guard
from tests.attack.driver import attack
from tests.attack.inputs import INPUTS
from tests.attack.kept import FOLDER

NAME = "python -m tests.attack"


@click.command(epilog=examples(f"{NAME} --minutes 5", f"{NAME} --count 300", f"{NAME} --seed 7 --input frames"))
@click.option("--minutes", type=float, default=5.0, show_default=True, help="How long.")
@click.option(
    "--count", type=int, help="The number of cases of each input, instead of a time: the same cases on every machine."
)
@click.option("--seed", type=int, default=1, show_default=True, help="What the cases are made of.")
@click.option("--input", "names", multiple=True, type=click.Choice(sorted(INPUTS)), help="Attack this alone.")
@click.option(
    "--cases", type=click.Path(path_type=Path), default=FOLDER, help="Where cases that find something are kept."
)
def command(minutes: float, count: int | None, seed: int, names: tuple[str, ...], cases: Path) -> int:
    """Attack the product with hostile input."""
    # Whoever stops it sees what was done.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    print(f"seed {seed}", flush=True)
    inputs = [INPUTS[name]() for name in names or INPUTS]
    limit = {"seconds": minutes * 60} if count is None else {"cases": count}
    reports = attack(inputs, seed, cases, lambda line: print(line, flush=True), **limit)
    return 1 if any(report.findings for report in reports) else 0


def main(arguments: list[str] | None = None) -> int:
    """Exit status: see above."""
    guard()
    return run_command(command, NAME, arguments)


if __name__ == "__main__":
    sys.exit(main())
