"""How far behind a group was, as curves: under its timeline, or around one rebalance.

Knows which views have the points. Must not know who answers, nor a drawing library.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from math import isnan, nan

from rollcall.answers.pictures.scene import DISTINCT, PALE, Curve, Curves, Lanes
from rollcall.answers.why.cost import Asked, Cost, literal
from rollcall.answers.why.explanation import Explanation
from rollcall.history.words import ms_of

NAMED = 6
"""The topics that were furthest behind have a colour and a name; the others are pale."""
MOST_POINTS = 250
"""Maximum points of a curve; beyond it, only the highest in each period is drawn."""
MARGIN = 0.15
AROUND_MS = 10_000
"""Minimum time shown before and after the cost of a rebalance."""
_Points = list[tuple[float, float]]


def with_lag(scene: Lanes, asked: Asked) -> Lanes:
    """The lanes with the lag under them, one curve per topic; unchanged if the lag is unknown."""
    curves = _topics(asked, scene.from_ms, scene.to_ms, set(scene.colours.values()))
    return replace(scene, below=_curves(scene.title, curves, scene.lines)) if curves else scene


def lag_around(e: Explanation, cost: Cost, asked: Asked) -> Curves:
    """The lag from before a rebalance, or its culprit's silence, until the group had caught up.

    Each topic has a curve, and so has each partition that was furthest behind.
    """
    began_ms, ended_ms = e.rebalance.started_at_ms, e.rebalance.ended_at_ms
    from_ms = e.silent_since_ms if cost.is_from_silence and e.silent_since_ms is not None else began_ms
    moments = [began_ms, *(one for one in (ended_ms, cost.caught_up_ms) if one is not None)]
    to_ms = max(*moments, cost.peak_ms)
    margin_ms = max(int(MARGIN * (to_ms - from_ms)), AROUND_MS)
    span = (from_ms - margin_ms, to_ms + margin_ms)
    topics = _topics(asked, *span)
    free = [colour for colour in DISTINCT if colour not in {one.colour for one in topics}]
    partitions = [
        Curve(one.name, _partition(asked, one.topic, one.partition, *span), colour, False, True)
        for one, colour in zip(cost.peaks, free, strict=False)
    ]
    levels = {"before": float(cost.lag_before)} if len(topics) == 1 else {}
    return replace(_curves(f"{e.group_id}: lag around it", topics + partitions, moments), levels=levels)


def _curves(title: str, curves: list[Curve], lines: list[int]) -> Curves:
    return Curves(title, "time (UTC)", "lag, records", curves, is_time=True, lines=lines)


def _topics(asked: Asked, from_ms: int, to_ms: int, taken: Collection[str] = ()) -> list[Curve]:
    """The highest lag of each of the view's periods of time; a line breaks where it is not known.

    A name says so if some of it is an upper bound. taken: colours that mean something else, used if others are too few.
    """
    rows = asked.rows(
        "select topic, peak_at, peak_lag_records as height, lag_records, is_upper_bound from lag_history "
        f"where peak_at >= {literal(from_ms)} and peak_at <= {literal(to_ms)}{asked.of_group} order by topic, peak_at"
    )
    by_topic: dict[str, _Points] = {}
    for row in rows:
        points = by_topic.setdefault(row["topic"], [])
        points.append((ms_of(row["peak_at"]), row["height"]))
        if row["lag_records"] is None:
            points.append((ms_of(row["peak_at"]), nan))
    bounds = {row["topic"] for row in rows if row["is_upper_bound"]}
    names = {topic: f"{topic} (at most)" if topic in bounds else topic for topic in by_topic}
    by_height = sorted(by_topic, key=lambda topic: (-_highest(by_topic[topic])[1], topic))
    colours = sorted(DISTINCT, key=lambda colour: colour in taken)
    return [
        Curve(names[topic], _fewer(by_topic[topic]), colours[place] if place < NAMED else PALE, place >= NAMED)
        for place, topic in enumerate(by_height)
    ]


def _partition(asked: Asked, topic: str, partition: int, from_ms: int, to_ms: int) -> _Points:
    """Its lag just before and from each moment at which it changed; the line breaks where it is not known."""
    rows = asked.rows(
        "select topic, p.at, lag_before_records, lag_records, is_recorded from partition_lag as p where p.partition = "
        f"{partition} and p.at >= {literal(from_ms)} and p.at <= {literal(to_ms)}{asked.of_group} order by p.at"
    )
    points: _Points = []
    is_recorded = True
    for row in rows:
        if row["topic"] == topic:
            before, after = row["lag_before_records"], row["lag_records"] if row["is_recorded"] else nan
            heights = (before, after) if is_recorded else (after,)
            points += [(ms_of(row["at"]), height) for height in heights if height is not None]
            is_recorded = row["is_recorded"]
    return _fewer(points)


def _fewer(points: _Points) -> _Points:
    """The points, or of many the highest of each equal number of them, with the breaks among them."""
    step = len(points) // MOST_POINTS + 1
    kept: _Points = []
    for place in range(0, len(points), step):
        near = points[place : place + step]
        kept += dict.fromkeys((_highest(near), *[point for point in near if isnan(point[1])][-1:]))
    return kept


def _highest(points: _Points) -> tuple[float, float]:
    return max(points, key=lambda point: -1.0 if isnan(point[1]) else point[1])
