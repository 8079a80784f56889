"""Who owned which partition over time: each partition a lane, each owner a colour.

Knows ownership intervals. Must not know a drawing library.
"""

from __future__ import annotations

from pictures.scene import Bar, Kind, Lanes, colour_of
from pictures.stretch import Past
from why.holdings import holdings_of
from why.words import clock, duration, moment


def ownership(past: Past) -> Lanes:
    """The picture; a gap in a lane is a time in which nobody owned the partition."""
    holdings = [
        one
        for one in holdings_of(past.facts)
        if one.from_ms <= past.to_ms and (one.to_ms or past.to_ms) >= past.from_ms
    ]
    partitions = sorted({one.partition for one in holdings})
    places = {partition: place for place, partition in enumerate(partitions)}
    owners = [name for name in past.lanes if name in {past.names.of(one.member_id) for one in holdings}]
    bars = []
    for one in holdings:
        name, to_ms = past.names.of(one.member_id), past.to_ms if one.to_ms is None else one.to_ms
        text = (
            f"{one.partition.topic}-{one.partition.number}: {name} for {duration(to_ms - one.from_ms)} "
            f"from {clock(one.from_ms)} UTC (generation {one.generation_id})"
        )
        bars.append(Bar(places[one.partition], max(one.from_ms, past.from_ms), to_ms, name, text))
    return Lanes(
        title=f"{past.group_id}: owners from {moment(past.from_ms)} to {moment(past.to_ms)} UTC",
        from_ms=past.from_ms,
        to_ms=past.to_ms,
        lanes=[f"{partition.topic}-{partition.number}" for partition in partitions],
        kinds={name: Kind(name, colour_of(place)) for place, name in enumerate(owners)},
        bars=bars,
        lines=[one.started_at_ms for one in past.rebalances if one.started_at_ms >= past.from_ms],
    )
