"""Takes a connection's requests and has each answered by the endpoint of its API.

Knows heads, codecs and endpoints; knows no limit and no socket.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from gateway.answer_queue import Slot
from gateway.exchange import Ask, Later
from gateway.routing import Routing
from gateway.taking import Client
from gateway.wire.codec import codec, read_head


class Answering:
    """A request taker that answers every request itself."""

    def __init__(self, client: Client, routing: Routing, request_max_bytes: int) -> None:
        self._client = client
        self._routing = routing
        self.request_max_bytes = request_max_bytes

    @property
    def is_full(self) -> bool:
        return False

    def take(self, frame: bytes) -> None:
        client = self._client
        head = read_head(frame)
        endpoint, version = self._routing.endpoint(head, client.caller)
        spoken = codec(endpoint.api, version)
        slot = client.answers.line_up(endpoint.api, endpoint.holds)
        client_id, message = spoken.read_request(frame)
        answer = endpoint.answer(Ask(spoken, message, client_id or "", client.caller))
        write = partial(spoken.write_response, head.correlation_id)
        if isinstance(answer, Later):
            slot.answer = answer
            answer.future.add_done_callback(partial(self._answered, slot, answer, write))
        else:
            client.answers.fill(slot, write(answer))

    def _answered(self, slot: Slot, answer: Later, write: Callable[[Any], bytes], done: asyncio.Future[Any]) -> None:
        if done.cancelled():
            return
        if self._client.is_ended:
            # Retrieved, or asyncio logs that the exception never was.
            done.exception()
            return
        try:
            self._client.answers.fill(slot, write(answer.response(done)))
        except Exception:
            self._client.fail("an answer could not be sent")
        self._client.go_on()

    def can_write(self) -> None:
        pass

    def lost(self) -> None:
        pass
