"""What a client's connection and whoever takes its requests need of each other.

Knows neither of them.
"""

from __future__ import annotations

from typing import Protocol

from gateway.answer_queue import AnswerQueue
from gateway.exchange import Caller


class Client(Protocol):
    """A client's connection, as those see it who take its requests."""

    caller: Caller
    answers: AnswerQueue

    @property
    def is_ended(self) -> bool:
        """Whether nothing can be sent any more."""

    @property
    def is_write_paused(self) -> bool:
        """Whether the client reads too slowly for more."""

    def write(self, part: bytes) -> None:
        """Sends bytes, which must be the first request's answer."""

    def hold_answer(self, held_bytes: int) -> None:
        """Notes how many bytes of an answer are kept that cannot be sent as they are, 0 for none."""

    def go_on(self) -> None:
        """Takes requests again, as far as the limits allow."""

    def end(self, reason: str, why: str = "") -> None:
        """Ends the connection. reason: one word for the metrics; why: for the log."""

    def fail(self, what: str) -> None:
        """Ends the connection for an error of the gateway's own, which is being handled; what: for the log."""


class RequestTaker(Protocol):
    """Takes the requests of one connection."""

    @property
    def request_max_bytes(self) -> int:
        """How long the next request may be."""

    @property
    def is_full(self) -> bool:
        """Whether it takes no more for now; it says `Client.go_on` when it does."""

    def take(self, frame: bytes) -> None:
        """One request without its length. Raises WireError: the connection ends."""

    def can_write(self) -> None:
        """The client reads again."""

    def lost(self) -> None:
        """The connection is gone."""
