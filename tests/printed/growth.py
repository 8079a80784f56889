"""How many times as long some work takes for more text: what is linear takes TIMES as long for TIMES as much."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

TIMES = 4
"""How much more is read the second time."""
AT_MOST = 2 * TIMES
"""Times the cost: linear work costs TIMES as much, quadratic work TIMES as much as that."""
_TOO_QUICK_S = 0.0005
_LONG_ENOUGH_S = 2.0


def _cost_s(work: Callable[[], object]) -> float:
    """Return the least processor time of three runs."""
    costs = []
    for _ in range(3):
        gc.collect(0)
        gc.disable()
        before = time.process_time()
        work()
        costs.append(time.process_time() - before)
        gc.enable()
        if not _TOO_QUICK_S < costs[-1] < _LONG_ENOUGH_S:
            break
    return min(costs)


def growth(work: Callable[[Any], object], text_of: Callable[[int], Any], length: int) -> float:
    """Return how many times the cost is for TIMES the text; in doubt, tell by longer texts."""
    while True:
        short, long = text_of(length), text_of(TIMES * length)
        cost_s = _cost_s(lambda: work(long))  # noqa: B023
        found = cost_s / max(_cost_s(lambda: work(short)), 1e-6) if cost_s > _TOO_QUICK_S else 0  # noqa: B023
        if found <= AT_MOST or cost_s > _LONG_ENOUGH_S:
            return found
        length *= 2
