"""Whether what was measured stays as it was: each figure at the end beside what it was once all had settled.

Knows samples by their figures' names; must not know how they were taken.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pictures.scene import Curve, Curves, colour_of

SETTLED_AFTER, COMPARED_FOR = 1 / 6, 1 / 12
"""Of the whole time: of two hours twenty minutes, and ten minutes then and at the end."""
BOUND = 1.2
GROWS_WITH_HISTORY = ("so far", "rows ")
"""Figures whose names have this count what was done; nothing is held against them."""


class Compared(NamedTuple):
    """A figure: its median once all had settled, and at the end."""

    name: str
    settled: float
    end: float

    @property
    def times(self) -> float:
        return self.end / self.settled if self.settled else 1.0

    @property
    def holds(self) -> bool | None:
        """None for one that only counts."""
        return None if is_count(self.name) else self.times <= BOUND


def is_count(name: str) -> bool:
    return any(part in name for part in GROWS_WITH_HISTORY)


def compared(samples: Sequence[Mapping[str, float]]) -> list[Compared]:
    """Every figure but the time itself. samples: at equal distances, from the beginning to the end.

    A figure that is in none of the samples that are compared is nan there, and does not hold.
    """
    first = round(len(samples) * SETTLED_AFTER)
    count = max(1, round(len(samples) * COMPARED_FOR))

    def middle(name: str, some: Sequence[Mapping[str, float]]) -> float:
        there = [sample[name] for sample in some if name in sample]
        return statistics.median(there) if there else math.nan

    return [
        Compared(name, middle(name, samples[first : first + count]), middle(name, samples[-count:]))
        for name in dict.fromkeys(name for sample in samples for name in sample)
        if name != "minutes"
    ]


def picture(samples: Sequence[Mapping[str, float]]) -> Curves:
    """Each figure over time, by what it was once all had settled."""
    measured = [each for each in compared(samples) if not is_count(each.name) and each.settled > 0]
    curves = [
        Curve(
            each.name,
            [(sample["minutes"], sample[each.name] / each.settled) for sample in samples if each.name in sample],
            colour_of(place),
        )
        for place, each in enumerate(measured)
    ]
    return Curves(
        "What a home's programs use over time",
        "minutes",
        "times of what it was once all had settled",
        curves,
        is_time=False,
        levels={f"{BOUND} times": BOUND},
    )
