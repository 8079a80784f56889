"""How much of its session each member had left, over time.

Knows gaps between requests. Must not know a drawing library.
"""

from __future__ import annotations

from math import nan

from rollcall.answers.pictures.period import Period
from rollcall.answers.pictures.scene import PALE, Curve, Curves
from rollcall.answers.views.near_misses import SHARE
from rollcall.answers.why.slack import Gap, gaps_of
from rollcall.history.words import moment

NAMED = 8
LINE_BELOW = 50.0


def heartbeat_slack(period: Period) -> Curves:
    """The picture, in % of the session timeout: what was left at each request of a member, 0 where it expired.

    Where more than half of the session was gone, a line leads to the point from the moment when the timer was
    restarted, or from the picture's beginning.

    The NAMED members with the least slack have a colour and a name; the others are pale.
    """
    timeouts = {one.member_id: one.session_timeout_ms for one in period.memberships}
    points: dict[str, list[tuple[Gap, float]]] = {}
    for gap in gaps_of(period.facts):
        timeout_ms = timeouts.get(gap.member_id)
        if timeout_ms and gap.to_ms >= period.from_ms:
            points.setdefault(period.names.of(gap.member_id), []).append((gap, _left(gap, timeout_ms)))
    by_need = sorted(points, key=lambda name: (min(left for _, left in points[name]), name))
    named = by_need[:NAMED]
    curves = [
        Curve(
            name,
            _line(points[name], period.from_ms),
            period.colours[name] if name in named else PALE,
            name not in named,
            True,
        )
        for name in reversed(by_need)
    ]
    return Curves(
        title=f"{period.group_id}: heartbeat slack from {moment(period.from_ms)} to {moment(period.to_ms)} UTC",
        x_label="time (UTC)",
        y_label="session left when last seen, %",
        curves=curves,
        is_time=True,
        span=(period.from_ms, period.to_ms),
        levels={"expired": 0.0, "near miss": 100 * (1 - SHARE)},
        nothing="How long members were silent is not known: no two requests of one member were recorded.",
    )


def _line(points: list[tuple[Gap, float]], begins_ms: int) -> list[tuple[float, float]]:
    line: list[tuple[float, float]] = []
    for gap, left in points:
        from_ms = max(gap.from_ms, begins_ms)
        gone = (100.0 - left) * (from_ms - gap.from_ms) / max(gap.length_ms, 1)
        line += [(from_ms, round(100.0 - gone, 1))] if left < LINE_BELOW else []
        line += [(gap.to_ms, left), (gap.to_ms, nan)]
    return line


def _left(gap: Gap, timeout_ms: int) -> float:
    return max(round(100 * (timeout_ms - gap.length_ms) / timeout_ms, 1), 0.0)
