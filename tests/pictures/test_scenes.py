"""What pictures show of small histories with literal times, before anybody draws it."""

from __future__ import annotations

import math

import pytest

from rollcall.answers.pictures.ownership import ownership
from rollcall.answers.pictures.period import NothingToShow, colours_of
from rollcall.answers.pictures.scene import Curves
from rollcall.answers.pictures.slack import NAMED, heartbeat_slack
from rollcall.answers.pictures.svg import svg_of
from rollcall.answers.pictures.sweep import sweep
from rollcall.answers.pictures.timeline import timeline
from rollcall.history.members import Membership
from tests.pictures.drawn import drawn, written
from tests.pictures.small import bars, period
from tests.pictures.sweeps import rows
from tests.views.histories import one_expires, one_leaves, static_member_returns, superseded, two_members
from tests.views.story import Story

# ---------------------------------------------------------------- timeline


def test_a_member_waits_syncs_and_works() -> None:
    scene = timeline(period(two_members()))
    assert scene.lanes == ["a", "b"]
    assert bars(scene, "a") == [
        (1000, 1100, "syncing"),
        (1100, 3100, "stable"),
        (3100, 3200, "syncing"),
        (3200, 20_000, "stable"),
    ]
    assert bars(scene, "b") == [(3000, 3100, "waiting"), (3100, 3300, "syncing"), (3300, 20_000, "stable")]
    assert [(band.label, band.from_ms, band.to_ms) for band in scene.bands] == [
        ("gen 1", 1000, 3100),
        ("gen 2", 3100, 20_000),
    ]


def test_an_expired_member_is_silent_first_and_marked_as_expired_and_as_the_culprit() -> None:
    scene = timeline(period(one_expires()))
    assert bars(scene, "b")[-1] == (3300, 13_100, "silent")
    marks = {(mark.kind, mark.at_ms, mark.symbol) for mark in scene.marks if mark.lane == 1}
    assert marks == {("joined", 3000, "up"), ("culprit", 3000, "star"), ("culprit", 13_100, "star")} | {
        ("expired", 13_100, "cross")
    }
    assert 13_100 in scene.lines


def test_a_leaver_is_marked_as_one() -> None:
    marks = [(mark.kind, mark.text) for mark in timeline(period(one_leaves())).marks if mark.symbol == "down"]
    assert marks == [("left", "b: left at 00:00:04.000 UTC")]


def test_a_member_that_came_back_keeps_its_lane() -> None:
    scene = timeline(period(static_member_returns()))
    assert scene.lanes == ["a"]
    assert bars(scene, "a")[-1] == (3050, 20_000, "stable")


def test_what_began_before_the_picture_is_cut_and_everybody_is_at_work_unless_the_group_waited() -> None:
    scene = timeline(period(one_leaves(), from_ms=3500))
    assert bars(scene, "a")[0] == (3500, 4100, "stable")
    assert bars(scene, "b") == [(3500, 4000, "stable")]
    assert [band.label for band in scene.bands] == ["gen 2", "gen 3"]
    waiting = timeline(period(superseded(), from_ms=2050))
    assert bars(waiting, "b")[0] == (2050, 2100, "waiting")


def test_where_nobody_was_a_member_there_is_nothing_to_show() -> None:
    with pytest.raises(NothingToShow, match=r"^two: had no members then\.$"):
        period(two_members(), to_ms=500)


def test_a_label_stands_where_no_star_is() -> None:
    story = two_members()
    for at_ms in (7000, 7500, 8000):
        story.join(at_ms, "a")
        story.join(at_ms + 10, "b")
        story.sync(at_ms + 20, "a", {"a": ["t-0"], "b": ["t-1"]})
        story.sync(at_ms + 30, "b")
    stars = [mark for mark in timeline(period(story)).marks if mark.symbol == "star" and mark.at_ms >= 7000]
    assert [(mark.at_ms, mark.label, mark.is_label_left) for mark in stars] == [
        (7000, "joined again", True),
        (7500, "", False),
        (8000, "joined again", False),
    ]


# ---------------------------------------------------------------- ownership


def test_a_partition_is_a_lane_with_its_owners_and_gaps() -> None:
    scene = ownership(period(one_leaves()))
    assert scene.lanes == ["t-0", "t-1"]
    assert bars(scene, "t-0") == [(1100, 3100, "a"), (3200, 4100, "a"), (4200, 20_000, "a")]
    assert bars(scene, "t-1") == [(1100, 3100, "a"), (3200, 4000, "b"), (4200, 20_000, "a")]
    assert len({kind.colour for kind in scene.kinds.values()}) == 2


def test_where_no_owner_is_known_a_sentence_says_why_and_no_axis_is_drawn() -> None:
    story = Story("unknown")
    story.join(1000, "a", session_timeout_ms=600_000)
    scene = ownership(period(story))
    assert scene.lanes == []
    found = svg_of(scene, title=False)
    assert written(found) == [
        "Who owned which partition is not known: nothing that was recorded tells what a member was given."
    ]
    assert "line" not in {tag for tag, _ in drawn(found)}


# ---------------------------------------------------------------- slack


def test_slack_is_what_was_left_of_the_session_and_a_long_silence_has_a_line() -> None:
    scene = heartbeat_slack(period(one_expires()))
    curves = {curve.name: curve.points for curve in scene.curves}
    assert (9000.0, 70.0) in curves["a"]
    assert curves["b"][-3:-1] == [(3100, 100.0), (13_100, 0.0)]
    assert math.isnan(curves["b"][-1][1])
    assert scene.curves[-1].name == "b"


def test_of_many_members_those_in_need_are_named_and_the_others_are_pale() -> None:
    story = Story("many")
    names = [f"m{number:02}" for number in range(20)]
    for name in names:
        story.join(1000, name)
    story.join(1500, names[0])
    story.sync(2000, names[0], {})
    for number, name in enumerate(names):
        story.heartbeat(3000 + 100 * number, name)
    scene = heartbeat_slack(period(story, to_ms=6000))
    named = [curve.name for curve in scene.curves if not curve.is_pale]
    assert len(named) == NAMED
    assert set(named) == set(names[-NAMED:])


# ---------------------------------------------------------------- the what-if curve


def test_a_sweep_is_a_curve_a_figure_with_what_was_recorded() -> None:
    counts = sweep(rows(9000, 6000, 12_000))["counts"]
    assert isinstance(counts, Curves)
    assert counts.curves[0].points == [(6000, 6), (9000, 9), (12_000, 12)]
    assert counts.levels == {"rebalances as recorded": 1.0}
    assert counts.title == "What if session.timeout.ms were different (the baseline equals 90% of the recording)"


def test_one_setting_alone_is_no_curve() -> None:
    with pytest.raises(NothingToShow, match="no setting with a range was tried"):
        sweep(rows(6000))


# ---------------------------------------------------------------- sizes


def membership(client_id: str, joined_at_ms: int, ended_at_ms: int | None = None) -> Membership:
    return Membership(f"{client_id}-{joined_at_ms}", client_id, "/h", None, joined_at_ms, 1, 1, ended_at_ms)


def test_a_member_keeps_its_colour_whoever_comes_later_and_when_it_comes_back() -> None:
    some = [membership("a", 1, 5), membership("b", 2), membership("a", 6)]
    colours = colours_of(some)
    assert colours["a-1"] == colours["a-6"] != colours["b-2"]
    more = colours_of([*some, *(membership(f"c{place}", 10 + place) for place in range(40))])
    assert {member_id: more[member_id] for member_id in colours} == colours


def test_no_two_members_of_one_time_have_one_colour_while_there_are_enough() -> None:
    stays = membership("stays", 0)
    others = [membership(f"c{place}", 10 * place + 1, 10 * place + 35) for place in range(60)]
    colours = colours_of([stays, *others])
    for at_ms in range(0, 600, 5):
        present = [one for one in (stays, *others) if one.is_member_in(at_ms, at_ms)]
        assert len({colours[one.member_id] for one in present}) == len(present)


def test_the_timeline_has_the_owners_colours_whatever_span_is_drawn() -> None:
    story = two_members()
    whole, part = (period(story, from_ms, 5000) for from_ms in (0, 4000))
    scene = timeline(whole)
    assert set(scene.colours) == set(scene.lanes)
    assert {name: kind.colour for name, kind in ownership(whole).kinds.items()} == scene.colours
    assert timeline(part).colours == scene.colours
    assert [each.get("fill") for tag, each in drawn(svg_of(scene)) if each.get("fill") in scene.colours.values()]
