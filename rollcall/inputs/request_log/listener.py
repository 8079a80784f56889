"""Who takes what comes of a followed group: its requests in their final order, and their effects.

Knows the shapes; knows no line, no table and no rule of the protocol.
"""

from __future__ import annotations

from typing import Protocol

from rollcall.inputs.request_log.recorded import OrderedRequest
from rollcall.schemas.effects import Effect


class Listener(Protocol):
    """Takes a group's requests and effects, in order."""

    def take(self, ordered: OrderedRequest) -> None:
        """A request whose time and place are final, before its effects."""

    def take_effects(self, effects: list[Effect]) -> None:
        """The effects of a request or of a deadline."""

    def accept(self, beat: OrderedRequest) -> None:
        """A heartbeat whose only effect was an answer without an error."""


class Numbered:
    """Gives a group's requests their places among those of their millisecond, on their way to a listener."""

    def __init__(self, listener: Listener, at_ms: int = -1, seq: int = 0) -> None:
        """at_ms, seq: the time and the place of the last request."""
        self.at_ms, self.seq = at_ms, seq
        self.calls = 0
        """How often the listener was called."""
        self._listener = listener

    def take(self, ordered: OrderedRequest) -> None:
        self._number(ordered)
        self._listener.take(ordered)

    def take_effects(self, effects: list[Effect]) -> None:
        self.calls += 1
        self._listener.take_effects(effects)

    def accept(self, beat: OrderedRequest) -> None:
        self._number(beat)
        self._listener.accept(beat)

    def _number(self, ordered: OrderedRequest) -> None:
        self.calls += 1
        request = ordered.request
        self.seq = self.seq + 1 if request.received_at_ms == self.at_ms else 0
        self.at_ms, request.request_seq = request.received_at_ms, self.seq
