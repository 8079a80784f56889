"""The connection to the broker that a client believes to speak to.

Answers of any length pass through in pieces. While the client cannot take more, or waits for an earlier answer, the
broker is read no further. Knows frames and their order; knows no API.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from typing import NamedTuple, Protocol

from gateway.answer_queue import Slot
from gateway.settings import Address
from gateway.upstream.entrance import PATIENCE_S, Entrance, NotLetIn, next_of
from gateway.wire.codec import Head, WireError
from gateway.wire.frames import LENGTH_BYTES, FrameCutter, FrameError

HELD_BYTES = 262_144
"""The most bytes of answers that wait for their turn before the broker is read no further."""
REWRITTEN_MAX_BYTES = 67_108_864
_CORRELATION_ID_BYTES = 4
_ANSWER_MAX_BYTES = 2**31 - 1


class Passed(NamedTuple):
    """A request that was passed on and is to be answered."""

    slot: Slot
    head: Head
    is_rewritten: bool
    """Whether its answer names brokers or versions."""


class ClientHalf(Protocol):
    """What a link needs of the client's half."""

    @property
    def is_client_full(self) -> bool: ...
    def is_first(self, slot: Slot) -> bool: ...
    def write(self, part: bytes) -> None: ...
    def first_is_sent(self) -> None: ...
    @property
    def rewritten_bytes(self) -> int:
        """How long the answer is that is being rewritten, 0: none is."""

    def rewrite(self, passed: Passed, frame: bytes) -> None: ...
    def hold(self, held_bytes: int) -> None: ...
    def lose(self, why: str) -> None: ...
    def go_on(self) -> None: ...


class Link(asyncio.Protocol):
    """Connects when it is made; sends what it is given once it is connected and let in."""

    def __init__(self, client: ClientHalf, address: Address, entrance: Entrance) -> None:
        self._client = client
        self._cutter = FrameCutter(_ANSWER_MAX_BYTES)
        self._awaited: deque[Passed] = deque()
        self._unsent: list[bytes] = []
        self._transport: asyncio.Transport | None = None
        self._entering: asyncio.Transport | None = None
        self._conversation = entrance.conversation()
        self._left = 0
        """How many bytes of the answer that is being passed back are still to come."""
        self._is_write_paused = False
        self._is_reading_paused = False
        self._is_working = False
        self._is_closed = False
        loop = asyncio.get_running_loop()
        self._connecting = loop.create_task(self._connect(loop, address, entrance.tls))
        self._patience = loop.call_later(PATIENCE_S, self._run_out_of_patience)

    async def _connect(self, loop: asyncio.AbstractEventLoop, address: Address, tls: ssl.SSLContext | None) -> None:
        try:
            await loop.create_connection(lambda: self, *address, ssl=tls)
        except (OSError, ValueError, OverflowError) as error:
            # The latter two: an address that is none.
            self._client.lose(str(error))

    def _run_out_of_patience(self) -> None:
        self.close()
        self._client.lose(f"does not let the gateway in within {PATIENCE_S:g} s")

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
        self._entering = transport
        self._say(next(self._conversation, None))

    def _say(self, request: bytes | None) -> None:
        """The next request of the conversation; None: the gateway is in, and what waits is sent."""
        assert self._entering is not None
        if request is not None:
            self._entering.write(request)
            return
        self._patience.cancel()
        self._transport, self._entering = self._entering, None
        self._transport.writelines(self._unsent)
        self._unsent.clear()
        self._client.go_on()

    def _hear(self) -> None:
        try:
            while self._entering is not None and (frame := self._cutter.take()) is not None:
                self._say(next_of(self._conversation, frame))
        except (NotLetIn, WireError, FrameError) as error:
            # Closed first, or bytes that still come could be taken for the end of the conversation.
            self.close()
            self._client.lose(str(error))

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
        if self._entering is not None:
            self._hear()
        self.work()

    def work(self) -> None:
        """Passes back what is there and whose turn it is."""
        if self._is_working or self._is_closed or self._transport is None:
            return
        self._is_working = True
        try:
            while self._pass_back():
                pass
        except FrameError as error:
            self._client.lose(str(error))
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
        if not self._client.is_first(awaited.slot):
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
        part = b"" if self._client.is_client_full else self._cutter.take_part(self._left)
        if part:
            self._client.write(part)
            self._left -= len(part)
        if self._left:
            return bool(part)
        self._client.first_is_sent()
        return True

    def _pass_whole(self, awaited: Passed, length: int) -> bool:
        if length > REWRITTEN_MAX_BYTES:
            raise FrameError(f"an answer of {length} bytes is too long to be rewritten")
        # One at a time, for each takes far more room than its bytes.
        frame = None if self._client.rewritten_bytes or self._client.is_client_full else self._cutter.take()
        if frame is None:
            return False
        self._awaited.popleft()
        self._client.rewrite(awaited, frame)
        return True

    def _regulate_reading(self) -> None:
        if self._transport is None or self._is_closed:
            return
        held_bytes, rewritten_bytes = self._cutter.held_bytes, self._client.rewritten_bytes
        is_next_rewritten = bool(self._awaited) and self._awaited[0].is_rewritten and not self._left
        waits_for_more = is_next_rewritten and not (rewritten_bytes or self._client.is_client_full)
        self._client.hold(rewritten_bytes + (held_bytes if waits_for_more else 0))
        is_held = held_bytes > HELD_BYTES and not waits_for_more
        if is_held and not self._is_reading_paused:
            self._transport.pause_reading()
        elif not is_held and self._is_reading_paused:
            self._transport.resume_reading()
        self._is_reading_paused = is_held

    # ------------------------------------------------------------ the end

    def connection_lost(self, error: Exception | None) -> None:
        if not self._is_closed:
            self._client.lose("the broker ended the connection")

    def close(self) -> None:
        """Ends it because the client's half has ended."""
        self._is_closed = True
        self._patience.cancel()
        self._connecting.cancel()
        self._cutter.clear()
        self._unsent.clear()
        for transport in (self._entering, self._transport):
            if transport is not None:
                transport.abort()
