"""What a bench returns: a named figure and its goal.

Knows no layer of the project.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple


class Goal(NamedTuple):
    """A bound; sense is ">=" or "<="."""

    sense: str
    bound: float

    def holds(self, value: float) -> bool:
        return value >= self.bound if self.sense == ">=" else value <= self.bound

    def __str__(self) -> str:
        return f"{self.sense} {self.bound:g}" if abs(self.bound) < 10_000 else f"{self.sense} {self.bound:.0f}"


at_least, at_most = partial(Goal, ">="), partial(Goal, "<=")


class Anchor(NamedTuple):
    """The same thing measured in the same run of another program, to compare with."""

    value: float
    what: str
    """What was measured: `a real Kafka`, `the do-nothing pipeline`."""


class Figure(NamedTuple):
    """One thing measured."""

    name: str
    value: float
    unit: str
    goal: Goal | None = None
    """None for a figure that is only reported."""
    anchor: Anchor | None = None

    @property
    def holds(self) -> bool | None:
        return None if self.goal is None else self.goal.holds(self.value)


def quantiles(name: str, seconds: Sequence[float], p50: Goal | None = None, p99: Goal | None = None) -> list[Figure]:
    """The median and the 99th percentile of these seconds, in milliseconds."""
    inorder = sorted(seconds)
    middle, slow = inorder[len(inorder) // 2], inorder[len(inorder) * 99 // 100]
    return [Figure(f"{name}_p50", middle * 1000, "ms", p50), Figure(f"{name}_p99", slow * 1000, "ms", p99)]


def readable(value: float) -> str:
    """A value as people read it: 12,345 and 0.123."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


BenchFunction = Callable[[], Figure | Iterable[Figure]]

_MARK = "is_bench"


def bench(function: BenchFunction) -> BenchFunction:
    """Marks a function of a `bench_` module as a bench."""
    setattr(function, _MARK, True)
    return function


def is_bench(thing: object) -> bool:
    return callable(thing) and getattr(thing, _MARK, False) is True
