"""Whatever happened can be drawn: scenes of random histories are whole and stay within their frame."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, pairwise

from rollcall.answers.pictures.ownership import ownership
from rollcall.answers.pictures.period import NothingToShow, period_of
from rollcall.answers.pictures.scene import Lanes
from rollcall.answers.pictures.slack import heartbeat_slack
from rollcall.answers.pictures.timeline import timeline
from rollcall.schemas.effect_rows import EffectRow
from tests.views.random_homes import random_histories
from tests.why.reading import reader_of

PLAYS, FLEETS = 40, 6


def histories() -> Iterator[tuple[str, list[EffectRow]]]:
    """The facts of every group of which there are any."""
    return ((name, history.rows) for name, history in random_histories(PLAYS, FLEETS).items() if history.rows)


def check(scene: Lanes) -> None:
    for bar in scene.bars:
        assert scene.from_ms <= bar.from_ms <= bar.to_ms
        assert bar.from_ms <= scene.to_ms
        assert 0 <= bar.lane < len(scene.lanes)
        assert bar.kind in scene.kinds
    for mark in scene.marks:
        assert scene.from_ms <= mark.at_ms <= scene.to_ms
        assert 0 <= mark.lane < len(scene.lanes)
    assert all(band.from_ms <= band.to_ms for band in scene.bands)


def test_scenes_of_random_histories_stay_within_their_frame() -> None:
    drawn = 0
    for name, rows in histories():
        first_ms, last_ms = rows[0].at_ms or 0, rows[-1].at_ms or 0
        middle_ms = (first_ms + last_ms) // 2
        for from_ms, to_ms in ((first_ms - 1, last_ms + 1), (middle_ms, last_ms), (first_ms, middle_ms)):
            try:
                period = period_of(name, reader_of(rows), from_ms, to_ms)
            except NothingToShow:
                continue
            drawn += 1
            check(timeline(period))
            check(ownership(period))
            assert all(0 <= y <= 100 or y != y for curve in heartbeat_slack(period).curves for _, y in curve.points)
    assert drawn > 80


def test_a_member_is_in_one_state_at_a_time() -> None:
    looked = 0
    for name, rows in histories():
        try:
            scene = timeline(period_of(name, reader_of(rows), (rows[0].at_ms or 0) - 1, (rows[-1].at_ms or 0) + 1))
        except NothingToShow:
            continue
        if any("#" in lane or "@" in lane for lane in scene.lanes):
            continue
        ordered = sorted(scene.bars, key=lambda bar: (bar.lane, bar.from_ms, bar.to_ms))
        for _, bars in groupby(ordered, key=lambda bar: bar.lane):
            for earlier, later in pairwise(bars):
                assert earlier.to_ms <= later.from_ms
                looked += 1
    assert looked > 100
