"""How well the baseline, the past played with nothing changed, equals what was recorded: a what-if is only as good.

Knows outcomes; knows no past.
"""

from __future__ import annotations

from dataclasses import dataclass

from whatif.outcome import Begun, Outcome

GOOD_STOPPED = 0.25
"""Member-seconds stopped that part by more than this share of the larger are called different."""
STOPPED_MARGIN_MS = 3000
"""And by more than one heartbeat of most clients: where in its rhythm a member hears of a rebalance is chance."""


@dataclass(frozen=True, slots=True)
class Fidelity:
    """recorded, played: how many rebalances began. matched: how many of them are the same by cause, culprit and order.

    Of the join phases that ended and the member-ms stopped, recorded and played.
    """

    recorded: int
    played: int
    matched: int
    generations: tuple[int, int]
    stopped_member_ms: tuple[int, int]

    @property
    def share(self) -> float:
        """1 where every recorded rebalance came again and no other did."""
        most = max(self.recorded, self.played)
        return self.matched / most if most else 1.0

    @property
    def has_same_rebalances(self) -> bool:
        return self.matched == self.recorded == self.played and self.generations[0] == self.generations[1]

    @property
    def is_stopped_alike(self) -> bool:
        recorded, played = self.stopped_member_ms
        parted_ms = abs(recorded - played)
        return parted_ms <= max(STOPPED_MARGIN_MS * max(1, self.recorded), GOOD_STOPPED * max(recorded, played))


def fidelity_of(recorded: Outcome, played: Outcome) -> Fidelity:
    """The baseline of one group held against its recording."""
    return Fidelity(
        recorded=recorded.rebalances,
        played=played.rebalances,
        matched=_in_common(recorded.begun, played.begun),
        generations=(recorded.generations, played.generations),
        stopped_member_ms=(recorded.stopped_member_ms, played.stopped_member_ms),
    )


def _in_common(one: list[Begun], other: list[Begun]) -> int:
    """The length of the longest story that both tell, in order: a cause and whose doing it was at a time."""
    lengths = [0] * (len(other) + 1)
    for mine in one:
        before = lengths[:]
        for i, theirs in enumerate(other, 1):
            is_same = (mine.cause, mine.client_id) == (theirs.cause, theirs.client_id)
            lengths[i] = before[i - 1] + 1 if is_same else max(before[i], lengths[i - 1])
    return lengths[-1]
