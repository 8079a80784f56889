"""Who owned which partition over time: each partition a lane, each owner a colour.

Knows ownership intervals. Must not know a drawing library.
"""

from __future__ import annotations

from rollcall.answers.pictures.period import Period
from rollcall.answers.pictures.scene import Bar, Kind, Lanes
from rollcall.history.facts import effects_in
from rollcall.history.holdings import holdings_of
from rollcall.history.words import clock, duration, moment


def ownership(period: Period) -> Lanes:
    """The picture; a gap in a lane is a time in which nobody owned the partition."""
    holdings = [
        one
        for one in holdings_of(effects_in(period.facts))
        if one.from_ms <= period.to_ms and (one.to_ms or period.to_ms) >= period.from_ms
    ]
    partitions = sorted({one.partition for one in holdings})
    places = {partition: place for place, partition in enumerate(partitions)}
    owners = [name for name in period.lanes if name in {period.names.of(one.member_id) for one in holdings}]
    bars = []
    for one in holdings:
        name, to_ms = period.names.of(one.member_id), period.to_ms if one.to_ms is None else one.to_ms
        text = (
            f"{one.partition.topic}-{one.partition.number}: {name} for {duration(to_ms - one.from_ms)} "
            f"from {clock(one.from_ms)} UTC ({period.kind_at(one.from_ms).step} {one.generation_id})"
        )
        bars.append(Bar(places[one.partition], max(one.from_ms, period.from_ms), to_ms, name, text))
    return Lanes(
        title=f"{period.group_id}: owners from {moment(period.from_ms)} to {moment(period.to_ms)} UTC",
        from_ms=period.from_ms,
        to_ms=period.to_ms,
        lanes=[f"{partition.topic}-{partition.number}" for partition in partitions],
        kinds={name: Kind(name, period.colours[name]) for name in owners},
        bars=bars,
        lines=[one.started_at_ms for one in period.rebalances if one.started_at_ms >= period.from_ms],
        nothing="Who owned which partition is not known: nothing that was recorded tells what a member was given.",
    )
