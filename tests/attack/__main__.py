"""Attacks the product for a stated time: `python -m tests.attack --minutes 5 [--seed N] [--input frames]`.

Exit status 1 if something was found; the cases are kept beside the others. Knows the command line and which inputs
there are.
"""

from __future__ import annotations

import argparse
import secrets
import sys
from pathlib import Path

from tests.attack.driver import attack
from tests.attack.inputs import INPUTS
from tests.attack.kept import FOLDER

SEEDS = 1 << 32


def main(arguments: list[str] | None = None) -> int:
    """Exit status: see above."""
    parser = argparse.ArgumentParser(prog="tests.attack", description="Attacks the product with hostile input.")
    parser.add_argument("--minutes", type=float, default=5.0, help="how long")
    parser.add_argument("--seed", type=int, default=None, help="what the cases are made of; else any")
    parser.add_argument("--input", action="append", choices=sorted(INPUTS), help="attack this alone; may come again")
    parser.add_argument("--cases", type=Path, default=FOLDER, help="where cases that find something are kept")
    parsed = parser.parse_args(arguments)
    seed = secrets.randbelow(SEEDS) if parsed.seed is None else parsed.seed
    print(f"seed {seed}", flush=True)
    inputs = [INPUTS[name]() for name in parsed.input or INPUTS]
    reports = attack(inputs, seed, parsed.minutes * 60, parsed.cases, lambda line: print(line, flush=True))
    return 1 if any(report.findings for report in reports) else 0


if __name__ == "__main__":
    sys.exit(main())
