"""The answers of one connection in the order of its requests, each sent once everything before it is answered.

Knows order; knows no API, no socket and no limit.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(slots=True, eq=False)
class Slot:
    """A request's place in the order of answers."""

    api: str
    asked_at: float
    size_bytes: int
    holds: bool
    """Whether the requests behind it wait until it is answered."""
    frame: bytes | None = None
    """Its answer, once that is known."""
    waits_for: asyncio.Future[Any] | None = None
    """What its answer waits for; cancelled if the connection ends before."""


class AnswerQueue:
    """The slots of the requests that are not answered yet, the oldest first."""

    def __init__(self, clock: Callable[[], float], write: Callable[[bytes], None]) -> None:
        self._clock = clock
        self._write = write
        self._slots: deque[Slot] = deque()
        self._is_closed = False
        self.is_held = False
        """Whether a request that holds those behind it is unanswered."""
        self.asked_bytes = 0
        """Bytes of all unanswered requests together."""
        self.when_answered: Callable[[Slot], None] = lambda slot: None
        """Called for each request when its answer has been written."""
        self.when_advanced: Callable[[], None] = lambda: None
        """Called when every answer that could be sent has been sent."""

    def __len__(self) -> int:
        return len(self._slots)

    def line_up(self, api: str, size_bytes: int, holds: bool = False) -> Slot:
        """A slot behind all others for a request of this length."""
        slot = Slot(api, self._clock(), size_bytes, holds)
        self._slots.append(slot)
        self.asked_bytes += size_bytes
        self.is_held = holds
        return slot

    def hold_behind(self, slot: Slot) -> None:
        """Lets nothing more be taken until a request is answered."""
        slot.holds = self.is_held = True

    def is_first(self, slot: Slot) -> bool:
        """Whether a request is the oldest unanswered one."""
        return bool(self._slots) and self._slots[0] is slot

    def fill(self, slot: Slot, frame: bytes) -> None:
        """Gives a request its answer, and sends what can be sent."""
        slot.frame = frame
        self._advance()

    def first_is_sent(self) -> None:
        """Removes the first request, whose answer has been written elsewhere; does nothing if the queue has been
        closed."""
        if not self._is_closed:
            self._leave()
            self._advance()

    def close(self) -> None:
        """Sends nothing more, and waits for nothing more."""
        self._is_closed = True
        for slot in self._slots:
            if slot.waits_for is not None:
                slot.waits_for.cancel()
        self._slots.clear()

    def _advance(self) -> None:
        while self._slots and not self._is_closed:
            frame = self._slots[0].frame
            if frame is None:
                break
            self._write(frame)
            self._leave()
        self.when_advanced()

    def _leave(self) -> None:
        slot = self._slots.popleft()
        self.asked_bytes -= slot.size_bytes
        self.is_held = self.is_held and (not slot.holds or any(waiting.holds for waiting in self._slots))
        self.when_answered(slot)
