"""Pictures for the page: the scenes that `make pictures` draws, and the strip of rebalances, as plotly's JSON.

Knows scenes and plotly. Must not know an address or a template. A width is the browser's.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from page.history import History
from page.lists import rebalances_over_time
from pictures.ownership import ownership
from pictures.rebalance import rebalance
from pictures.scene import Curves, Lanes
from pictures.slack import heartbeat_slack
from pictures.stretch import NothingToShow, Stretch, stretch_of
from pictures.timeline import timeline
from schemas.causes import CAUSES, name_of, row_of
from why.explanation import Explanation

MINUTE_MS = 60_000
MARGIN = 0.02
PICTURES: dict[str, Callable[[Stretch], Lanes | Curves]] = {
    "timeline": timeline,
    "ownership": ownership,
    "slack": heartbeat_slack,
}


def of_group(history: History, group_id: str, name: str, at_ms: int | None, minutes: float) -> str:
    """A picture of a group, around a moment or up to its latest fact. Raises NothingToShow, KeyError: no such name."""
    draw = PICTURES[name]
    read = history.reader(group_id)
    span = history.span_ms(group_id)
    last_ms = 0 if span is None else span[1]
    length_ms = int(minutes * MINUTE_MS)
    to_ms = last_ms if at_ms is None else min(at_ms + length_ms // 2, last_ms)
    stretch = stretch_of(group_id, read, to_ms - length_ms, to_ms)
    first_ms = max(stretch.from_ms, min(one.joined_at_ms for one in stretch.memberships))
    room_ms = int(MARGIN * (to_ms - first_ms)) + 1
    scene = draw(stretch_of(group_id, read, first_ms - room_ms, to_ms + room_ms))
    if isinstance(scene, Curves) and not scene.curves:
        raise NothingToShow("No heartbeats are known of that time.")
    return figure_json(scene)


def of_rebalance(history: History, e: Explanation) -> str:
    """The swim lanes of a rebalance. Raises NothingToShow."""
    return figure_json(rebalance(e, history.reader(e.group_id)))


def figure_json(scene: Lanes | Curves) -> str:
    """A scene as plotly's JSON, as wide as its place in the page."""
    from pictures.plotly_page import figure_of

    figure = figure_of(scene)
    figure.update_layout(width=None, autosize=True, title=None, margin={"t": 30, "r": 10, "l": 10, "b": 70})
    # Below the times, which stand on two lines.
    figure.update_layout(legend={"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom"})
    figure.update_xaxes(title=None)
    text: str = figure.to_json()
    return text


def strip(history: History, until_ms: int | None) -> dict[str, Any]:
    """All rebalances over time by cause, as bars on each other: plotly's `data` and `layout`."""
    span = history.span_ms(until_ms=until_ms)
    rows = [] if span is None else rebalances_over_time(history, span[0], span[1], until_ms)
    by_cause: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_cause[row["cause"]].append(row)
    data = [
        {
            "type": "bar",
            "name": name_of(cause),
            "x": [_moment(row["from_ms"] + row["width_ms"] / 2) for row in of_cause],
            "y": [row["rebalances"] for row in of_cause],
            "width": [row["width_ms"] for row in of_cause],
            "marker": {"color": row_of(cause).colour},
            "hovertext": [
                f"{row['rebalances']} x {name_of(cause)} ({cause}), {row['groups']} groups, "
                f"from {_moment(row['from_ms'])[:-4]} UTC"
                for row in of_cause
            ],
            "hoverinfo": "text",
        }
        for cause, of_cause in sorted(by_cause.items(), key=lambda pair: _place(pair[0]))
    ]
    layout: dict[str, Any] = {
        "barmode": "stack",
        "height": 210,
        "dragmode": "select",
        "selectdirection": "h",
        "margin": {"t": 10, "r": 10, "l": 40, "b": 60},
        "xaxis": {"type": "date"},
        "yaxis": {"rangemode": "tozero", "fixedrange": True, "title": {"text": "rebalances"}},
        "legend": {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom"},
        "showlegend": True,
    }
    if span is not None:
        layout["xaxis"]["range"] = [_moment(span[0]), _moment(span[1] + 1)]
    return {"data": data, "layout": layout}


def strip_json(history: History, until_ms: int | None) -> str:
    return json.dumps(strip(history, until_ms))


def _place(cause: str) -> int:
    return list(CAUSES).index(cause) if cause in CAUSES else len(CAUSES)


def _moment(at_ms: float) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
