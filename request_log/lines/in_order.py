"""A list that stays in order: later things are added at its end, earlier ones are taken from its front.

Knows keys; knows nothing of what it holds.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class InOrder(Generic[T]):
    """Things in the order of a number each; equal ones in the order in which they were added."""

    def __init__(self, key: Callable[[T], float]) -> None:
        self._key = key
        self._held: list[T] = []
        self._added: list[T] = []

    def add(self, item: T) -> None:
        """Adds one, nearly always behind those that are held."""
        self._added.append(item)

    def take_before(self, bound: float) -> list[T]:
        """Takes all that are below the bound, in order."""
        held, added, key = self._held, self._added, self._key
        if added:
            added.sort(key=key)
            tail = bisect_right(held, key(added[0]), key=key)
            held[tail:] = sorted(held[tail:] + added, key=key)
            added.clear()
        count = bisect_left(held, bound, key=key)
        taken = held[:count]
        del held[:count]
        return taken
