"""One client's TCP connection: frames in, answers out in the order of the requests, and no client a burden to others.

A JoinGroup, SyncGroup or Fetch holds what stands behind it until it is answered, as with Kafka; other requests are
asked at once, so that a pipeline of heartbeats costs one wait. A client with too many requests unanswered or too many
answers unread is read no further, one that reads nothing for long is cut off, and what is no request ends the
connection without a word, as with Kafka.

Knows bytes, order and limits; knows no API but by its endpoint.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from gateway.exchange import Ask, Caller, Later
from gateway.service import Service
from gateway.wire.codec import WireError, codec, read_head
from gateway.wire.frames import FrameCutter, FrameError

log = logging.getLogger("gateway")

REQUESTS_A_TURN = 50
"""After so many requests of one connection the others have their turn."""
HELD_BYTES = 65_536
"""So much may wait unread behind a held request before the client is read no further."""
SEND_HIGH_WATER_BYTES = 262_144
_LEVELS = {"idle": logging.DEBUG, "shutdown": logging.DEBUG}


class Slot:
    """A request's place in the order of answers: `frame` is its answer, once that is known."""

    __slots__ = ("answer", "api", "asked_at", "frame", "holds")

    def __init__(self, api: str, asked_at: float, holds: bool = False) -> None:
        self.api = api
        self.asked_at = asked_at
        self.holds = holds
        self.frame: bytes | None = None
        self.answer: Later | None = None


class Connection(asyncio.Protocol):
    """Reads requests, keeps the order of their answers."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._settings = service.settings
        self._loop = asyncio.get_running_loop()
        self._cutter = FrameCutter(self._settings.request_max_bytes)
        self._slots: deque[Slot] = deque()
        self._is_holding = False
        self._is_write_paused = False
        self._is_reading_paused = False
        self._is_turn_due = False
        self._is_ended = False
        self._unread_bytes = 0
        self._unread_since = 0.0
        self.opened_at = self.heard_at = self._loop.time()
        self.caller = Caller("", "", ("", 0))

    # ------------------------------------------------------------ asyncio's calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        host, port = transport.get_extra_info("peername")[:2]
        reached_at = transport.get_extra_info("sockname")[:2]
        self.caller = Caller(self._service.connection_id(f"{host}:{port}"), f"/{host}", reached_at)
        self.remote_host = host
        self.certificate = transport.get_extra_info("peercert")
        transport.set_write_buffer_limits(high=SEND_HIGH_WATER_BYTES)
        refused = self._service.opened(self)
        if refused:
            self._end("limit", refused)

    def data_received(self, data: bytes) -> None:
        if self._is_ended:
            return
        self.heard_at = self._loop.time()
        self._cutter.feed(data)
        self._work()

    def pause_writing(self) -> None:
        self._is_write_paused = True

    def resume_writing(self) -> None:
        self._is_write_paused = False
        self._work()

    def connection_lost(self, error: Exception | None) -> None:
        self._is_ended = True
        for slot in self._slots:
            if slot.answer is not None:
                slot.answer.future.cancel()
        self._slots.clear()
        self._service.closed(self)

    # ------------------------------------------------------------ requests

    def _may_take(self) -> bool:
        return not (
            self._is_ended
            or self._is_holding
            or self._is_write_paused
            or len(self._slots) >= self._settings.max_in_flight
        )

    def _work(self) -> None:
        """Takes requests up to the limits of this connection and of this turn."""
        taken = 0
        while self._may_take():
            try:
                if taken == REQUESTS_A_TURN:
                    self._come_back()
                    break
                frame = self._cutter.take()
                if frame is None:
                    break
                taken += 1
                self._take(frame)
            except FrameError as error:
                self._end("frame", str(error))
            except WireError as error:
                self._end("request", str(error))
            except Exception:
                log.exception("%s: a request could not be answered", self.caller.connection_id)
                self._end("internal error")
        self._regulate_reading()

    def _come_back(self) -> None:
        if not self._is_turn_due:
            self._is_turn_due = True
            self._loop.call_soon(self._next_turn)

    def _next_turn(self) -> None:
        self._is_turn_due = False
        self._work()

    def _regulate_reading(self) -> None:
        if self._is_ended:
            return
        is_full = not self._may_take() and self._cutter.held_bytes > HELD_BYTES
        if is_full and not self._is_reading_paused:
            self._transport.pause_reading()
        elif not is_full and self._is_reading_paused:
            self._transport.resume_reading()
        self._is_reading_paused = is_full

    def _take(self, frame: bytes) -> None:
        head = read_head(frame)
        endpoint, version = self._service.endpoint(head, self.caller)
        spoken = codec(endpoint.api, version)
        slot = self._line_up(endpoint.api, endpoint.holds)
        client_id, message = spoken.read_request(frame)
        answer = endpoint.answer(Ask(spoken, message, client_id or "", self.caller))
        write = partial(spoken.write_response, head.correlation_id)
        if isinstance(answer, Later):
            slot.answer = answer
            answer.future.add_done_callback(partial(self._answered, slot, answer, write))
        else:
            self._fill(slot, write(answer))

    def _line_up(self, api: str, holds: bool = False) -> Slot:
        slot = Slot(api, self._loop.time(), holds)
        self._slots.append(slot)
        self._is_holding = holds
        return slot

    # ------------------------------------------------------------ answers

    def _answered(self, slot: Slot, answer: Later, write: Callable[[Any], bytes], done: asyncio.Future[Any]) -> None:
        if done.cancelled():
            return
        if self._is_ended:
            # Looked at, so that nobody says that nobody did.
            done.exception()
            return
        try:
            self._fill(slot, write(answer.response(done)))
        except Exception:
            log.exception("%s: an answer could not be sent", self.caller.connection_id)
            self._end("internal error")
        self._work()

    def _fill(self, slot: Slot, frame: bytes) -> None:
        slot.frame = frame
        self._advance()

    def _advance(self) -> None:
        """Sends every answer that nothing stands before."""
        while self._slots and not self._is_ended:
            slot = self._slots[0]
            if slot.frame is None:
                return
            self._transport.write(slot.frame)
            self._leave(slot)

    def _leave(self, slot: Slot) -> None:
        """The first in line has been answered."""
        self._slots.popleft()
        self._is_holding = self._is_holding and not slot.holds
        self._service.answered(slot.api, self._loop.time() - slot.asked_at)
        if self.caller.is_refused:
            self._end("authentication", "refused")
        elif self._transport.get_write_buffer_size() > self._settings.send_max_bytes:
            self._end("slow reader", "too many answers unread", at_once=True)

    # ------------------------------------------------------------ the end

    def check(self, now: float) -> None:
        """Ends the connection if it is idle, or if its client reads nothing. Called about once a second."""
        unread = self._transport.get_write_buffer_size()
        if unread == 0 or unread < self._unread_bytes or self._unread_bytes == 0:
            self._unread_since = now
        self._unread_bytes = unread
        if unread and (now - self._unread_since) * 1000 >= self._settings.send_timeout_ms:
            self._end("slow reader", "nothing read for too long", at_once=True)
        elif self._service.is_overdue(self, now):
            self._end("authentication", "not in time")
        elif not self._slots and not unread and (now - self.heard_at) * 1000 >= self._settings.max_idle_ms:
            self._end("idle")

    def close(self) -> None:
        """Ends the connection because the gateway does."""
        self._end("shutdown")

    def _end(self, reason: str, why: str = "", at_once: bool = False) -> None:
        """reason: one of frame, request, limit, authentication, slow reader, idle, internal error, shutdown."""
        if at_once:
            self._transport.abort()
        if self._is_ended:
            return
        self._is_ended = True
        log.log(_LEVELS.get(reason, logging.INFO), "%s: closed: %s %s", self.caller.connection_id, reason, why)
        self._service.ended(reason)
        self._transport.close()
