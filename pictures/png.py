"""Scenes as PNG files, drawn by matplotlib: for a page, a chat, a ticket. No browser and no display is needed.

Knows matplotlib. Must not know what is told. Looks like what plotly draws of the same scene.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from pictures.scene import Curves, Lanes, Mark
from pictures.size import CURVES_HEIGHT_PX, WIDTH_PX, drawn_ms, font_px, has_room, height_px, writes_names
from pictures.texts import change_curves, change_lanes
from programs.visible import visible

DPI = 130
PX_PER_INCH = 100
MS_PER_DAY = 86_400_000
SYMBOLS = {"cross": "X", "down": "v", "up": "^", "star": "*"}
LEGEND_COLUMNS = 5


def write_png(scene: Lanes | Curves, path: Path) -> None:
    """Draws either kind of scene into a file."""
    height = height_px(len(scene.lanes)) if isinstance(scene, Lanes) else CURVES_HEIGHT_PX
    figure = Figure(figsize=(WIDTH_PX / PX_PER_INCH, height / PX_PER_INCH), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    if isinstance(scene, Lanes):
        _draw_lanes(axes, change_lanes(scene, _plain))
    else:
        _draw_curves(axes, change_curves(scene, _plain))
    axes.set_title(_plain(scene.title), loc="left", fontsize=11, pad=18)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(path, dpi=DPI)


def _plain(text: str) -> str:
    """The text as it stands: what stands between two dollars would be a formula to matplotlib."""
    return visible(text).replace("$", r"\$")


def _draw_lanes(axes: Axes, scene: Lanes) -> None:
    count = len(scene.lanes)
    _draw_background(axes, scene)
    keys: list[Patch | Line2D] = []
    for kind, drawn in scene.kinds.items():
        bars = [bar for bar in scene.bars if bar.kind == kind]
        for bar in bars:
            width = drawn_ms(bar, scene) / MS_PER_DAY
            axes.broken_barh([(_day(bar.from_ms), width)], (bar.lane - 0.31, 0.62), facecolors=drawn.colour, zorder=2)
            if writes_names(scene) and has_room(bar, scene):
                place = (_day(bar.from_ms), bar.lane)
                axes.annotate(drawn.label, place, (3, 0), textcoords="offset points", fontsize=6, va="center", zorder=3)
        if bars and not writes_names(scene):
            keys.append(Patch(color=drawn.colour, label=drawn.label))
        marks = [mark for mark in scene.marks if mark.kind == kind]
        for mark in marks:
            _draw_mark(axes, mark, drawn.colour)
        if marks:
            key = Line2D(
                [], [], color=drawn.colour, marker=SYMBOLS[marks[0].symbol], linestyle="none", label=drawn.label
            )
            keys.append(key)
    axes.set_yticks(range(count), scene.lanes, fontsize=0.72 * font_px(count))
    axes.set_ylim(count - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    _time_axis(axes, scene.from_ms, scene.to_ms)
    _legend(axes, keys)


def _draw_mark(axes: Axes, mark: Mark, colour: str) -> None:
    x, y = _day(mark.at_ms), mark.height
    size = 110 if mark.symbol == "star" else 48
    axes.scatter([x], [y], s=size, c=colour, marker=SYMBOLS[mark.symbol], edgecolors="white", linewidths=0.6, zorder=4)
    side, shift = ("right", -6) if mark.is_label_left else ("left", 6)
    style: dict[str, Any] = {"fontsize": 7, "color": colour, "va": "center", "ha": side, "zorder": 5}
    axes.annotate(mark.label, (x, y), (shift, 0), textcoords="offset points", **style)


def _draw_background(axes: Axes, scene: Lanes) -> None:
    for band in scene.bands:
        if band.is_shaded:
            axes.axvspan(_day(band.from_ms), _day(band.to_ms), color="#f0f1f5", zorder=0, linewidth=0)
        if has_room(band, scene):
            middle = _day((band.from_ms + band.to_ms) / 2)
            axes.text(middle, -0.7, band.label, ha="center", va="bottom", fontsize=8, color="#555555")
    for at_ms in scene.lines:
        axes.axvline(_day(at_ms), color="#b3003c", alpha=0.45, linewidth=0.8, linestyle=":", zorder=1)


def _draw_curves(axes: Axes, scene: Curves) -> None:
    keys: list[Line2D] = []
    for curve in scene.curves:
        xs = [_day(x) if scene.is_time else x for x, _ in curve.points]
        lines = axes.plot(
            xs,
            [y for _, y in curve.points],
            color=curve.colour,
            linewidth=0.7 if curve.is_pale or curve.is_dotted else 1.6,
            marker="." if curve.is_pale else "o",
            markersize=2 if curve.is_pale else 3.5,
            label=curve.name,
            zorder=1 if curve.is_pale else 3,
        )
        if not curve.is_pale:
            keys += lines
    for label, height in scene.levels.items():
        axes.axhline(height, color="#d55e00", linestyle="--", linewidth=0.9)
        axes.annotate(label, (1, height), xycoords=("axes fraction", "data"), fontsize=8, va="bottom", ha="right")
    axes.set_ylabel(scene.y_label, fontsize=9)
    axes.set_ylim(bottom=0)
    if scene.is_time:
        times = [x for curve in scene.curves for x, _ in curve.points]
        _time_axis(axes, min(times, default=0), max(times, default=1))
    else:
        axes.set_xlabel(scene.x_label, fontsize=9)
    _legend(axes, keys)


def _time_axis(axes: Axes, from_ms: float, to_ms: float) -> None:
    axes.set_xlim(_day(from_ms), _day(max(to_ms, from_ms + 1)))
    locator = AutoDateLocator(tz=UTC, maxticks=12)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator, tz=UTC))
    axes.set_xlabel("time (UTC)", fontsize=9)


def _legend(axes: Axes, keys: list[Patch | Line2D] | list[Line2D]) -> None:
    if keys:
        axes.figure.legend(handles=keys, loc="outside lower left", ncols=LEGEND_COLUMNS, frameon=False, fontsize=8)


def _day(at_ms: float) -> float:
    return float(date2num(datetime.fromtimestamp(at_ms / 1000, UTC)))
