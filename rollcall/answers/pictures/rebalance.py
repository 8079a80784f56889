"""One rebalance to look at: the swim lanes from before it began, or its culprit fell silent, until everybody was back.

Knows an explanation's moments. Must not know a drawing library.
"""

from __future__ import annotations

from dataclasses import replace

from rollcall.answers.pictures.period import period_of
from rollcall.answers.pictures.scene import Lanes
from rollcall.answers.pictures.timeline import timeline
from rollcall.answers.why.explanation import Explanation
from rollcall.answers.why.past import Read
from rollcall.answers.why.telling import title

MARGIN = 0.08
SHORTEST_MARGIN_MS = 20


def rebalance(e: Explanation, read: Read) -> Lanes:
    """The picture of the rebalance that is explained, with its title. Raises NothingToShow."""
    from_ms = e.round_from_ms if e.silent_since_ms is None else e.silent_since_ms
    over_ms = e.known_until_ms if e.rebalance.ended_at_ms is None else e.rebalance.ended_at_ms
    to_ms = max([over_ms, *(part.moments.get(e.kind.back, 0) for part in e.parts)])
    margin_ms = max(int(MARGIN * (to_ms - from_ms)), SHORTEST_MARGIN_MS)
    return replace(timeline(period_of(e.group_id, read, from_ms - margin_ms, to_ms + margin_ms)), title=title(e))
