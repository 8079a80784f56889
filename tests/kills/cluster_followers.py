"""Kills shadows of a real cluster again and again while its members come and go: their histories are whole.

    python -m tests.kills.cluster_followers --kills 20 --seed 7          `make test-kills-shadows KILLS= SEED=`

One shadow follows the topic, one beside it a request log that lacks a group. In the end each has the history of a
shadow that was never killed and read the same from the beginning. Prints a line for each kill, or what is wrong with
exit status 1. Knows the cluster, its members and the shadows' programs. Must not know what a record or a line says.
"""

from __future__ import annotations

import random
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import click

from tests.kills.checked import own_seed, run_checked
from tests.kills.moments import BOTH_SHADOWS, TOPIC_SHADOWS, Moment
from tests.peers_kafka.cluster_shadow import SHORT_HOLD, ClusterShadow, difference, facts_of
from tests.peers_kafka.kafka import broker
from tests.peers_kafka.members import QUICK, Members, make_topic
from tests.peers_kafka.part_of_a_log import PartOfALog
from tests.waiting import until

CLASSIC, NEWER, ELSEWHERE = "classic", "newer", "elsewhere"
LOOK_EVERY_S = 1.0
PATIENCE_S = 300.0


@click.command()
@click.option("--kills", default=20, show_default=True)
@click.option("--seed", default=0, help="Of the moments; 0: one of its own, which is printed.")
def main(kills: int, seed: int) -> None:
    """Kills as often, checks, and prints what was done."""
    seed = seed or own_seed()
    dice, began = random.Random(seed), time.monotonic()
    print(f"seed {seed}: {kills} kills", flush=True)
    with tempfile.TemporaryDirectory(prefix="rollcall-kills-") as folder:
        for number, moment in enumerate(kill_followers(Path(folder) / "cluster", kills, dice), 1):
            print(f"{number:3} {time.monotonic() - began:6.0f} s  {moment.victim}: {moment.name}", flush=True)
    print(f"nothing lost, nothing reported twice, in {time.monotonic() - began:.0f} s")


class Churn:
    """Groups of either protocol in which, until it is over, one member joins, another commits and leaves."""

    def __init__(self, address: str) -> None:
        self._groups = [
            Members(address, CLASSIC),
            Members(address, NEWER, "consumer"),
            Members(address, ELSEWHERE),
        ]
        self._is_over = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """All have left. Raises what a member failed with."""
        self._is_over.set()
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            self._come_and_go()
        except BaseException as error:
            self._error = error
        for group in self._groups:
            group.close()

    def _come_and_go(self) -> None:
        offset = 0
        for group in self._groups:
            group.start()
        while not self._is_over.is_set():
            offset += 1
            for group in self._groups:
                group.start()
                group.commit(offset)
                group.close_first()


def kill_followers(folder: Path, kills: int, dice: random.Random) -> Iterator[Moment]:
    """Kills either shadow half as often. Raises AssertionError: a history differs."""
    folder.mkdir()
    log = folder / "kafka-request.log"
    with broker(folder, QUICK, requests_log=log) as address:
        make_topic(address)
        cluster = f"kafka://{address}"
        of_both = kills // 2
        yield from _kill_one(folder / "topic", address, [cluster], TOPIC_SHADOWS, kills - of_both, dice)
        part = folder / "part.log"
        with closing(PartOfALog(log, part, without=ELSEWHERE)):
            yield from _kill_one(folder / "both", address, [str(part), cluster], BOTH_SHADOWS, of_both, dice)


def _kill_one(
    folder: Path, address: str, sources: Sequence[str], moments: Sequence[Moment], kills: int, dice: random.Random
) -> Iterator[Moment]:
    killed, whole = (_shadow(folder / name, sources) for name in ("killed", "whole"))
    try:
        with closing(Churn(address)):
            killed.start()
            for number in range(kills):
                moment = moments[number % len(moments)]
                killed.await_begun()
                moment.wait(killed.home.path, dice)
                killed.kill()
                yield moment
                killed.start()
        whole.start()
        for shadow in (killed, whole):
            counts = [(name, 0) for name in sorted((CLASSIC, NEWER, ELSEWHERE))]
            query = "select group_id, member_count from groups order by group_id"
            shadow.await_rows(query, "the last member gone", counts.__eq__)
        until(lambda: facts_of(killed) == facts_of(whole), lambda: difference(killed, whole), PATIENCE_S, LOOK_EVERY_S)
        for shadow in (killed, whole):
            shadow.stop()
        assert facts_of(killed) == facts_of(whole), difference(killed, whole)
        assert set(facts_of(killed).values()) == {1}, "a fact was reported twice"
    finally:
        for shadow in (killed, whole):
            shadow.end()


def _shadow(folder: Path, sources: Sequence[str]) -> ClusterShadow:
    folder.mkdir(parents=True)
    return ClusterShadow(folder, *sources, settings=SHORT_HOLD)


if __name__ == "__main__":
    run_checked(main)
