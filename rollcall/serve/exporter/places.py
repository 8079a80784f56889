"""Which groups are exported by name, where there are more than may be, and the counters of those that are not.

Knows what makes a group worth a name. Must not know a metric.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from typing import NamedTuple

from rollcall.schemas.effect_names import EffectName
from rollcall.serve.exporter.history import ExportHistory
from rollcall.serve.exporter.labels import Labels
from rollcall.serve.exporter.settings import ExportSettings, chosen_groups
from rollcall.serve.page.lists import counts_now

BUSY_MS = 3_600_000
"""A group is busy for this long after a commit, a rebalance, or a member that joined or left."""
_BUSY = (
    EffectName.MEMBER_JOINED,
    EffectName.MEMBER_REMOVED,
    EffectName.OFFSETS_COMMITTED,
    EffectName.REBALANCE_ENDED,
    EffectName.REBALANCE_STARTED,
)

Amount = tuple[str, Labels, float]
"""A group, the other labels, and a value."""


class Chosen(NamedTuple):
    """The groups that are exported by name, those that are summed, and all that were there so far."""

    named: Set[str] = frozenset()
    summed: Set[str] = frozenset()
    seen: Set[str] = frozenset()

    def has(self, group_id: str) -> bool:
        """Return True if a group is exported."""
        return group_id in self.named or group_id in self.summed

    def name_of(self, group_id: str) -> str | None:
        """Return the name under which a group is exported; None: it is summed."""
        return group_id if group_id in self.named else None

    def moves_since(self, earlier: Chosen) -> Mapping[str, int]:
        """Return the groups that have left the sum (1), and the groups known before that have come to it (-1)."""
        left = dict.fromkeys(earlier.summed - self.summed, 1)
        return left | dict.fromkeys((self.summed - earlier.summed) & earlier.seen, -1)


def choose(history: ExportHistory, settings: ExportSettings, earlier: Chosen, now_ms: int) -> Chosen:
    """Return who has the places now. Raises duckdb.Error: the history cannot be read.

    A group qualifies if it is in trouble, has members or is busy. A group with a place keeps it as long as it
    qualifies, or nobody else needs it; but groups in trouble come first, so that nobody's busy groups hide another's
    trouble. A free place goes to the oldest group that qualifies.
    """
    condition, patterns = chosen_groups(settings.groups, settings.groups_excluded)
    in_order = (
        "SELECT group_id, member_count FROM all_groups "
        f"WHERE {condition} ORDER BY coalesce(created_at, found_at), group_id"
    )
    members = {row["group_id"]: row["member_count"] for row in history.all(in_order, patterns)}
    ranked = list(members)
    if len(ranked) > settings.groups_max:
        troubled = {row["group_id"] for row in counts_now(history, now_ms) if row["severity"] != "info"}
        qualified = troubled | history.groups_with(_BUSY, now_ms - BUSY_MS)

        def rank(group_id: str) -> tuple[bool, bool, bool]:
            qualifies = bool(members[group_id]) or group_id in qualified
            return not qualifies, group_id not in troubled, group_id not in earlier.named

        ranked.sort(key=rank)
    named = frozenset(ranked[: settings.groups_max])
    return Chosen(named, members.keys() - named, earlier.seen | members.keys())


class Counted:
    """The totals of one counter by their labels. None falls, whatever is found later and whichever groups move."""

    def __init__(self) -> None:
        self._totals: dict[Labels, float] = {}
        self._moved: defaultdict[Labels, float] = defaultdict(float)
        """What groups that left the sum had added to it, less what those that came had before."""
        self._chosen = Chosen()

    def totals(self, amounts: Iterable[Amount], chosen: Chosen) -> Mapping[Labels, float]:
        """Return the totals of all labels that have an amount now."""
        moves = chosen.moves_since(self._chosen)
        now: defaultdict[Labels, float] = defaultdict(float)
        for group_id, labels, amount in amounts:
            if group_id in moves:
                self._moved[None, *labels] += moves[group_id] * amount
            if chosen.has(group_id):
                now[chosen.name_of(group_id), *labels] += amount
        self._chosen = chosen
        for key, moved in self._moved.items():
            now[key] += moved
        for key, total in now.items():
            self._totals[key] = max(total, self._totals.get(key, 0.0))
        return {key: self._totals[key] for key in now}
