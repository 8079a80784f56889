"""Scenes drawn by plotly: pages of HTML to zoom and move in, which explain each bar and mark under the pointer.

Knows plotly. Must not know what is told. Kinds that are not in a picture are not in its legend.
"""

from __future__ import annotations

from datetime import UTC, datetime

import plotly.graph_objects as go

from pictures.scene import Curves, Lanes
from pictures.size import CURVES_HEIGHT_PX, WIDTH_PX, drawn_ms, font_px, has_room, height_px, writes_names
from pictures.texts import change_curves, change_lanes
from programs.visible import visible

SYMBOLS = {"cross": "x", "down": "triangle-down", "up": "triangle-up", "star": "star"}
LAYOUT = {
    "template": "plotly_white",
    "width": WIDTH_PX,
    "legend": {"orientation": "h", "y": -0.12},
    "margin": {"t": 70},
}


def figure_of(scene: Lanes | Curves) -> go.Figure:
    """The figure of either kind of scene."""
    if isinstance(scene, Lanes):
        return _lanes(change_lanes(scene, _plain))
    return _curves(change_curves(scene, _plain))


def as_html(scene: Lanes | Curves, library: bool | str = "directory") -> str:
    """A whole page. library: plotly's own file beside it (directory), in it (True), or from its own site (cdn)."""
    page: str = figure_of(scene).to_html(include_plotlyjs=library, full_html=True)
    return page


def _plain(text: str) -> str:
    """The text as it stands: plotly takes some HTML, and in a notebook a formula between dollars."""
    return visible(text).replace("&", "&amp;").replace("<", "&lt;").replace("$", "&#36;")


def _lanes(scene: Lanes) -> go.Figure:
    figure = go.Figure()
    for kind, drawn in scene.kinds.items():
        bars = [bar for bar in scene.bars if bar.kind == kind]
        marks = [mark for mark in scene.marks if mark.kind == kind]
        if bars:
            figure.add_bar(
                name=drawn.label,
                orientation="h",
                y=[bar.lane for bar in bars],
                base=[_time(bar.from_ms) for bar in bars],
                x=[drawn_ms(bar, scene) for bar in bars],
                marker={"color": drawn.colour, "line": {"width": 0}},
                hovertext=[bar.text for bar in bars],
                hoverinfo="text",
                width=0.62,
                text=[drawn.label if has_room(bar, scene) else "" for bar in bars] if writes_names(scene) else None,
                textposition="inside",
                insidetextanchor="start",
            )
        if marks:
            figure.add_scatter(
                name=drawn.label,
                mode="markers+text",
                x=[_time(mark.at_ms) for mark in marks],
                y=[mark.height for mark in marks],
                text=[mark.label for mark in marks],
                textposition=[f"middle {'left' if mark.is_label_left else 'right'}" for mark in marks],
                textfont={"size": 10, "color": drawn.colour},
                marker={
                    "color": drawn.colour,
                    "size": 11,
                    "symbol": [SYMBOLS[mark.symbol] for mark in marks],
                    "line": {"width": 0.5, "color": "white"},
                },
                hovertext=[mark.text for mark in marks],
                hoverinfo="text",
            )
    _add_background(figure, scene)
    count = len(scene.lanes)
    figure.update_layout(
        **LAYOUT, title=scene.title, height=height_px(count), barmode="overlay", showlegend=not writes_names(scene)
    )
    figure.update_xaxes(type="date", range=[_time(scene.from_ms), _time(scene.to_ms)], title="time (UTC)")
    names = {"tickmode": "array", "tickvals": list(range(count)), "ticktext": scene.lanes}
    figure.update_yaxes(range=[count - 0.4, -0.6], tickfont={"size": font_px(count)}, showgrid=False, **names)
    return figure


def _add_background(figure: go.Figure, scene: Lanes) -> None:
    # At once: each add_vrect, add_vline or add_annotation would check all those before it again.
    shapes, labels = [], []
    across = {"xref": "x", "yref": "y domain", "y0": 0, "y1": 1}
    for band in scene.bands:
        colour, ends = "#f3f4f7" if band.is_shaded else "#ffffff", {"x0": _time(band.from_ms), "x1": _time(band.to_ms)}
        shapes.append({"type": "rect", "fillcolor": colour, "layer": "below", "line": {"width": 0}, **across, **ends})
        if has_room(band, scene):
            middle = _time((band.from_ms + band.to_ms) // 2)
            place = {"x": middle, "y": 1.0, "xref": "x", "yref": "paper", "yanchor": "bottom"}
            labels.append({**place, "text": band.label, "showarrow": False})
    for at_ms in scene.lines:
        line, ends = {"width": 1, "dash": "dot", "color": "#b3003c"}, {"x0": _time(at_ms), "x1": _time(at_ms)}
        shapes.append({"type": "line", "line": line, "opacity": 0.5, **across, **ends})
    figure.update_layout(shapes=shapes, annotations=labels)


def _curves(scene: Curves) -> go.Figure:
    figure = go.Figure()
    for curve in scene.curves:
        figure.add_scatter(
            name=curve.name,
            mode="lines+markers",
            connectgaps=False,
            x=[_time(x) if scene.is_time else x for x, _ in curve.points],
            y=[y for _, y in curve.points],
            line={"color": curve.colour, "width": 1 if curve.is_pale or curve.is_dotted else 2},
            marker={"size": 3 if curve.is_pale else 5},
            showlegend=not curve.is_pale,
        )
    for label, height in scene.levels.items():
        figure.add_hline(height, line_dash="dash", line_color="#d55e00", annotation_text=label)
    figure.update_layout(**LAYOUT, title=scene.title, height=CURVES_HEIGHT_PX, showlegend=True)
    figure.update_xaxes(title=scene.x_label, type="date" if scene.is_time else "-")
    figure.update_yaxes(title=scene.y_label, rangemode="tozero")
    return figure


def _time(at_ms: float) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
