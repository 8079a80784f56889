"""Pictures for the page: the scenes that `make pictures` draws, and the strip of rebalances, as SVG of a place's width.

Knows scenes, and the address that a bar leads to. Must not know a template.
"""

from __future__ import annotations

from collections.abc import Callable

from rollcall.answers.pictures.lag import lag_around, with_lag
from rollcall.answers.pictures.ownership import ownership
from rollcall.answers.pictures.period import NothingToShow, Period, colours_of, latest_period, period_of
from rollcall.answers.pictures.scene import Column, Columns, Curves, Kind, Lanes
from rollcall.answers.pictures.slack import heartbeat_slack
from rollcall.answers.pictures.svg import svg_of
from rollcall.answers.pictures.timeline import rebalance, timeline
from rollcall.answers.why.explanation import Explanation
from rollcall.answers.why.past import EVER
from rollcall.history.facts import MEMBERSHIPS, effects_in, facts_of
from rollcall.history.members import memberships_of
from rollcall.history.rebalances import Span
from rollcall.history.words import count, moment
from rollcall.schemas.causes import CAUSES, name_of, row_of
from rollcall.serve.page.history import History
from rollcall.serve.page.lists import rebalances_over_time
from rollcall.serve.page.shown import link

PICTURES: dict[str, Callable[[Period], Lanes | Curves]] = {
    "timeline": timeline,
    "ownership": ownership,
    "slack": heartbeat_slack,
}
NAMES_SHARE, NARROWEST_NAMES_PX, WIDEST_NAMES_PX = 0.15, 110, 200
"""The room for names in all pictures of a group, so that their times stand below each other."""


def of_group(
    history: History, group_id: str, name: str, at_ms: int | None, minutes: float, span: Span | None, width_px: int
) -> str:
    """A picture of a group: of a span, else up to a moment or its latest fact; nothing that is later than the moment.

    Raises NothingToShow, KeyError: no such name.
    """
    draw, read = PICTURES[name], history.reader(group_id, at_ms)
    if span is not None:
        period = period_of(group_id, read, span.from_ms, span.to_ms)
    else:
        _, last_ms = history.span_ms(group_id) or (0, 0)
        is_cut = at_ms is not None and at_ms < last_ms
        until_ms = at_ms if at_ms is not None and is_cut else last_ms
        period = latest_period(group_id, read, until_ms, None, minutes, is_cut=is_cut)
    scene = draw(period)
    if name == "timeline" and isinstance(scene, Lanes):
        scene = with_lag(scene, history.asked(group_id, at_ms))
    if isinstance(scene, Curves) and not scene.curves:
        raise NothingToShow("No heartbeats are known of that time.")
    names_px = min(max(NAMES_SHARE * width_px, NARROWEST_NAMES_PX), WIDEST_NAMES_PX)
    return svg_of(scene, width_px, title=False, left_px=names_px)


def member_colours(history: History, group_id: str, at_ms: int | None) -> dict[str, str]:
    """Return the colour of each member id of a group, as its pictures have it."""
    return colours_of(memberships_of(effects_in(facts_of(history.reader(group_id, at_ms)(MEMBERSHIPS, 0, EVER)))))


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


def strip(history: History, until_ms: int | None, chosen: Span | None = None, at: str = "") -> Columns:
    """All rebalances over time, by cause, each leading to the groups that rebalanced then. at: the chosen moment."""
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
                text=f"{name_of(row['cause'])}: {count(row['rebalances'], 'rebalance')} of "
                f"{count(row['groups'], 'group')} from {moment(row['from_ms'])[:-4]} UTC",
                link=link("/", at=at, **{"from": row["from_ms"], "to": row["from_ms"] + row["width_ms"] - 1}),
            )
            for row in rows
        ],
        chosen=None if chosen is None else (chosen.from_ms, chosen.to_ms),
    )
