"""Things in order of a number: of several files by time, and a list that stays in order while it grows.

Knows keys; knows nothing of the things.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from typing import Generic, TypeVar

T = TypeVar("T")


def in_time(files: Iterable[tuple[int, Iterator[T]]], time_of: Callable[[T], int]) -> Iterator[tuple[int, T]]:
    """The things of several files by time, those of each in its order, each with its time.

    A thing that is earlier than one above it in its file counts as that late; of one time those of earlier files come
    first. files: each with a time that nothing in it is before. A file is begun when its time is reached, so a month of
    rotated files has few open at once.
    """
    waiting = deque(sorted(((from_ms, number, left) for number, (from_ms, left) in enumerate(files))))
    begun: list[tuple[int, int, T, Iterator[T]]] = []
    while waiting or begun:
        if waiting and (not begun or waiting[0][0] <= begun[0][0]):
            at_ms, number, left = waiting.popleft()
        else:
            at_ms, number, thing, left = heappop(begun)
            yield at_ms, thing
        for thing in left:
            heappush(begun, (max(at_ms, time_of(thing)), number, thing, left))
            break


class InOrder(Generic[T]):
    """Things in the order of a number each; equal ones in the order in which they were added."""

    def __init__(self, key: Callable[[T], float]) -> None:
        self._key = key
        self._held: list[T] = []
        self._added: list[T] = []

    def add(self, item: T) -> None:
        """Adds one, nearly always behind those that are held."""
        self._added.append(item)

    def take_before(self, bound: float, at_most: int | None = None) -> list[T]:
        """Takes all that are below the bound, in order, or the first of them."""
        held, added, key = self._held, self._added, self._key
        if added:
            added.sort(key=key)
            tail = bisect_right(held, key(added[0]), key=key)
            held[tail:] = sorted(held[tail:] + added, key=key)
            added.clear()
        count = bisect_left(held, bound, key=key)
        if at_most is not None:
            count = min(count, at_most)
        taken = held[:count]
        del held[:count]
        return taken
