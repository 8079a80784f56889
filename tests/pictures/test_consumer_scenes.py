"""What pictures show of small histories of consumer groups (KIP-848) with literal times."""

from __future__ import annotations

import math

import pytest

from rollcall.answers.pictures.ownership import ownership
from rollcall.answers.pictures.period import NothingToShow
from rollcall.answers.pictures.slack import heartbeat_slack
from rollcall.answers.pictures.timeline import rebalance, timeline
from tests.pictures.small import bars, period
from tests.views.consumer_histories import (
    consumer_expires,
    consumer_leaves,
    consumer_stories,
    holds_on,
    static_consumer_returns,
    third_comes_meanwhile,
    two_consumers,
)
from tests.why.reading import explained, reader_of

# ---------------------------------------------------------------- timeline


def test_a_member_gives_up_while_the_one_who_waits_for_it_awaits() -> None:
    scene = timeline(period(two_consumers()))
    assert scene.lanes == ["a", "b"]
    assert bars(scene, "a") == [(1000, 4000, "stable"), (4000, 4500, "giving_up"), (4500, 20_000, "stable")]
    assert bars(scene, "b") == [(3000, 5000, "awaiting"), (5000, 20_000, "stable")]
    assert [(band.label, band.from_ms, band.to_ms) for band in scene.bands] == [
        ("epoch 2", 1000, 3000),
        ("epoch 3", 3000, 20_000),
    ]


def test_an_expired_member_is_silent_first_and_marked_as_expired_and_as_the_culprit() -> None:
    scene = timeline(period(consumer_expires(), to_ms=60_000))
    assert bars(scene, "b")[-1] == (5000, 50_000, "silent")
    marks = {(mark.kind, mark.at_ms, mark.symbol) for mark in scene.marks if mark.lane == 1}
    assert marks == {("joined", 3000, "up"), ("culprit", 3000, "star"), ("culprit", 50_000, "star")} | {
        ("expired", 50_000, "cross")
    }
    assert 50_000 in scene.lines


def test_a_leaver_is_marked_as_one_and_the_others_work_on() -> None:
    scene = timeline(period(consumer_leaves()))
    assert [(mark.kind, mark.text) for mark in scene.marks if mark.symbol == "down"] == [
        ("left", "b: left at 00:00:08.000 UTC")
    ]
    assert {kind for from_ms, to_ms, kind in bars(scene, "a") if to_ms > 8000} == {"stable"}


def test_a_member_that_does_not_give_up_is_fenced_and_nobody_works_until_the_other_has_it() -> None:
    scene = timeline(period(holds_on(), to_ms=80_000))
    assert bars(scene, "a") == [(1000, 4000, "stable"), (4000, 64_000, "giving_up")]
    assert bars(scene, "b") == [(3000, 65_000, "awaiting"), (65_000, 80_000, "stable")]
    (fenced,) = [mark for mark in scene.marks if mark.kind == "expired"]
    assert (fenced.at_ms, fenced.text) == (64_000, "a: gave up too late at 00:01:04.000 UTC")


def test_an_epoch_that_is_superseded_has_its_band_until_the_next_one() -> None:
    scene = timeline(period(third_comes_meanwhile()))
    assert [(band.label, band.from_ms, band.to_ms) for band in scene.bands] == [
        ("epoch 2", 1000, 3000),
        ("epoch 3", 3000, 3500),
        ("epoch 4", 3500, 20_000),
    ]
    assert bars(scene, "c") == [(3500, 5500, "awaiting"), (5500, 20_000, "stable")]


def test_a_static_member_that_comes_back_takes_over_without_an_epoch() -> None:
    scene = timeline(period(static_consumer_returns()))
    assert bars(scene, "a2") == [(7000, 20_000, "stable")]
    assert [band.label for band in scene.bands] == ["epoch 2"]
    assert "a: static member came back at 00:00:07.000 UTC" in [mark.text for mark in scene.marks]


@pytest.mark.parametrize(
    ("from_ms", "lane", "first"),
    [
        (3500, "a", (3500, 4000, "stable")),
        (4200, "a", (4200, 4500, "giving_up")),
        (4200, "b", (4200, 5000, "awaiting")),
        (6000, "b", (6000, 20_000, "stable")),
    ],
)
def test_what_began_before_the_picture_is_cut(from_ms: int, lane: str, first: tuple[int, int, str]) -> None:
    assert bars(timeline(period(two_consumers(), from_ms=from_ms)), lane)[0] == first


def test_where_nobody_was_a_member_there_is_nothing_to_show() -> None:
    with pytest.raises(NothingToShow, match=r"^two consumers: had no members then\.$"):
        period(two_consumers(), to_ms=500)


# ---------------------------------------------------------------- ownership, slack, a rebalance


def test_a_partition_is_a_lane_with_its_owners_and_gaps() -> None:
    scene = ownership(period(consumer_leaves()))
    assert scene.lanes == ["t1-0", "t1-1"]
    assert bars(scene, "t1-0") == [(1000, 20_000, "a")]
    assert bars(scene, "t1-1") == [(1000, 4500, "a"), (5000, 8000, "b"), (9000, 20_000, "a")]
    assert all("(epoch " in bar.text for bar in scene.bars)


def test_owners_older_than_the_picture_are_in_it() -> None:
    scene = ownership(period(consumer_expires(), from_ms=40_000, to_ms=60_000))
    assert bars(scene, "t1-0") == [(40_000, 60_000, "a")]
    assert bars(scene, "t1-1") == [(40_000, 50_000, "b"), (55_000, 60_000, "a")]


def test_slack_is_what_was_left_of_the_session_and_a_long_silence_has_a_line() -> None:
    curves = {curve.name: curve.points for curve in heartbeat_slack(period(consumer_expires(), to_ms=60_000)).curves}
    assert (4000.0, 93.3) in curves["a"]
    assert curves["b"][-3:-1] == [(5000, 100.0), (50_000, 0.0)]
    assert math.isnan(curves["b"][-1][1])


def test_every_rebalance_of_every_story_is_drawn_in_its_own_words() -> None:
    drawn = 0
    for story in consumer_stories():
        for epoch in {row.generation_id for row in story.rows if row.effect == "rebalance_ended"}:
            scene = rebalance(explained(story, epoch), reader_of(story.rows))
            assert scene.bars
            assert f"-> {epoch}" in scene.title
            assert {bar.kind for bar in scene.bars} <= {"stable", "giving_up", "awaiting", "silent"}
            drawn += 1
    assert drawn >= 12
