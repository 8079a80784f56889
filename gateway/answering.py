"""Takes a connection's requests and has each answered by the endpoint of its API.

Long requests are read, and long answers built, in a thread, so that other clients are served meanwhile; what stands
behind them on their connection waits. Knows heads, codecs and endpoints; knows no limit and no socket.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from gateway.answer_queue import Slot
from gateway.exchange import Answer, Ask, Building, Endpoint, Later
from gateway.fair_threads import FairThreads
from gateway.routing import Routing
from gateway.settings import Settings
from gateway.taking import Client
from gateway.wire.codec import Codec, WireError, codec, read_head

LONG_FRAME_BYTES = 4096
"""A longer request is read in a thread."""
LONG_ANSWER_ELEMENTS = 500
"""An answer of more elements is built in a thread."""


class Answering:
    """A request taker that answers every request itself. threads: for what would keep the loop too long."""

    is_full = False

    def __init__(self, client: Client, routing: Routing, threads: FairThreads, settings: Settings) -> None:
        self._client = client
        self._routing = routing
        self._threads = threads
        self._settings = settings

    @property
    def request_max_bytes(self) -> int:
        most = self._settings.request_max_bytes
        return most if self._client.caller.is_known else min(most, self._settings.authentication_request_max_bytes)

    def take(self, frame: bytes) -> None:
        client = self._client
        head = read_head(frame)
        endpoint, version = self._routing.endpoint(head, client.caller)
        spoken = codec(endpoint.api, version)
        is_long = len(frame) > LONG_FRAME_BYTES
        slot = client.answers.line_up(endpoint.api, len(frame), endpoint.holds or is_long)
        write = partial(spoken.write_response, head.correlation_id)
        if not is_long:
            self._ask(slot, endpoint, spoken, frame, _read(endpoint, spoken, frame), write)
            return
        reading = self._threads.run(client.caller.host, partial(_read, endpoint, spoken, frame))
        slot.waits_for = reading
        reading.add_done_callback(
            self._guarded(lambda done: self._ask(slot, endpoint, spoken, frame, done.result(), write))
        )

    def _ask(
        self,
        slot: Slot,
        endpoint: Endpoint,
        spoken: Codec,
        frame: bytes,
        read: tuple[str, Any],
        write: Callable[[Any], bytes],
    ) -> None:
        client_id, message = read
        self._give(slot, endpoint.answer(Ask(spoken, message, frame, client_id, self._client.caller)), write)

    def _give(self, slot: Slot, answer: Answer, write: Callable[[Any], bytes]) -> None:
        if isinstance(answer, Later):
            slot.waits_for = answer.future
            answer.future.add_done_callback(self._guarded(lambda done: self._build(slot, answer.response(done), write)))
        elif isinstance(answer, Building):
            self._build(slot, answer, write)
        else:
            self._client.answers.fill(slot, write(answer))

    def _build(self, slot: Slot, answer: Building, write: Callable[[Any], bytes]) -> None:
        if answer.elements <= LONG_ANSWER_ELEMENTS:
            self._client.answers.fill(slot, write(answer.build()))
        else:
            self._client.answers.hold_behind(slot)
            building = self._threads.run(self._client.caller.host, lambda: write(answer.build()))
            slot.waits_for = building
            building.add_done_callback(self._guarded(lambda done: self._client.answers.fill(slot, done.result())))

    def _guarded(self, go_on: Callable[[asyncio.Future[Any]], None]) -> Callable[[asyncio.Future[Any]], None]:
        """What is done when a future is: nothing for a connection that has ended, and an error ends it."""

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

        return is_done

    def can_write(self) -> None:
        pass

    def lost(self) -> None:
        pass


def _read(endpoint: Endpoint, spoken: Codec, frame: bytes) -> tuple[str, Any]:
    """The client id and the message as the endpoint wants it. Raises WireError."""
    client_id, message = spoken.read_request(frame, endpoint.max_elements)
    return client_id or "", endpoint.read(spoken, message)
