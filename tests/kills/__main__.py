"""Kills job, gateway, maintenance, page and shadow again and again under real consumers; nothing may be lost.

    python -m tests.kills --kills 50 --seed 7 --consumers 60          `make test-kills-live KILLS= SEED= CONSUMERS=`

Half of the consumers have the classic group protocol, half the newer one. One kill of ten meets a shadow with a home of
its own. Prints a line for each kill and the counts in the end, or what is wrong with exit status 1. Knows the order of
what is done; must not know how a consumer is run.
"""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from tests.kills.checked import own_seed, run_checked
from tests.kills.log_follower import kill_shadow
from tests.kills.replayed import assert_replay_equal
from tests.kills.world import World

SHADOWS_SHARE = 10


@click.command()
@click.option("--kills", default=50, show_default=True)
@click.option("--seed", default=0, help="Of what is killed when; 0: one of its own, which is printed.")
@click.option("--consumers", default=60, show_default=True)
def main(kills: int, seed: int, consumers: int) -> None:
    """Kills as often, checks, and prints what was done."""
    seed = seed or own_seed()
    dice, done, began = random.Random(seed), Counter[str](), time.monotonic()
    print(f"seed {seed}: {kills} kills, {consumers} consumers", flush=True)
    of_shadow = kills // SHADOWS_SHARE
    with _kept_on_failure() as folder:
        with World(folder / "home", consumers, dice) as world:
            for number in range(1, kills - of_shadow + 1):
                moment = world.kill()
                done[f"{moment.victim}: {moment.name}"] += 1
                print(f"{number:3} {time.monotonic() - began:6.0f} s  {moment.victim}: {moment.name}", flush=True)
            reported = world.check()
        reported |= assert_replay_equal(world.home, folder / "again", world.settings)
        for moment in kill_shadow(folder / "shadow", of_shadow, dice):
            done[f"{moment.victim}: {moment.name}"] += 1
    for what, count in sorted(done.items()):
        print(f"{count:5}  {what}")
    for what, count in reported.items():
        print(f"{count:7,}  {what}")
    print(f"nothing lost, nothing reported twice, nobody removed, in {time.monotonic() - began:.0f} s")


@contextmanager
def _kept_on_failure() -> Iterator[Path]:
    """A folder for the homes. Raises AssertionError: as in it, and where the folder is."""
    folder = Path(tempfile.mkdtemp(prefix="rollcall-kills-"))
    try:
        yield folder
    except AssertionError as error:
        raise AssertionError(f"{error}\nkept: {folder}") from error
    shutil.rmtree(folder)


if __name__ == "__main__":
    run_checked(main)
