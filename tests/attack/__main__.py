"""Attacks the product for a stated time: `python -m tests.attack --minutes 5 [--seed N] [--input frames]`.

Exit status 1 if something was found; the cases are kept beside the others. Knows the command line and which inputs
there are.
"""

from __future__ import annotations

import secrets
import signal
import sys
from pathlib import Path

import click

from programs.command_line import examples, run_command
from tests.attack.driver import attack
from tests.attack.inputs import INPUTS
from tests.attack.kept import FOLDER

NAME = "python -m tests.attack"
SEEDS = 1 << 32


@click.command(epilog=examples(f"{NAME} --minutes 5", f"{NAME} --seed 7 --input frames"))
@click.option("--minutes", type=float, default=5.0, show_default=True, help="How long.")
@click.option("--seed", type=int, help="What the cases are made of; any else.")
@click.option("--input", "names", multiple=True, type=click.Choice(sorted(INPUTS)), help="Attack this alone.")
@click.option(
    "--cases", type=click.Path(path_type=Path), default=FOLDER, help="Where cases that find something are kept."
)
def command(minutes: float, seed: int | None, names: tuple[str, ...], cases: Path) -> int:
    """Attack the product with hostile input."""
    # Whoever stops it is told what was done.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    seed = secrets.randbelow(SEEDS) if seed is None else seed
    print(f"seed {seed}", flush=True)
    inputs = [INPUTS[name]() for name in names or INPUTS]
    reports = attack(inputs, seed, minutes * 60, cases, lambda line: print(line, flush=True))
    return 1 if any(report.findings for report in reports) else 0


def main(arguments: list[str] | None = None) -> int:
    """Exit status: see above."""
    return run_command(command, NAME, arguments)


if __name__ == "__main__":
    sys.exit(main())
