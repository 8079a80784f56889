"""What programs share that kill and check: a seed of their own, and a check that fails as one sentence.

Must not know what is killed.
"""

from __future__ import annotations

import random
import sys

import click

from rollcall.programs.guardian import guard


def own_seed() -> int:
    """One that nobody chose, for a run that can be repeated by it."""
    return random.SystemRandom().randrange(1, 10**6)


def run_checked(command: click.Command) -> None:
    """Runs a command; what it found wrong is said, with exit status 1. What it started ends with it."""
    guard()
    try:
        command(standalone_mode=False)
    except AssertionError as error:
        print(f"rollcall: {error}", file=sys.stderr)
        raise SystemExit(1) from error
