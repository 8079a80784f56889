"""Pictures for the page: the scenes that `make pictures` draws, and the strip of rebalances, as SVG of a place's width.

Knows scenes. Must not know an address or a template.
"""

from __future__ import annotations

from collections.abc import Callable

from page.history import History
from page.lists import rebalances_over_time
from pictures.lag import lag_around, with_lag
from pictures.ownership import ownership
from pictures.period import NothingToShow, Period, latest_period, period_of
from pictures.rebalance import rebalance
from pictures.scene import Column, Columns, Curves, Kind, Lanes
from pictures.slack import heartbeat_slack
from pictures.svg import svg_of
from pictures.timeline import timeline
from schemas.causes import CAUSES, name_of, row_of
from why.explanation import Explanation
from why.rebalances import Span
from why.words import moment

PICTURES: dict[str, Callable[[Period], Lanes | Curves]] = {
    "timeline": timeline,
    "ownership": ownership,
    "slack": heartbeat_slack,
}


def of_group(
    history: History, group_id: str, name: str, at_ms: int | None, minutes: float, span: Span | None, width_px: int
) -> str:
    """A picture of a group: of a span, else around a moment or up to its latest fact.

    Raises NothingToShow, KeyError: no such name.
    """
    draw, read = PICTURES[name], history.reader(group_id)
    if span is not None:
        period = period_of(group_id, read, span.from_ms, span.to_ms)
    else:
        _, last_ms = history.span_ms(group_id) or (0, 0)
        period = latest_period(group_id, read, last_ms, at_ms, minutes)
    scene = draw(period)
    if name == "timeline" and isinstance(scene, Lanes):
        scene = with_lag(scene, history.asked(group_id, at_ms))
    if isinstance(scene, Curves) and not scene.curves:
        raise NothingToShow("No heartbeats are known of that time.")
    return svg_of(scene, width_px, title=False)


def of_rebalance(history: History, e: Explanation, span: Span | None, width_px: int) -> str:
    """The swim lanes of a rebalance, or of a span of its time. Raises NothingToShow."""
    read = history.reader(e.group_id)
    scene = rebalance(e, read) if span is None else timeline(period_of(e.group_id, read, span.from_ms, span.to_ms))
    return svg_of(scene, width_px, title=False)


def of_lag(history: History, e: Explanation, until_ms: int | None, width_px: int) -> str:
    """The lag around a rebalance. Raises NothingToShow."""
    if e.cost is None:
        raise NothingToShow("Where the logs ended then is not known.")
    return svg_of(lag_around(e, e.cost, history.asked(e.group_id, until_ms)), width_px, title=False)


def strip(history: History, until_ms: int | None) -> Columns:
    """All rebalances over time, by cause."""
    from_ms, to_ms = history.span_ms(until_ms=until_ms) or (0, 0)
    rows = rebalances_over_time(history, from_ms, to_ms, until_ms)
    causes = sorted({row["cause"] for row in rows}, key=lambda cause: [*CAUSES, cause].index(cause))
    return Columns(
        title="Rebalances over time, by cause",
        from_ms=from_ms,
        to_ms=to_ms + 1,
        y_label="rebalances",
        kinds={cause: Kind(name_of(cause), row_of(cause).colour) for cause in causes},
        columns=[
            Column(
                *(row["from_ms"], row["from_ms"] + row["width_ms"], row["cause"], row["rebalances"]),
                text=f"{row['rebalances']} x {name_of(row['cause'])} ({row['cause']}), {row['groups']} groups, "
                f"from {moment(row['from_ms'])[:-4]} UTC",
            )
            for row in rows
        ],
    )
