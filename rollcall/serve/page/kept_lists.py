"""Which views are kept ready for all groups, and when each is made again.

Knows what changes a view. Must not know how one is made, nor a database.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from rollcall.answers.views.catalog import DETECTORS, facts_read, with_foundations
from rollcall.schemas.effect_names import EffectName

REST_FACTOR, BEAT_REST_FACTOR, LAG_REST_FACTOR = 3, 10, 20
"""Lists are not remade for this multiple of the time that making them took; longer for those that heartbeats change."""
QUIET = frozenset(
    {
        EffectName.REPLY,
        EffectName.HEARTBEATS_TAKEN,
        EffectName.REQUEST_PARKED,
        EffectName.REQUEST_DROPPED,
        EffectName.REQUEST_REPEATED,
        EffectName.OFFSETS_COMMITTED,
        EffectName.OFFSETS_REMOVED,
        EffectName.TIMER_ARMED,
    }
)
"""The facts that alter no list of LISTS."""
LAG_LISTS = ("lag", "lag_history", *(name for name in DETECTORS if "log_ends" in with_foundations([name])))
"""The views kept ready for all groups, which the ends of logs alter too."""
_FOLLOWS_BEATS = {name for name, view in DETECTORS.items() if facts_read(view) & QUIET}
LISTS = ("groups", "rebalances", *(name for name in DETECTORS if name not in {*_FOLLOWS_BEATS, *LAG_LISTS}))
"""Those which only a change of membership or state alters."""
BEAT_LISTS = ("heartbeat_slack", *(name for name in DETECTORS if name in _FOLLOWS_BEATS - set(LAG_LISTS)))
"""Those that heartbeats and commits alter too."""
ALL_LISTS = LISTS + BEAT_LISTS + LAG_LISTS
ROWS_KEPT = {
    "lag_history": "QUALIFY coalesce(lead(from_at) OVER (PARTITION BY group_id, topic ORDER BY from_at), from_at) "
    "> max(from_at) OVER (PARTITION BY group_id) - INTERVAL 1 HOUR OR lead(from_at) OVER "
    "(PARTITION BY group_id, topic ORDER BY from_at) IS NULL"
}
"""Which rows of a list are kept, where not all are: of lag those of a group's last hour, and what it was before."""


@dataclass
class ReadyLists:
    """Lists that are kept ready, and the groups for which they are to be made again."""

    names: Sequence[str]
    rest_factor: float
    due: set[str] | None = field(default_factory=set)
    """None: all."""
    rests_until: float = 0.0
    """On the monotonic clock."""

    def add(self, groups: Collection[str]) -> None:
        if self.due is not None:
            self.due |= set(groups)

    def rest_after(self, took_s: float) -> None:
        self.due = set()
        self.rests_until = time.monotonic() + took_s * self.rest_factor

    @property
    def is_due(self) -> bool:
        return self.due != set() and time.monotonic() >= self.rests_until


def kept_lists() -> tuple[ReadyLists, ReadyLists, ReadyLists]:
    """LISTS, BEAT_LISTS and LAG_LISTS."""
    return (
        ReadyLists(LISTS, REST_FACTOR),
        ReadyLists(BEAT_LISTS, BEAT_REST_FACTOR),
        ReadyLists(LAG_LISTS, LAG_REST_FACTOR),
    )
