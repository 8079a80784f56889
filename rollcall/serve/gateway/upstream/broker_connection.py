"""The connection to the broker that a client believes it is connected to.

Answers of any length pass through in pieces, but not before everything that the client asked earlier has been answered;
those that name brokers are rewritten first. While the client cannot take more, or waits for an earlier answer, the
broker is read no further. Knows frames and their order; knows no API.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import NamedTuple

from rollcall.serve.gateway.answering import Client, Slot
from rollcall.serve.gateway.upstream.upstream_client import LOGIN_WITHIN_S, UpstreamLogin
from rollcall.serve.gateway.wire.codec import LENGTH_BYTES, FrameCutter, FrameError, RequestHeader
from rollcall.serve.listeners.addresses import Address

HELD_BYTES = 262_144
"""The most bytes of answers that wait for their turn before the broker is read no further."""
REWRITTEN_MAX_BYTES = 67_108_864
_CORRELATION_ID_BYTES = 4
_ANSWER_MAX_BYTES = 2**31 - 1


class Passed(NamedTuple):
    """A request that was passed on and is to be answered."""

    slot: Slot
    head: RequestHeader
    is_rewritten: bool
    """Whether its answer names brokers or versions."""


Rewrite = Callable[[RequestHeader, bytes], Coroutine[None, None, bytes]]
"""Gives the answer to a request, its length first, from the upstream's without. Raises WireError and OSError."""


class BrokerConnection(asyncio.Protocol):
    """Connects when it is made; sends what it is given once it is connected and logged in, and answers the client."""

    def __init__(self, client: Client, address: Address, login: UpstreamLogin, rewrite: Rewrite) -> None:
        self._client = client
        self._address = address
        self._rewrite = rewrite
        self._rewriting: asyncio.Task[bytes] | None = None
        self._rewritten_bytes = 0
        """How long the answer is that is being rewritten, 0: none is."""
        self._cutter = FrameCutter(_ANSWER_MAX_BYTES)
        self._awaited: deque[Passed] = deque()
        self._unsent: list[bytes] = []
        self._transport: asyncio.Transport | None = None
        """None: the connection is not made, or not logged in."""
        self._opened: asyncio.Transport | None = None
        self._login_answer: asyncio.Future[bytes] | None = None
        self._left = 0
        """How many bytes of the answer that is being passed back are still to come."""
        self._is_write_paused = False
        self._is_reading_paused = False
        self._is_working = False
        self._is_closed = False
        self._connecting = asyncio.get_running_loop().create_task(self._connect(login))

    async def _connect(self, login: UpstreamLogin) -> None:
        """Connects and logs in, then sends the requests that wait."""
        why = f"does not answer the login within {LOGIN_WITHIN_S:g} s"
        try:
            async with asyncio.timeout(LOGIN_WITHIN_S):
                loop = asyncio.get_running_loop()
                await loop.create_connection(lambda: self, *self._address, ssl=login.tls)
                await login.log_in(self._exchange)
        except (OSError, ValueError, OverflowError) as error:
            # The last two: a malformed address, or a malformed answer.
            self.close()
            self._lose(str(error) or why)
            return
        assert self._opened is not None
        self._transport = self._opened
        self._transport.writelines(self._unsent)
        self._unsent.clear()
        self._client.go_on()
        self.work()

    async def _exchange(self, request: bytes) -> bytes:
        """The answer to a request of the login."""
        assert self._opened is not None
        self._login_answer = asyncio.get_running_loop().create_future()
        self._opened.write(request)
        return await self._login_answer

    # ------------------------------------------------------------ requests

    @property
    def is_full(self) -> bool:
        """Whether the broker reads too slowly for more."""
        return self._is_write_paused or self._transport is None

    def send(self, frame: bytes, awaited: Passed | None) -> None:
        """A request without its length; awaited: whose answer it will be, None if it gets none."""
        if awaited is not None:
            self._awaited.append(awaited)
        framed = len(frame).to_bytes(LENGTH_BYTES, "big") + frame
        if self._transport is None:
            self._unsent.append(framed)
        else:
            self._transport.write(framed)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        if self._is_closed:
            transport.abort()
            return
        self._opened = transport

    def pause_writing(self) -> None:
        self._is_write_paused = True

    def resume_writing(self) -> None:
        self._is_write_paused = False
        self._client.go_on()

    # ------------------------------------------------------------ answers

    def data_received(self, data: bytes) -> None:
        if self._is_closed:
            return
        self._cutter.feed(data)
        if self._login_answer is not None and not self._login_answer.done():
            try:
                if (frame := self._cutter.take()) is not None:
                    self._login_answer.set_result(frame)
            except FrameError as error:
                self._login_answer.set_exception(error)
        self.work()

    def work(self) -> None:
        """Passes back the answers that are there and due."""
        if self._is_working or self._is_closed or self._transport is None:
            return
        self._is_working = True
        try:
            while self._pass_back():
                pass
        except FrameError as error:
            self._lose(str(error))
        finally:
            self._is_working = False
        self._regulate_reading()

    def _pass_back(self) -> bool:
        """One step; whether there may be another."""
        if self._left:
            return self._pass_part()
        length = self._cutter.next_length()
        if length is None:
            return False
        if not self._awaited:
            raise FrameError("an answer that nobody asked for")
        awaited = self._awaited[0]
        if not self._begins_answer(awaited, length):
            return False
        if awaited.is_rewritten:
            return self._pass_whole(awaited, length)
        if not self._client.answers.is_first(awaited.slot):
            return False
        self._awaited.popleft()
        self._left = LENGTH_BYTES + length
        return True

    def _begins_answer(self, awaited: Passed, length: int) -> bool:
        """Whether the beginning of an answer is there. Raises FrameError: it is the answer to another request."""
        if length < _CORRELATION_ID_BYTES:
            raise FrameError(f"an answer of {length} bytes")
        number = self._cutter.next_number()
        if number is not None and number != awaited.head.correlation_id:
            raise FrameError(f"an answer with correlation id {number} to {awaited.head.correlation_id}")
        return number is not None

    def _pass_part(self) -> bool:
        part = b"" if self._client.is_write_paused else self._cutter.take_part(self._left)
        if part:
            self._client.write(part)
            self._left -= len(part)
        if self._left:
            return bool(part)
        self._client.answers.first_is_sent()
        self._client.go_on()
        return True

    def _pass_whole(self, awaited: Passed, length: int) -> bool:
        if length > REWRITTEN_MAX_BYTES:
            raise FrameError(f"an answer of {length} bytes is too long to be rewritten")
        # One at a time, for each takes far more room than its bytes.
        frame = None if self._rewritten_bytes or self._client.is_write_paused else self._cutter.take()
        if frame is None:
            return False
        self._awaited.popleft()
        self._rewritten_bytes = length
        self._rewriting = asyncio.create_task(self._rewrite(awaited.head, frame))
        self._rewriting.add_done_callback(lambda done: self._rewritten(awaited.slot, done))
        return True

    def _rewritten(self, slot: Slot, done: asyncio.Task[bytes]) -> None:
        self._rewriting, self._rewritten_bytes = None, 0
        if done.cancelled():
            return
        error = done.exception()
        if self._client.is_ended:
            return
        if error is not None:
            self._lose(f"an answer cannot be rewritten: {error}")
            return
        self._client.answers.fill(slot, done.result())
        self._client.go_on()

    def _regulate_reading(self) -> None:
        if self._transport is None or self._is_closed:
            return
        held_bytes, rewritten_bytes = self._cutter.held_bytes, self._rewritten_bytes
        is_next_rewritten = bool(self._awaited) and self._awaited[0].is_rewritten and not self._left
        waits_for_more = is_next_rewritten and not (rewritten_bytes or self._client.is_write_paused)
        self._client.hold_answer(rewritten_bytes + (held_bytes if waits_for_more else 0))
        is_held = held_bytes > HELD_BYTES and not waits_for_more
        if is_held and not self._is_reading_paused:
            self._transport.pause_reading()
        elif not is_held and self._is_reading_paused:
            self._transport.resume_reading()
        self._is_reading_paused = is_held

    # ------------------------------------------------------------ the end

    def _lose(self, why: str) -> None:
        """The broker is gone, or its answer is malformed."""
        self._client.end("upstream", f"{self._address}: {why}")

    def connection_lost(self, error: Exception | None) -> None:
        if not self._is_closed:
            self._lose("the broker ended the connection")

    def close(self) -> None:
        self._is_closed = True
        self._connecting.cancel()
        if self._rewriting is not None:
            self._rewriting.cancel()
        self._cutter.clear()
        self._unsent.clear()
        if self._opened is not None:
            self._opened.abort()
