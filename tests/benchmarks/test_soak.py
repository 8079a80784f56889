"""The soak: what its members do, and what it holds against the figures that it took."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from benchmarks.soak import groups
from benchmarks.soak.groups import PARTITIONS, TOPIC, Lived, live
from benchmarks.soak.verdict import BOUND, compared, picture
from listeners.addresses import Address
from tests.gateway.process import serving
from tests.waiting import EVERY_S, WITHIN_S

SETTINGS = {"topics": f"{TOPIC}:{PARTITIONS}", "group.initial.rebalance.delay.ms": 0}


def samples(name: str, values: Sequence[float]) -> list[dict[str, float]]:
    return [{"minutes": minute, name: value} for minute, value in enumerate(values, 1)]


@pytest.mark.parametrize(("end", "holds"), [(100, True), (100 * BOUND, True), (125, False), (60, True)])
def test_a_figure_is_held_to_what_it_was_after_a_sixth_of_the_time(end: float, holds: bool) -> None:
    """The first sixth does not count, and a single high sample neither."""
    (memory,) = compared(samples("memory JVM", [10] * 4 + [100] * 14 + [900] + [100] * 2 + [end] * 3))
    assert (memory.settled, memory.end, memory.holds) == (100, end, holds)


def test_a_sample_without_a_figure_is_passed_over_and_a_figure_without_samples_does_not_hold() -> None:
    taken = samples("sql", [100] * 24)
    del taken[4]["sql"], taken[-1]["sql"]
    (sql,) = compared(taken)
    assert (sql.settled, sql.end, sql.holds) == (100, 100, True)
    assert len(picture(taken).curves[0].points) == 22
    for sample in taken[-2:]:
        sample.pop("sql", None)
    (sql,) = compared(taken)
    assert sql.holds is False


def test_what_counts_the_work_done_may_grow() -> None:
    for name in ("heartbeats so far", "rows effects"):
        (count,) = compared(samples(name, range(1, 25)))
        assert (count.holds, count.times > BOUND) == (None, True)
        assert picture(samples(name, range(1, 25))).curves == []


def test_the_picture_shows_each_figure_by_what_it_was() -> None:
    scene = picture(samples("batch", [100, 200, 200, 200, 200, 300]))
    (curve,) = scene.curves
    assert curve.points == [(1, 0.5), (2, 1), (3, 1), (4, 1), (5, 1), (6, 1.5)]


def test_members_beat_commit_go_and_come_and_none_that_lives_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("INTERVAL_S", 0.01), ("COME_WITHIN_S", 0.1), ("COMMIT_EVERY", 3), ("STAYS_BEATS", 20)):
        monkeypatch.setattr(groups, name, value)
    lived = Lived()

    async def for_a_while(address: Address) -> Lived:
        members = asyncio.create_task(live(address, 6, random.Random(1), lived))
        for _ in range(int(WITHIN_S / EVERY_S)):
            await asyncio.wait([members], timeout=EVERY_S)
            if members.done() or (lived.newcomers > 20 and lived.rejoined > 20 and lived.commits > 20):
                break
        seen = replace(lived)
        members.cancel()
        (ended,) = await asyncio.gather(members, return_exceptions=True)
        assert isinstance(ended, asyncio.CancelledError), ended
        return seen

    with serving(SETTINGS) as address:
        seen = asyncio.run(for_a_while(address))
    assert min(seen.newcomers, seen.rejoined, seen.commits) > 20
    assert seen.lost == 0
    assert len(seen.took) == seen.beats > 100
