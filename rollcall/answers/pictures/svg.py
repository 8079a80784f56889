"""Scenes as SVG: one text for a page, a notebook, a ticket or a browser, which explains each bar on hover.

Ground, ink and lines have classes, so that a page can restyle them for a dark window; inline styles would be refused by
the page's policy. Knows SVG. Must not know what a picture means.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from math import ceil, isnan, log10

from rollcall.answers.pictures.scene import DISTINCT, Band, Bar, Columns, Curves, Kind, Lanes, Mark
from rollcall.history.words import clock, moment
from rollcall.programs.visible import visible

WIDTH_PX = 1300
TITLE_PX, BANDS_PX, AXIS_PX, LEGEND_ROW_PX, MARGIN_PX, RIGHT_PX = 30, 18, 44, 20, 12, 32
CURVES_PX, BELOW_PX, COLUMNS_PX = 260, 130, 130
"""The heights of curves, curves under lanes, and columns, without axes and legends."""
CURVES_LEFT_PX = 70
WIDEST_NAMES = 0.35
"""The share of the width that names of lanes have at most; longer ones are cut."""
SWATCH_PX = 14
"""The room for a lane's colour beside its name."""
EM = 0.56
"""Maximum average width of a character, as a share of its font size."""
TICK_PX, THINNEST_PX = 110, 1.5
_DAY_MS = 86_400_000
_STEPS_MS = (
    *(base * 10**power for power in range(3) for base in (1, 2, 5)),
    *(1000 * seconds for seconds in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800)),
    *(3_600_000 * hours for hours in (1, 2, 3, 6, 12)),
    *(_DAY_MS * days for days in (1, 2, 7, 14, 30, 91, 365, 3650, 36_500, 365_000)),
)
_SHAPES = {
    "cross": "M-5-3L-3-5L0-2L3-5L5-3L2 0L5 3L3 5L0 2L-3 5L-5 3L-2 0Z",
    "down": "M-5-4H5L0 5Z",
    "up": "M-5 4H5L0-5Z",
    "star": "M0-7L1.8-2.3L7-2.2L2.8 0.9L4.2 5.8L0 2.9L-4.2 5.8L-2.8 0.9L-7-2.2L-1.8-2.3Z",
}
"""Marks, around their place."""


class Svg(str):
    """The text of a picture, which a notebook shows as one."""

    def __repr__(self) -> str:
        return f"<a picture of {len(self)} characters>"

    def _repr_svg_(self) -> str:
        return str(self)


def svg_of(
    scene: Lanes | Curves | Columns, width_px: int = WIDTH_PX, title: bool = True, left_px: float | None = None
) -> Svg:
    """The picture. title: False if the text around it has one. left_px: the room for names; None: as they need."""
    match scene:
        case Lanes(lanes=[], nothing=sentence) | Curves(curves=[], nothing=sentence) if sentence:
            drawing, names = _sentence(sentence, width_px, title), []
        case Lanes():
            drawing, names = (
                _lanes(scene, width_px, title, left_px),
                [] if _writes_names(scene) else _shown_kinds(scene),
            )
            names += _named(scene.below)
        case Curves():
            drawing, names = _curves(scene, width_px, title, left_px), _named(scene)
        case Columns():
            drawing = _columns(scene, width_px, title)
            present = {column.kind for column in scene.columns}
            names = [(kind, "") for key, kind in scene.kinds.items() if key in present]
    drawing.legend(names)
    leads = isinstance(scene, Columns) and any(column.link for column in scene.columns)
    return Svg(drawing.text(scene.title if title else "", scene.title, "group" if leads else "img"))


class _Drawing:
    """A frame with what is drawn in it, from its top left corner; x is a moment, or another number."""

    def __init__(self, width_px: int, left_px: float, top_px: float, height_px: float, xs: tuple[float, float]) -> None:
        self.left, self.right = left_px, width_px - RIGHT_PX
        self.top, self.bottom, self._first_top = top_px, top_px + height_px, top_px
        self._from, self._to = xs[0], max(xs[1], xs[0] + 1)
        self._width, self._height = width_px, self.bottom + AXIS_PX
        self._parts: list[str] = []

    def frame_below(self, height_px: float) -> None:
        """Continue in a frame under this one, over the same x."""
        self.top, self.bottom = self.bottom + MARGIN_PX, self.bottom + MARGIN_PX + height_px
        self._height = self.bottom + AXIS_PX

    def x(self, value: float) -> float:
        """Where a moment is, within the frame."""
        share = (min(max(value, self._from), self._to) - self._from) / (self._to - self._from)
        return self.left + share * (self.right - self.left)

    def add(self, tag: str, hint: str = "", words: str = "", /, **attributes: object) -> None:
        """hint: the text on hover."""
        inner = (f"<title>{_plain(hint)}</title>" if hint else "") + _plain(words)
        given = "".join(f' {name.strip("_").replace("_", "-")}="{_value(value)}"' for name, value in attributes.items())
        self._parts.append(f"<{tag}{given}>{inner}</{tag}>")

    def write(self, x: float, y: float, words: str, hint: str = "", /, **attributes: object) -> None:
        self.add("text", hint, words, x=x, y=y, **{"fill": "currentColor", "dominant_baseline": "middle", **attributes})

    def fill(self, from_: float, to: float, y: float, height: float, colour: str, hint: str, link: str = "") -> None:
        """A bar; even the shortest one is seen."""
        x = self.x(from_)
        self.add("rect", hint, x=x, y=y, width=max(self.x(to) - x, THINNEST_PX), height=height, fill=colour)
        if link:
            self._parts[-1] = f'<a href="{_plain(link)}" aria-label="{_plain(hint)}">{self._parts[-1]}</a>'

    def rule(self, x1: float, y1: float, x2: float, y2: float, /, **attributes: object) -> None:
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, **{"class_": "grid", "stroke": "#d5d9de", **attributes})

    def time_axis(self, has_words: bool = True) -> None:
        most = max((self.right - self.left) / TICK_PX, 2)
        step = next((one for one in _STEPS_MS if (self._to - self._from) / one <= most), _STEPS_MS[-1])
        for at_ms in range(ceil(self._from / step) * step, int(self._to) + 1, step):
            shown = (
                moment(at_ms)[:10]
                if step >= _DAY_MS
                else clock(at_ms)[: 5 if step >= 60_000 else 8 if step >= 1000 else 12]
            )
            self._tick(at_ms, shown if has_words else "")
        if not has_words:
            return
        first, last = moment(int(self._from))[:10], moment(int(self._to))[:10]
        self._name_axis(f"time (UTC), {first}" if first == last else f"time (UTC), {first} to {last}")

    def number_axis(self, name: str) -> None:
        for value in _round_numbers(self._from, self._to, 8):
            self._tick(value, f"{value:,.10g}")
        self._name_axis(name)

    def _tick(self, value: float, words: str) -> None:
        self.rule(self.x(value), self.top, self.x(value), self.bottom)
        if words:
            self.write(self.x(value), self.bottom + 13, words, text_anchor="middle", font_size=11)

    def cut(self, at_ms: int) -> None:
        """A moment that cuts through the frame."""
        x = self.x(at_ms)
        self.rule(x, self.top, x, self.bottom, stroke="#b3003c", stroke_dasharray="2 3", class_="cut")

    def _name_axis(self, name: str) -> None:
        self.write((self.left + self.right) / 2, self.bottom + 32, name, text_anchor="middle", font_size=11)

    def y(self, value: float) -> float:
        """Where a number is, on the axis at the left."""
        return self.bottom - value / self._most * (self.bottom - self.top)

    def height_axis(self, most: float, name: str, least_step: float = 0) -> None:
        """The axis at the left, from 0 up to a number."""
        ticks = _round_numbers(0, most, 6, least_step)
        self._most = max(most, ticks[-1])
        for value in ticks:
            self.rule(self.left, self.y(value), self.right, self.y(value))
            self.write(self.left - 6, self.y(value), f"{value:,.10g}", text_anchor="end", font_size=11)
        x, middle = max(self.left - 58, 12), (self.top + self.bottom) / 2
        self.write(x, middle, name, text_anchor="middle", font_size=11, transform=f"rotate(-90 {x:.1f} {middle:.1f})")

    def legend(self, names: Sequence[tuple[Kind, str]]) -> None:
        """Each kind with its colour, and its shape if it is a mark's, in as many rows as are needed."""
        x, y = float(MARGIN_PX), self._height
        for kind, symbol in names:
            width = 20 + EM * 12 * len(visible(kind.label)) + 16
            if x > MARGIN_PX and x + width > self._width:
                x, y = float(MARGIN_PX), y + LEGEND_ROW_PX
            if symbol:
                self.add("path", d=_SHAPES[symbol], transform=f"translate({x + 6:.1f} {y + 6:.1f})", fill=kind.colour)
            else:
                self.add("rect", x=x, y=y, width=12, height=12, fill=kind.colour)
            self.write(x + 18, y + 6, kind.label, font_size=12)
            x += width
        self._height = y + LEGEND_ROW_PX

    def text(self, title: str, name: str, role: str) -> str:
        """title: the text above; name: the text for screen readers; role: what the picture is for them."""
        if title:
            self.write(MARGIN_PX, TITLE_PX / 2, title, font_size=15, font_weight=600)
        size = f'width="{self._width}" height="{self._height:.0f}" viewBox="0 0 {self._width} {self._height:.0f}"'
        place = (
            f'data-from="{self._from:.0f}" data-to="{self._to:.0f}" data-left="{self.left:.1f}" '
            f'data-right="{self.right:.1f}" data-top="{self._first_top:.1f}" data-bottom="{self.bottom:.1f}"'
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} {place} role="{role}" aria-label="{_plain(name)}" '
            f'font-family="system-ui, sans-serif" color="#1a1d21">'
            f'<rect class="ground" width="100%" height="100%" fill="#ffffff"></rect>{"".join(self._parts)}</svg>\n'
        )


# ---------------------------------------------------------------- lanes


def _sizes(count: int) -> tuple[int, int]:
    """How high each lane is, and how large its name, so that three or sixty stay legible."""
    return (34, 13) if count <= 12 else (24, 13) if count <= 30 else (18, 11)


def _sentence(words: str, width_px: int, title: bool) -> _Drawing:
    """A picture without anything to draw: why that is so."""
    drawing = _Drawing(width_px, MARGIN_PX, TITLE_PX * title, BANDS_PX, (0, 1))
    drawing.write(drawing.left, (drawing.top + drawing.bottom) / 2, words, font_size=13)
    return drawing


def _lanes(scene: Lanes, width_px: int, title: bool, left_px: float | None) -> _Drawing:
    lane_px, font_px = _sizes(len(scene.lanes))
    longest = max((len(visible(name)) for name in scene.lanes), default=0)
    swatch_px = SWATCH_PX if scene.colours else 0
    left = min(EM * font_px * longest + 2 * MARGIN_PX + swatch_px, WIDEST_NAMES * width_px)
    left = left_px or (left if scene.below is None else max(left, CURVES_LEFT_PX))
    top = TITLE_PX * title + BANDS_PX
    drawing = _Drawing(width_px, left, top, max(len(scene.lanes), 1) * lane_px, (scene.from_ms, scene.to_ms))
    for band in scene.bands:
        _add_band(drawing, band)
    drawing.time_axis(has_words=scene.below is None)
    for at_ms in scene.lines:
        drawing.cut(at_ms)
    for kind, drawn in scene.kinds.items():
        for bar in scene.bars:
            if bar.kind == kind:
                _add_bar(drawing, bar, drawn, lane_px, _writes_names(scene))
    for mark in scene.marks:
        _add_mark(drawing, mark, scene.kinds[mark.kind], lane_px)
    for place, name in enumerate(scene.lanes):
        shown = _cut(visible(name), int((left - 2 * MARGIN_PX - swatch_px) / (EM * font_px)))
        y = drawing.top + (place + 0.5) * lane_px
        drawing.write(left - 8 - swatch_px, y, shown, name, text_anchor="end", font_size=font_px)
        if name in scene.colours:
            side = SWATCH_PX - 4
            drawing.add("rect", x=left - 8 - side, y=y - side / 2, width=side, height=side, fill=scene.colours[name])
    if scene.below is not None:
        drawing.frame_below(BELOW_PX)
        _add_curves(drawing, scene.below)
    return drawing


def _add_band(drawing: _Drawing, band: Band) -> None:
    x, to = drawing.x(band.from_ms), drawing.x(band.to_ms)
    if band.is_shaded:
        height = drawing.bottom - drawing.top
        drawing.add("rect", class_="band", x=x, y=drawing.top, width=to - x, height=height, fill="#f0f1f5")
    if to - x >= EM * 11 * len(band.label):
        drawing.write((x + to) / 2, drawing.top - BANDS_PX / 2, band.label, text_anchor="middle", font_size=11)


def _add_bar(drawing: _Drawing, bar: Bar, kind: Kind, lane_px: int, is_named: bool) -> None:
    y = drawing.top + (bar.lane + 0.19) * lane_px
    drawing.fill(bar.from_ms, bar.to_ms, y, 0.62 * lane_px, kind.colour, bar.text)
    room = drawing.x(bar.to_ms) - drawing.x(bar.from_ms)
    if is_named and room > 40:
        name = _cut(visible(kind.label), int(room / (EM * 10)))
        drawing.write(drawing.x(bar.from_ms) + 3, y + 0.31 * lane_px, name, font_size=10, fill="#1a1d21")


def _add_mark(drawing: _Drawing, mark: Mark, kind: Kind, lane_px: int) -> None:
    x, y = drawing.x(mark.at_ms), drawing.top + (mark.height + 0.5) * lane_px
    place = f"translate({x:.1f} {y:.1f})"
    drawing.add("path", mark.text, d=_SHAPES[mark.symbol], transform=place, fill=kind.colour, stroke="#ffffff")
    if mark.label:
        side, shift = ("end", -9) if mark.is_label_left else ("start", 9)
        drawing.write(x + shift, y, mark.label, font_size=10, text_anchor=side, fill=kind.colour, class_="label")


def _shown_kinds(scene: Lanes) -> list[tuple[Kind, str]]:
    """The kinds that are in the picture, those of marks with their shape."""
    shapes = {mark.kind: mark.symbol for mark in scene.marks}
    present = {bar.kind for bar in scene.bars} | shapes.keys()
    return [(kind, shapes.get(key, "")) for key, kind in scene.kinds.items() if key in present]


def _writes_names(scene: Lanes) -> bool:
    """Whether there are more kinds than colours, so that their names stand in the bars and not in a legend."""
    return len(scene.kinds) > len(DISTINCT)


# ---------------------------------------------------------------- numbers


def _curves(scene: Curves, width_px: int, title: bool, left_px: float | None) -> _Drawing:
    xs = scene.span or [x for curve in scene.curves for x, y in curve.points if not isnan(y)] or [0.0]
    top = TITLE_PX * title + MARGIN_PX
    drawing = _Drawing(width_px, left_px or CURVES_LEFT_PX, top, CURVES_PX, (min(xs), max(xs)))
    _add_curves(drawing, scene)
    return drawing


def _add_curves(drawing: _Drawing, scene: Curves) -> None:
    heights = [y for curve in scene.curves for _, y in curve.points if not isnan(y)]
    drawing.height_axis(max([*heights, *scene.levels.values()], default=1), scene.y_label)
    if scene.is_time:
        drawing.time_axis()
    else:
        drawing.number_axis(scene.x_label)
    for at_ms in scene.lines:
        drawing.cut(at_ms)
    for label, level in scene.levels.items():
        y = drawing.y(level)
        drawing.rule(drawing.left, y, drawing.right, y, stroke="#d55e00", stroke_dasharray="6 4", class_="level")
        drawing.write(drawing.right, y - 8, label, text_anchor="end", font_size=11)
    for curve in sorted(scene.curves, key=lambda each: not each.is_pale):
        width = 1 if curve.is_pale or curve.is_dotted else 2
        for line in _unbroken(curve.points):
            places = " ".join(f"{drawing.x(x):.1f},{drawing.y(y):.1f}" for x, y in line)
            drawing.add("polyline", points=places, fill="none", stroke=curve.colour, stroke_width=width)
        for x, y in curve.points:
            if not isnan(y):
                at = moment(int(x)) if scene.is_time else f"{x:,.10g}"
                place = {"cx": drawing.x(x), "cy": drawing.y(y), "r": 1.5 if curve.is_pale else 2.5}
                drawing.add("circle", f"{curve.name}: {y:,.10g} at {at}", fill=curve.colour, **place)


def _named(scene: Curves | None) -> list[tuple[Kind, str]]:
    curves = [] if scene is None else scene.curves
    return [(Kind(each.name, each.colour), "") for each in curves if not each.is_pale]


def _columns(scene: Columns, width_px: int, title: bool) -> _Drawing:
    reached: dict[int, int] = {}
    for column in scene.columns:
        reached[column.from_ms] = reached.get(column.from_ms, 0) + column.count
    xs = (scene.from_ms, scene.to_ms)
    drawing = _Drawing(width_px, 60, TITLE_PX * title + MARGIN_PX, COLUMNS_PX, xs)
    drawing.height_axis(max(reached.values(), default=1), scene.y_label, least_step=1)
    drawing.time_axis()
    if scene.chosen is not None:
        x, to = map(drawing.x, scene.chosen)
        drawing.add("rect", class_="chosen", x=x, y=drawing.top, width=to - x, height=COLUMNS_PX, fill="#cfe0f5")
    below: dict[int, int] = {}
    for kind, drawn in scene.kinds.items():
        for column in scene.columns:
            if column.kind == kind:
                low = below.get(column.from_ms, 0)
                below[column.from_ms] = low + column.count
                y = drawing.y(low + column.count)
                height = drawing.y(low) - y
                drawing.fill(column.from_ms, column.to_ms, y, height, drawn.colour, column.text, column.link)
    return drawing


def _unbroken(points: Iterable[tuple[float, float]]) -> Iterator[list[tuple[float, float]]]:
    """The lines between breaks; a height of NaN is one."""
    line: list[tuple[float, float]] = []
    for point in points:
        if not isnan(point[1]):
            line.append(point)
        elif line:
            yield line
            line = []
    if line:
        yield line


def _round_numbers(low: float, high: float, most: int, least_step: float = 0) -> list[float]:
    """Up to `most` numbers from low to high, one step apart; a step is 1, 2 or 5 times a power of ten."""
    span = max(high - low, 1e-9)
    power = 10.0 ** ceil(log10(span / most) - 1)
    step = next(each * power for each in (1, 2, 5, 10, 20) if span / (each * power) <= most)
    step = max(step, least_step)
    return [place * step for place in range(ceil(low / step), int(high / step + 1e-9) + 1)]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: max(most - 1, 1)]}\u2026"


def _value(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else _plain(str(value))


def _plain(text: str) -> str:
    """The escaped text: clients' names must not be markup."""
    return escape(visible(text))
