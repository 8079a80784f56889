"""`make pictures`: a home's group as SVG, and what is refused with which sentence."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rollcall.__main__ import main
from rollcall.answers.pictures.scene import DISTINCT, Band, Bar, Curve, Curves, Kind, Lanes, Mark
from rollcall.answers.pictures.svg import WIDTH_PX, svg_of
from rollcall.cli.pictures import pictures_of, rebalance_scenes, scenes_of
from rollcall.programs.visible import visible
from tests.pictures.drawn import TAGS, drawn, hints, lanes, written
from tests.pictures.sweeps import rows
from tests.shown.hostile import story_of
from tests.views.histories import no_members, one_expires, two_members
from tests.views.story import write_effects

SHOWN = ("timeline", "ownership", "slack")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write_effects(tmp_path, {story.group_id: story.rows for story in (two_members(), one_expires(), no_members())})
    return tmp_path


def test_each_picture_is_one_file_that_needs_nothing_else(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = home / "pictures"
    assert main(["pictures", "--home", str(home), "--out", str(out), "expired"]) == 0
    files = [out / f"expired-{name}.svg" for name in SHOWN]
    assert capsys.readouterr().out.split() == [str(file) for file in files]
    for file in files:
        text = file.read_text()
        found = drawn(text)
        assert {tag for tag, _ in found} <= TAGS
        assert not {name for _, attributes in found for name in attributes} & {"href", "style", "onload"}
        assert found[0][1]["width"] == str(WIDTH_PX)
        assert len({each["fill"] for _, each in found if "fill" in each}) > 2
    assert "session expired, by b, at 00:00:13.100 UTC" in hints(files[0].read_text())
    assert lanes(files[0].read_text()) == ["a", "b"]
    assert "time (UTC), 1970-01-01" in written(files[0].read_text())


def test_the_time_that_is_shown_ends_with_the_groups_latest_fact_or_lies_around_a_moment(home: Path) -> None:
    whole = scenes_of(home, "expired")["timeline"]
    part = scenes_of(home, "expired", at="1970-01-01 00:00:13", minutes=0.05)["timeline"]
    assert (whole.from_ms, whole.to_ms) == (737, 14_363)  # type: ignore[union-attr]
    assert (part.from_ms, part.to_ms) == (11_039, 14_161)  # type: ignore[union-attr]


def test_a_rebalance_is_drawn_from_the_silence_before_it_until_everybody_is_back(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = rebalance_scenes(home, "expired", generation_id=3)["rebalance"]
    assert (scene.from_ms, scene.to_ms) == (3300 - 864, 14_100 + 864)  # type: ignore[union-attr]
    assert scene.title == "expired: generation 2 -> 3, 1970-01-01 00:00:13.100 UTC, completed in 1 s"
    assert written(svg_of(scene))[-1] == scene.title
    assert main(["pictures", "--home", str(home), "--out", str(home), "--generation", "3", "expired"]) == 0
    assert capsys.readouterr().out.split() == [f"{home}/expired-generation-3.svg"]


def test_a_notebook_shows_pictures(home: Path) -> None:
    found = pictures_of(home, "two")
    assert tuple(found) == SHOWN
    assert found["timeline"]._repr_svg_() == found["timeline"]
    assert written(found["timeline"])[-1].startswith("two: members from 1970-01-01 00:00:00.")


def test_a_sweep_is_drawn_from_the_rows_that_it_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "whatif.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows(6000, 9000)))
    assert main(["pictures", "--whatif", str(file), "--out", str(tmp_path), ""]) == 0
    assert len(capsys.readouterr().out.split()) == 2
    found = written((tmp_path / "whatif-counts.svg").read_text())
    assert {"session.timeout.ms", "6,000", "9,000", "rebalances", "partitions moved"} <= set(found)
    file.write_text("not json\n")
    assert main(["pictures", "--whatif", str(file), "--out", str(tmp_path), ""]) == 2
    assert capsys.readouterr().err.endswith("does not hold the rows that `rollcall whatif` leaves.\n")


@pytest.mark.parametrize("name", ["a$x^{$b", "$\\frac$", "<b>a</b>&lt;", "_a", "a\nb\x1b[2J\u202ec", "[x]"])
def test_a_name_is_drawn_as_it_stands(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_effects(tmp_path, {"g": story_of(name, one_expires()).rows})
    assert main(["pictures", "--home", str(tmp_path), "--out", str(tmp_path), "g"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(SHOWN)
    shown = lanes(pictures_of(tmp_path, "g")["timeline"])
    assert any(visible(name) in lane for lane in shown)
    assert all(character not in "".join(shown) for character in "\n\x1b")


def test_a_curve_of_any_name_is_in_the_legend_unless_it_is_pale() -> None:
    curves = [Curve(name, [(0, 1.0), (1, 2.0)], "#000000") for name in ("_a", "$b$")]
    pale = Curve("pale", [(0, 1.0)], "#000000", is_pale=True)
    found = svg_of(Curves("t", "x", "y", [*curves, pale], is_time=False))
    assert {"_a", "$b$"} <= set(written(found))
    assert "pale" not in written(found)
    assert "pale: 1 at 0" in hints(found)


def test_a_line_is_broken_where_nothing_is_known() -> None:
    points: list[tuple[float, float]] = [(0, 1.0), (1, 2.0), (1, float("nan")), (2, 1.0), (3, 3.0), (4, float("nan"))]
    found = drawn(svg_of(Curves("t", "x", "y", [Curve("c", points, "#000000")], is_time=False)))
    assert [len(each["points"].split()) for tag, each in found if tag == "polyline"] == [2, 2]
    assert sum(tag == "circle" for tag, _ in found) == 4


def scene_of(count: int, **more: Any) -> Lanes:
    names = [f"member-{number}" for number in range(count)]
    bars = [Bar(number, 0, 500, "a", f"bar {number}") for number in range(count)]
    return Lanes("t", 0, 1000, names, {"a": Kind("at work", "#123456")}, bars, **more)


@pytest.mark.parametrize("count", [1, 3, 12, 13, 60])
def test_lanes_stay_apart_and_bars_lie_in_theirs(count: int) -> None:
    found = drawn(svg_of(scene_of(count), 700))
    bars = [each for tag, each in found if tag == "rect" and each.get("fill") == "#123456"][:count]
    tops = [float(each["y"]) for each in bars]
    frame = found[0][1]
    assert tops == sorted(tops)
    assert all(
        float(frame["data-top"]) <= top <= float(frame["data-bottom"]) - float(bars[0]["height"]) for top in tops
    )
    assert all(float(bars[0]["height"]) + one < other for one, other in pairwise(tops))
    middle = (float(frame["data-left"]) + float(frame["data-right"])) / 2
    assert float(bars[0]["x"]) + float(bars[0]["width"]) == pytest.approx(middle, abs=0.2)


def test_the_shortest_bar_is_seen_and_a_name_that_is_too_long_is_cut_but_said_on_hover() -> None:
    scene = replace(scene_of(1), lanes=["x" * 300], bars=[Bar(0, 10, 10, "a", "short")])
    text = svg_of(scene, 700)
    (bar,) = [each for tag, each in drawn(text) if tag == "rect" and each.get("fill") == "#123456" and "x" in each][:1]
    assert float(bar["width"]) >= 1
    assert "x" * 300 in hints(text)
    assert "x" * 300 not in written(text)


def test_names_stand_in_bars_where_colours_do_not_suffice() -> None:
    many = {f"k{place}": Kind(f"owner {place}", DISTINCT[place % 16]) for place in range(len(DISTINCT) + 1)}
    bars = [Bar(0, 0, 1000, "k0", "t")]
    assert written(svg_of(Lanes("t", 0, 1000, ["p"], many, bars))).count("owner 0") == 1
    assert "owner 16" not in written(svg_of(Lanes("t", 0, 1000, ["p"], many, bars)))
    few = dict(list(many.items())[:2])
    assert written(svg_of(Lanes("t", 0, 1000, ["p"], few, bars)))[-2:] == ["owner 0", "t"]


def test_marks_bands_and_cuts_are_drawn() -> None:
    marks = [Mark(0, 100, "a", symbol, f"{symbol} text", "label") for symbol in ("cross", "down", "up", "star")]
    bands = [Band(0, 500, "gen 1", True), Band(500, 501, "gen 2", False)]
    text = svg_of(scene_of(2, marks=marks, bands=bands, lines=[500]))
    assert written(text).count("label") == 4
    assert "gen 1" in written(text)
    assert "gen 2" not in written(text)
    assert {"cross text", "star text"} <= set(hints(text))
    assert sum(each.get("class") == "cut" for _, each in drawn(text)) == 1


@pytest.mark.parametrize(
    ("from_ms", "to_ms", "ticks"),
    [
        (0, 9, ["00:00:00.000", "00:00:00.002"]),
        (0, 60_000, ["00:00:00", "00:00:10"]),
        (0, 3_600_000, ["00:00", "00:10"]),
        (0, 10 * 86_400_000, ["1970-01-01", "1970-01-03"]),
        (0, 253_370_764_800_000, ["1970-01-01", "2969-05-03"]),
    ],
)
def test_the_axis_of_time_has_round_moments(from_ms: int, to_ms: int, ticks: list[str]) -> None:
    found = written(svg_of(replace(scene_of(1), from_ms=from_ms, to_ms=to_ms), 1000))
    assert found[: len(ticks)] == ticks


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([""], "GROUP names no group."),
        (["tvo"], "tvo: no such group in the home; did you mean two?"),
        (["no members"], "no members: had no members then."),
        (["--at", "1970-01-01", "--minutes", "0.001", "two"], "two: had no members then."),
        (["--generation", "x", "two"], "--generation x: is not a whole number."),
        (["--generation", "9", "two"], "--generation 9: no rebalance of two led to it; there are 1 to 2."),
        (["--minutes", "some", "two"], "--minutes some: is not a number."),
        (["--minutes", "0", "two"], "--minutes 0: is not between 0 and 1440."),
        (["--at", "noon", "two"], "--at noon: invalid time; expected "),
        (
            ["--home", "s3a://bucket/home", "two"],
            "s3a://bucket/home: pictures are drawn of a home on this machine's disk.",
        ),
        (["--whatif", "none.jsonl", ""], "--whatif none.jsonl: cannot be read: No such file or directory."),
        (["--out", "/dev/null/x", "two"], "--out /dev/null/x: cannot be written to: Not a directory."),
    ],
)
def test_a_mistake_is_one_sentence_and_status_2(
    home: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert main(["pictures", "--home", str(home), *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith(f"rollcall: {sentence}")
    assert (printed.err.count("\n"), printed.out) == (1, "")
