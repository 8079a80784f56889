"""Takes a connection's requests and has each answered by the endpoint of its API.

Answers are sent in the order of the requests, each once everything before it is answered. Long requests are read, and
long answers built, in a thread, so that other clients are served meanwhile; later requests on the same connection wait.
Knows heads, codecs and endpoints; knows no limit and no socket.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any, NamedTuple, Protocol

from rollcall.schemas.shapes import Response
from rollcall.serve.gateway.exchange import Answer, Ask, Building, Caller, Endpoint, Later
from rollcall.serve.gateway.fair_threads import FairThreads
from rollcall.serve.gateway.routing import Routing
from rollcall.serve.gateway.settings import Settings
from rollcall.serve.gateway.wire.codec import (
    CORRELATION_ID_BYTES,
    HEAD_BYTES,
    LENGTH_BYTES,
    Codec,
    WireError,
    codec,
    read_head,
)
from rollcall.serve.gateway.wire.shaping import frame_of

_BEHIND_HEAD = LENGTH_BYTES + HEAD_BYTES
_BEFORE_CORRELATION_ID = _BEHIND_HEAD - CORRELATION_ID_BYTES
LONG_FRAME_BYTES = 4096
"""A longer request is read in a thread."""
LONG_ANSWER_ELEMENTS = 500
"""An answer of more elements is built in a thread."""


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


class Client(Protocol):
    """A client's connection, as `Answering` sees it."""

    caller: Caller
    answers: AnswerQueue
    is_ended: bool
    """Whether nothing can be sent any more."""
    is_write_paused: bool
    """Whether the client reads too slowly for more."""

    def write(self, part: bytes) -> None:
        """Sends bytes, which must be the first request's answer."""

    def hold_answer(self, held_bytes: int) -> None:
        """Notes how many bytes of an answer are kept that cannot be sent as they are, 0 for none."""

    def go_on(self) -> None:
        """Takes requests again, as far as the limits allow."""

    def end(self, reason: str, why: str = "") -> None:
        """Ends the connection. reason: the label in the metrics; why: for the log."""

    def fail(self, what: str) -> None:
        """Ends the connection for an error of the gateway's own, which is being handled; what: for the log."""


class _Repeated(NamedTuple):
    """The last request of an endpoint whose requests are repeated."""

    beginning: bytes
    """From its length up to its correlation id."""
    behind: bytes
    """What is behind its head."""
    endpoint: Endpoint
    ask: Ask
    slot: Slot
    """For a request that is answered at once, and is in no queue."""


class Answering:
    """Takes the requests of one connection. threads: for what would keep the loop too long."""

    def __init__(self, client: Client, routing: Routing, threads: FairThreads, settings: Settings) -> None:
        self._client = client
        self._routing = routing
        self._threads = threads
        self._settings = settings
        self._repeated: _Repeated | None = None

    @property
    def is_full(self) -> bool:
        """Whether it takes no more for now; it calls `Client.go_on` when it does."""
        return False

    @property
    def request_max_bytes(self) -> int:
        """How long the next request may be."""
        most = self._settings.socket_request_max_bytes
        return most if self._client.caller.is_known else min(most, self._settings.authentication_request_max_bytes)

    def take(self, frame: bytes) -> None:
        """One request without its length. Raises WireError: the connection ends."""
        client = self._client
        head = read_head(frame)
        endpoint, version = self._routing.endpoint(head, client.caller)
        spoken, correlation_id = codec(endpoint.api, version), head.correlation_id
        is_long = len(frame) > LONG_FRAME_BYTES
        slot = client.answers.line_up(endpoint.api, len(frame), endpoint.holds or is_long)
        if not is_long:
            read = self._read_once if endpoint.is_repeated else _read
            self._answer(slot, correlation_id, endpoint, read(endpoint, spoken, frame, client.caller))
            return
        reading = self._threads.run(client.caller.host, partial(_read, endpoint, spoken, frame, client.caller))
        self._await(slot, reading, lambda done: self._answer(slot, correlation_id, endpoint, done.result()))

    def take_again(self, data: bytes) -> bool:
        """Takes bytes that are, but for the correlation id, the last repeated request; False: they are others.

        No earlier request may be unanswered.
        """
        before = self._repeated
        if before is None or data[_BEHIND_HEAD:] != before.behind or data[:_BEFORE_CORRELATION_ID] != before.beginning:
            return False
        slot, asked_at, ask = before.slot, monotonic(), before.ask
        correlation_id = int.from_bytes(data[_BEFORE_CORRELATION_ID:_BEHIND_HEAD], signed=True)
        answer = before.endpoint.answer(ask)
        if isinstance(answer, Response):
            slot.asked_at = asked_at
            self._client.write(frame_of(ask.codec, correlation_id, answer))
            self._client.answers.when_answered(slot)
        else:
            slot = self._client.answers.line_up(slot.api, slot.size_bytes, slot.holds)
            self._go_on_with(answer, slot, correlation_id, ask.codec)
        return True

    def _read_once(self, endpoint: Endpoint, spoken: Codec, frame: bytes, caller: Caller) -> Ask:
        """As `_read`; a request that is the one before, but for its correlation id, is not read again."""
        behind, before = frame[HEAD_BYTES:], self._repeated
        if before is None or before.behind != behind or before.ask.codec is not spoken:
            ask = _read(endpoint, spoken, frame, caller)
            beginning = len(frame).to_bytes(LENGTH_BYTES) + frame[: HEAD_BYTES - CORRELATION_ID_BYTES]
            slot = Slot(endpoint.api, 0.0, len(frame), endpoint.holds)
            self._repeated = before = _Repeated(beginning, behind, endpoint, ask, slot)
        return before.ask

    def _answer(self, slot: Slot, correlation_id: int, endpoint: Endpoint, ask: Ask) -> None:
        self._go_on_with(endpoint.answer(ask), slot, correlation_id, ask.codec)

    def _go_on_with(self, answer: Answer, slot: Slot, correlation_id: int, spoken: Codec) -> None:
        if isinstance(answer, Later):
            built = answer.response
            self._await(slot, answer.future, lambda done: self._build(slot, correlation_id, spoken, built(done)))
        elif isinstance(answer, Building):
            self._build(slot, correlation_id, spoken, answer)
        else:
            self._client.answers.fill(slot, frame_of(spoken, correlation_id, answer))

    def _build(self, slot: Slot, correlation_id: int, spoken: Codec, answer: Building) -> None:
        def written() -> bytes:
            return frame_of(spoken, correlation_id, answer.build())

        if answer.elements <= LONG_ANSWER_ELEMENTS:
            self._client.answers.fill(slot, written())
        else:
            self._client.answers.hold_behind(slot)
            building = self._threads.run(self._client.caller.host, written)
            self._await(slot, building, lambda done: self._client.answers.fill(slot, done.result()))

    def _await(self, slot: Slot, future: asyncio.Future[Any], go_on: Callable[[asyncio.Future[Any]], None]) -> None:
        """Goes on with a future of a request once it is done, if the connection lasts; an error ends the connection."""

        def is_done(done: asyncio.Future[Any]) -> None:
            if done.cancelled():
                return
            if self._client.is_ended:
                # Retrieved, or asyncio logs that the exception never was.
                done.exception()
                return
            try:
                go_on(done)
            except WireError as error:
                self._client.end("request", str(error))
            except Exception:
                self._client.fail("a request could not be answered")
            if (failed := done.exception()) is not None:
                # Its frames hold the request, and this future, which holds it: only the collector would free them.
                failed.__traceback__ = None
            self._client.go_on()

        slot.waits_for = future
        future.add_done_callback(is_done)

    def can_write(self) -> None:
        """The client reads again."""

    def lost(self) -> None:
        """The connection is gone."""


def _read(endpoint: Endpoint, spoken: Codec, frame: bytes, caller: Caller) -> Ask:
    """A request with the message as the endpoint wants it. Raises WireError."""
    client_id, message = spoken.read_request(frame, endpoint.max_elements)
    return Ask(spoken, endpoint.read(spoken, message), frame, client_id or "", caller)
