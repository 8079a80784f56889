"""`make pictures`: pages and images of a home's group, and what is refused with which sentence."""

from __future__ import annotations

import html
import json
from pathlib import Path

import plotly.graph_objects as go
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.lines import Line2D

from jobs.pictures import pictures_of, rebalance_figure, rebalance_scene, scenes_of
from jobs.rollcall.__main__ import main
from pictures.plotly_page import figure_of
from pictures.png import write_png
from pictures.scene import Band, Curve, Curves, Lanes
from pictures.size import WIDTH_PX
from programs.visible import visible
from tests.pictures.sweeps import rows
from tests.shown.hostile import story_of
from tests.views.histories import no_members, one_expires, two_members
from tests.views.story import write_effects

SHOWN = ("timeline", "ownership", "slack")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write_effects(tmp_path, {story.group_id: story.rows for story in (two_members(), one_expires(), no_members())})
    return tmp_path


def test_each_picture_is_a_page_that_needs_no_network_and_an_image(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = home / "pictures"
    assert main(["pictures", "--home", str(home), "--out", str(out), "expired"]) == 0
    files = [f"expired-{name}.{form}" for name in SHOWN for form in ("html", "png")]
    assert capsys.readouterr().out.split() == [str(out / file) for file in files]
    assert (out / "plotly.min.js").stat().st_size > 1_000_000
    page = (out / "expired-timeline.html").read_text()
    assert 'src="plotly.min.js"' in page
    assert "https://" not in page.replace("https://plotly.com", "")
    assert "session expired, by b, at 00:00:13.100 UTC" in page
    for name in SHOWN:
        image = imread(out / f"expired-{name}.png")
        assert image.shape[1] > WIDTH_PX
        assert len({tuple(pixel) for pixel in image[::7, ::7].reshape(-1, image.shape[2])}) > 5


def test_the_time_that_is_shown_ends_with_the_groups_latest_fact_or_lies_around_a_moment(home: Path) -> None:
    whole = scenes_of(home, "expired")["timeline"]
    part = scenes_of(home, "expired", at="1970-01-01 00:00:13", minutes=0.05)["timeline"]
    assert (whole.from_ms, whole.to_ms) == (737, 14_363)  # type: ignore[union-attr]
    assert (part.from_ms, part.to_ms) == (11_039, 14_161)  # type: ignore[union-attr]


def test_a_rebalance_is_drawn_from_the_silence_before_it_until_everybody_is_back(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = rebalance_scene(home, "expired", generation_id=3)
    assert (scene.from_ms, scene.to_ms) == (3300 - 864, 14_100 + 864)
    assert scene.title == "expired: generation 2 -> 3, 1970-01-01 00:00:13.100 UTC, completed in 1 s"
    assert rebalance_figure(home, "expired", at="1970-01-01 00:00:13").layout.title.text == scene.title
    assert main(["pictures", "--home", str(home), "--out", str(home), "--generation", "3", "expired"]) == 0
    assert capsys.readouterr().out.split() == [f"{home}/expired-generation-3.{form}" for form in ("html", "png")]


def test_in_a_notebook_pictures_are_plotly_figures(home: Path) -> None:
    figures = pictures_of(home, "two")
    assert tuple(figures) == SHOWN
    assert figures["timeline"].layout.title.text.startswith("two: members from 1970-01-01 00:00:00.")
    assert figures["timeline"].layout.xaxis.title.text == "time (UTC)"


def test_a_sweep_is_drawn_from_the_rows_that_it_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "whatif.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows(6000, 9000)))
    assert main(["pictures", "--whatif", str(file), "--out", str(tmp_path), ""]) == 0
    assert len(capsys.readouterr().out.split()) == 4
    assert imread(tmp_path / "whatif-counts.png").shape[1] > WIDTH_PX
    file.write_text("not json\n")
    assert main(["pictures", "--whatif", str(file), "--out", str(tmp_path), ""]) == 2
    assert capsys.readouterr().err.endswith("does not hold the rows that make whatif leaves.\n")


@pytest.mark.parametrize("name", ["a$x^{$b", "$\\frac$", "<b>a</b>&lt;", "_a", "a\nb\x1b[2J\u202ec", "[x]"])
def test_a_name_is_drawn_as_it_stands(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_effects(tmp_path, {"g": story_of(name, one_expires()).rows})
    assert main(["pictures", "--home", str(tmp_path), "--out", str(tmp_path), "g"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2 * len(SHOWN)
    lanes = pictures_of(tmp_path, "g")["timeline"].layout.yaxis.ticktext
    shown = [html.unescape(lane) for lane in lanes]
    assert any(visible(name) in lane for lane in shown)
    assert all(character not in "".join(lanes) for character in "<$\n\x1b")


def test_a_curve_of_any_name_is_in_the_legend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    curves = [Curve(name, [(0, 1.0), (1, 2.0)], "#000000") for name in ("_a", "$b$")]
    pale = Curve("pale", [(0, 1.0)], "#000000", is_pale=True)
    drawn: list[str] = []

    def legend(figure: Figure, handles: list[Line2D], **_: object) -> None:
        drawn.extend(str(handle.get_label()) for handle in handles)

    monkeypatch.setattr(Figure, "legend", legend)
    write_png(Curves("t", "x", "y", [*curves, pale], is_time=False), tmp_path / "curves.png")
    assert drawn == ["_a", r"\$b\$"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([""], "GROUP= names no group: make pictures GROUP=orders."),
        (["tvo"], "GROUP=tvo: the home knows no such group; did you mean two?"),
        (["no members"], "GROUP=no members: had no members then."),
        (["--at", "1970-01-01", "--minutes", "0.001", "two"], "GROUP=two: had no members then."),
        (["--generation", "x", "two"], "GENERATION=x: is not a whole number."),
        (["--generation", "9", "two"], "GENERATION=9: no rebalance of two led to it; there are 1 to 2."),
        (["--minutes", "some", "two"], "MINUTES=some: is not a number."),
        (["--minutes", "0", "two"], "MINUTES=0: is not between 0 and 1440."),
        (["--at", "noon", "two"], "AT=noon: is no moment; it is written "),
        (
            ["--home", "s3a://bucket/home", "two"],
            "s3a://bucket/home: pictures are drawn of a home on this machine's disk.",
        ),
        (["--whatif", "none.jsonl", ""], "WHATIF=none.jsonl: cannot be read: No such file or directory."),
        (["--out", "/dev/null/x", "two"], "OUT=/dev/null/x: cannot be written to: Not a directory."),
    ],
)
def test_a_mistake_is_one_sentence_and_status_2(
    home: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert main(["pictures", "--home", str(home), *arguments]) == 2
    told = capsys.readouterr()
    assert told.err.startswith(f"rollcall: {sentence}")
    assert (told.err.count("\n"), told.out) == (1, "")


def test_a_storm_of_rebalances_is_laid_behind_the_lanes_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def looks_at_all_of_them_again(*_: object, **__: object) -> None:
        raise AssertionError

    for name in ("add_shape", "add_vrect", "add_vline", "add_annotation"):
        monkeypatch.setattr(go.Figure, name, looks_at_all_of_them_again)
    bands = [Band(10 * number, 10 * number + 10, f"gen {number}", number % 2 == 1) for number in range(300)]
    storm = Lanes("storm", 0, 3_000, ["m"], {}, [], bands, [], [band.from_ms for band in bands])
    figure = figure_of(storm)
    assert [shape.type for shape in figure.layout.shapes] == ["rect"] * 300 + ["line"] * 300
    assert {(shape.yref, shape.y0, shape.y1) for shape in figure.layout.shapes} == {("y domain", 0, 1)}
