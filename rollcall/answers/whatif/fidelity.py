"""How well the baseline equals the recording: a what-if is only as good as its run with nothing changed.

Knows outcomes; knows no schedule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rollcall.answers.whatif.outcome import Outcome

GOOD_STOPPED = 0.25
"""Stopped member-seconds count as different if they differ by more than this share of the larger and by more than the
margin below."""
STOPPED_MARGIN_MS = 3000
"""More than one heartbeat interval of most clients: a rebalance begins by chance anywhere between two heartbeats."""


@dataclass(frozen=True, slots=True)
class Fidelity:
    """One group's baseline beside its recording."""

    recorded: int
    """How many rebalances began in the recording."""
    played: int
    """How many rebalances began in the baseline."""
    matched: int
    """How many of them have the same cause, in the same order."""
    same_culprit: int
    """How many have the same cause and culprit; which of many members is first may be chance."""
    generations: tuple[int, int]
    """How many generations there were, recorded and played."""
    stopped_member_ms: tuple[int, int]
    """How long members were stopped in all, recorded and played."""

    @property
    def share(self) -> float:
        """The share of rebalances that match; 1 if exactly the recorded ones came again."""
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
    """The baseline of one group compared with its recording."""
    return Fidelity(
        recorded=recorded.rebalances,
        played=played.rebalances,
        matched=_in_common([each.cause for each in recorded.begun], [each.cause for each in played.begun]),
        same_culprit=_in_common(_culprits(recorded), _culprits(played)),
        generations=(recorded.generations, played.generations),
        stopped_member_ms=(recorded.stopped_member_ms, played.stopped_member_ms),
    )


def _culprits(outcome: Outcome) -> list[tuple[str, str]]:
    return [(each.cause, each.client_id) for each in outcome.begun]


def _in_common(one: Sequence[object], other: Sequence[object]) -> int:
    """The length of the longest common subsequence."""
    lengths = [0] * (len(other) + 1)
    for mine in one:
        before = lengths[:]
        for i, theirs in enumerate(other, 1):
            lengths[i] = before[i - 1] + 1 if mine == theirs else max(before[i], lengths[i - 1])
    return lengths[-1]
