"""Who sends alarms is killed at any moment: each alarm is sent at least once, always under one id, and stands in the
view once."""

from __future__ import annotations

import itertools
import json
import multiprocessing
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from rollcall.answers.sql.engine import ask
from rollcall.serve.alerts.alarm import read_kept
from tests.alerts import doomed
from tests.alerts.homes import STOOD_STILL_MS, standstill, write_home
from tests.alerts.misbehaving import Server, receiving
from tests.views.story import write_effects
from tests.waiting import until

SEED = 30
MOST_S = 0.7
"""By then a sender has looked, sent and noted what it sent, where nothing else works here."""
Moment = Callable[[Path, Server], object]
MOMENTS: tuple[Moment | None, ...] = (
    None,
    lambda home, server: (home / "alerts.json").stat().st_mtime_ns if (home / "alerts.json").exists() else 0,
    lambda home, server: len(server.taken),
    None,
    lambda home, server: len(list((home / "alerts" / "_delta_log").glob("*.json"))),
    lambda home, server: home.stat().st_mtime_ns,
)
"""It is killed as soon as this is another once all was sent: what is kept, what was taken and is not answered yet, the
view's table, the names in the home, where a file is being written then. None: some time after its start."""


class World:
    """A home in which groups stand still one after the other, each until its alarm is open."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self.groups: list[str] = []
        self._over: set[str] = set()
        write_home(home, [])

    def begin(self) -> None:
        """One more group stands still."""
        self.groups.append(f"g{len(self.groups)}")
        self._write({self.groups[-1]}, has_ended=False)

    def end(self) -> None:
        """Where an alarm is open, all is well again."""
        ended = {alarm.group_id for alarm in read_kept(self._home).open.values()} - self._over
        self._over |= ended
        self._write(ended, has_ended=True)

    def _write(self, groups: set[str], *, has_ended: bool) -> None:
        reported = {group_id: standstill(group_id).rows for group_id in groups}
        facts = {
            group_id: [row for row in rows if ((row.at_ms or 0) >= STOOD_STILL_MS) == has_ended]
            for group_id, rows in reported.items()
        }
        if facts:
            write_effects(self._home, facts)


@contextmanager
def sending(who: Callable[[Path, dict[str, str]], None], home: Path, server: Server) -> Iterator[BaseProcess]:
    """A process that sends the home's alarms, until it is killed."""
    settings = {
        "rollcall.alerts.webhook": server.address,
        "rollcall.alerts.kinds": "standstills",
        "rollcall.alerts.interval.ms": "100",
        "rollcall.alerts.per.minute": "1000",
    }
    # Forked from one that has loaded all of it, so that a start takes no second.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([doomed.__name__])
    process = context.Process(target=who, args=(home, settings))
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()


def in_time(seconds: float) -> Moment:
    ends_at = time.monotonic() + seconds
    return lambda home, server: time.monotonic() >= ends_at


def await_(moment: Moment, home: Path, server: Server) -> None:
    before = moment(home, server)
    until(lambda: moment(home, server) != before, "the moment has come", every_s=0.001)


def has_reported(world: World, home: Path) -> bool:
    """Whether every alarm was opened and closed, as they are once there is no trouble."""
    world.end()
    kept = read_kept(home)
    closed = {one.alarm.group_id for one in kept.sent if one.event == "closed"}
    return not kept.open and not kept.due and closed == set(world.groups)


def in_the_view(home: Path) -> list[tuple[str, str]]:
    return [(alarm_id, event) for alarm_id, event in ask(home, "SELECT alarm_id, event FROM alerts").rows]


@pytest.mark.parametrize("kills", [len(MOMENTS), pytest.param(3 * len(MOMENTS), marks=pytest.mark.nightly)])
@pytest.mark.parametrize(
    "who",
    [
        pytest.param(doomed.beside_a_home, id="beside a home"),
        pytest.param(doomed.in_a_job, id="in a job", marks=pytest.mark.nightly),
    ],
)
def test_each_alarm_is_sent_and_has_one_id_whenever_its_sender_is_killed(
    who: Callable[[Path, dict[str, str]], None], kills: int, tmp_path: Path
) -> None:
    dice, world = random.Random(SEED), World(tmp_path)
    with receiving() as server:
        server.behaves = "takes_slowly"
        for moment in itertools.islice(itertools.cycle(MOMENTS), kills):
            with sending(who, tmp_path, server) as process:
                if moment is not None:
                    until(lambda: has_reported(world, tmp_path), lambda: str(server.taken))
                world.begin()
                await_(moment or in_time(dice.uniform(0, MOST_S)), tmp_path, server)
                assert process.is_alive()
            world.end()
        with sending(who, tmp_path, server):
            until(lambda: has_reported(world, tmp_path), lambda: str(server.taken))
            until(lambda: len(in_the_view(tmp_path)) == 2 * len(world.groups), "the view has all", every_s=0.3)
    reported = [json.loads(body) for *_, body in server.taken]
    ids = {group_id: {one["id"] for one in reported if one["group"] == group_id} for group_id in world.groups}
    assert [len(each) for each in ids.values()] == [1] * len(world.groups)
    for group_id in world.groups:
        events = [one["event"] for one in reported if one["group"] == group_id]
        assert [event for event, _ in itertools.groupby(events)] == ["opened", "closed"]
    assert len(set(in_the_view(tmp_path))) == 2 * len(world.groups)
    assert {alarm_id for alarm_id, _ in in_the_view(tmp_path)} == set().union(*ids.values())
