"""Time that passes only when everything due has been done.

Knows nothing of what is due. At the same moment a deadline of the coordinator comes last, as it does in the coordinator
itself: a tie goes to the request.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

ORDINARY, DEADLINE = 0, 1

_Entry = tuple[int, int, int, Callable[..., None], tuple[Any, ...]]


class VirtualTime:
    """Actions in order of their times."""

    def __init__(self) -> None:
        self.now_ms = 0
        """The time of the action that is being done."""
        self._due: list[_Entry] = []
        self._order = 0

    def at(self, at_ms: int, action: Callable[..., None], *arguments: Any, rank: int = ORDINARY) -> None:
        """Has an action done at at_ms, now at the earliest; of the same time, the first one planned comes first."""
        self._order += 1
        heapq.heappush(self._due, (max(at_ms, self.now_ms), rank, self._order, action, arguments))

    def run_until(self, until_ms: int) -> None:
        """Does everything due up to and at until_ms, which it is afterwards."""
        while self._due and self._due[0][0] <= until_ms:
            self.now_ms, _, _, action, arguments = heapq.heappop(self._due)
            action(*arguments)
        self.now_ms = max(self.now_ms, until_ms)
