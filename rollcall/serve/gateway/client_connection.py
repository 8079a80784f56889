"""One client's TCP connection: frames in, answers out, and one client cannot slow down the others.

A request whose answer the protocol may withhold holds the requests behind it, as with Kafka; other requests are
taken at once, so that a pipeline of heartbeats costs one wait. A client with too many requests unanswered or too many
answers unread is read no further, and one that reads nothing for long is cut off. The loop's time is shared: who asks
for little is served at once, who floods waits in a queue. Bytes that are not a request end the connection without an
answer, as with Kafka.

Knows bytes and limits; knows no API: `answering` does.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from time import monotonic, thread_time

from rollcall.serve.gateway.answering import Answering, AnswerQueue, Client, Slot
from rollcall.serve.gateway.exchange import ANONYMOUS, Caller
from rollcall.serve.gateway.metrics import Metrics
from rollcall.serve.gateway.settings import Settings
from rollcall.serve.gateway.wire.codec import FrameCutter, FrameError, WireError
from rollcall.serve.listeners.connections import Connections
from rollcall.serve.listeners.tls import principal_of

log = logging.getLogger("gateway")

HELD_BYTES = 65_536
"""The most bytes that wait behind a held request before the client is read no further."""
SEND_HIGH_WATER_BYTES = 262_144
UNREAD_BYTES = 4 * SEND_HIGH_WATER_BYTES
"""More unread bytes than this are a long answer; answers that are passed on stay far below."""
_AGAIN_S = 0.00002
"""What a request that is the one before takes. To measure it would take a fifth of that."""
_GONE = ("", 0)
"""The address of a client that has reset its connection before it was served."""
TURN_S = 0.0005
"""Processor seconds that one turn may take. A request that was started is finished first."""
_ROUND_S = 0.005
"""After this many seconds of queued turns the loop serves everything else."""
_SHARE = 0.01
"""The part of the time that a connection may use without queueing."""
_SAVED_S = 0.005
"""The most time that a connection saves up for a burst."""
_LEVELS = {"idle": logging.DEBUG, "shutdown": logging.DEBUG}


class Account:
    """The time that one connection may use now; below zero it queues."""

    __slots__ = ("_at", "_left_s")

    def __init__(self, now: float) -> None:
        self._at = now
        self._left_s = _SAVED_S

    def is_overdrawn(self, now: float) -> bool:
        """Whether it has used its share up."""
        left_s = self._left_s + (now - self._at) * _SHARE
        self._left_s = left_s if left_s < _SAVED_S else _SAVED_S
        self._at = now
        return left_s <= 0

    def spend(self, seconds: float) -> None:
        """Counts processor time that was used; a debt is never longer than a burst."""
        left_s = self._left_s - seconds
        self._left_s = left_s if left_s > -_SAVED_S else -_SAVED_S


class Turns:
    """The queue of connections that have used up their share; they get turns after the loop has served all others.

    call_soon: the loop's, which calls after all that is due now. clock: the thread's processor time in seconds.
    """

    def __init__(self, call_soon: Callable[[Callable[[], None]], object], clock: Callable[[], float]) -> None:
        self._call_soon = call_soon
        self._clock = clock
        self._queue: deque[Callable[[], None]] = deque()
        self._is_due = False

    def enqueue(self, turn: Callable[[], None]) -> None:
        """Calls it when its turn comes."""
        self._queue.append(turn)
        if not self._is_due:
            self._is_due = True
            self._call_soon(self._next)

    def _next(self) -> None:
        self._is_due = False
        ends_at = self._clock() + _ROUND_S
        try:
            while self._queue and self._clock() < ends_at:
                self._queue.popleft()()
        finally:
            if self._queue and not self._is_due:
                self._is_due = True
                self._call_soon(self._next)


class ClientConnection(asyncio.Protocol):
    """Reads requests within its limits and hands them to an `Answering`, which it makes when a client is there."""

    def __init__(
        self,
        settings: Settings,
        connections: Connections,
        metrics: Metrics,
        turns: Turns,
        taker_for: Callable[[Client], Answering],
        when_lost: Callable[[], None],
    ) -> None:
        self._settings = settings
        self._connections = connections
        self._metrics = metrics
        self._turns = turns
        self._taker_for = taker_for
        self._when_lost = when_lost
        self._is_reading_paused = False
        self._held_bytes = 0
        """Bytes of long requests and answers in memory, as last reported to the registry."""
        self._held_answer_bytes = 0
        self._account = Account(monotonic())
        self._is_queued = False
        self._unread_bytes = 0
        self._unread_since = 0.0
        self._opened_at = self._last_data_at = monotonic()
        self.is_ended = False
        self._ended_at = 0.0
        self.is_write_paused = False

    # ------------------------------------------------------------ asyncio's calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        host, port = (transport.get_extra_info("peername") or _GONE)[:2]
        self.caller = Caller(
            self._connections.new_id(f"{host}:{port}"),
            f"/{host}",
            (transport.get_extra_info("sockname") or _GONE)[:2],
            principal=principal_of(transport.get_extra_info("peercert")) or ANONYMOUS,
            is_known=self._settings.users is None,
        )
        self.answers = AnswerQueue(monotonic, self.write)
        self.answers.when_answered = self._answered
        self._taker = self._taker_for(self)
        self._cutter = FrameCutter(self._taker.request_max_bytes)
        transport.set_write_buffer_limits(high=SEND_HIGH_WATER_BYTES)
        self._connections.watch_over(self)

    def data_received(self, data: bytes) -> None:
        if self.is_ended:
            return
        self._last_data_at = monotonic()
        if not self._take_again(data):
            self._cutter.feed(data)
            self.go_on()

    def pause_writing(self) -> None:
        self.is_write_paused = True

    def resume_writing(self) -> None:
        self.is_write_paused = False
        self.go_on()
        self._taker.can_write()

    def connection_lost(self, error: Exception | None) -> None:
        self.is_ended = True
        self._when_lost()
        self.answers.close()
        self._taker.lost()
        self._cutter.clear()
        self._connections.forget(self)

    # ------------------------------------------------------------ requests

    def _may_take(self) -> bool:
        if self.is_ended or self.is_write_paused or self._taker.is_full:
            return False
        if self.caller.muted_until_s and self.caller.muted_until_s > monotonic():
            return False
        answers = self.answers
        # With nothing unanswered, nothing is held and no limit is reached.
        return not answers.asked_bytes or not (
            answers.is_held
            or answers.asked_bytes >= self._settings.max_in_flight_bytes
            or len(answers) >= self._settings.max_in_flight
        )

    def go_on(self) -> None:
        """Takes requests, at once or in turn, as far as the limits allow."""
        if self._cutter.held_bytes and not self._is_queued and self._may_take():
            if self._account.is_overdrawn(monotonic()):
                self._enqueue()
            else:
                self._take_requests()
        self._regulate_reading()

    def _take_again(self, data: bytes) -> bool:
        """Takes the shortest way if nothing is unanswered and the bytes are the request before once more, as most are;
        False: they take the usual one."""
        if self._cutter.held_bytes or self.answers or not self._may_take():
            return False
        if self._account.is_overdrawn(self._last_data_at):
            return False
        try:
            is_taken = self._taker.take_again(data)
        except Exception:
            is_taken = True
            self.fail("a request could not be answered")
        if is_taken:
            self._account.spend(_AGAIN_S)
        return is_taken

    def _enqueue(self) -> None:
        self._is_queued = True
        self._turns.enqueue(self._next_turn)

    def _next_turn(self) -> None:
        self._is_queued = False
        if self._cutter.held_bytes and self._may_take():
            self._take_requests()
        self._regulate_reading()

    def _take_requests(self) -> None:
        """One turn. It is measured in processor time; by the clock every client of a busy machine would have to
        queue."""
        began = thread_time()
        cutter, taker = self._cutter, self._taker
        while True:
            try:
                cutter.max_bytes = taker.request_max_bytes
                frame = cutter.take()
                if frame is None:
                    break
                taker.take(frame)
            except FrameError as error:
                self.end("frame", str(error))
            except WireError as error:
                self.end("request", str(error))
            except Exception:
                self.fail("a request could not be answered")
            if not cutter.held_bytes or not self._may_take():
                break
            if thread_time() - began >= TURN_S:
                self._enqueue()
                break
        self._account.spend(thread_time() - began)

    def _regulate_reading(self) -> None:
        held_bytes = self._cutter.held_bytes
        is_long = held_bytes > HELD_BYTES
        self._report_held()
        if self.is_ended or not (is_long or self._is_reading_paused):
            return
        is_full = is_long and (self._is_queued or not self._may_take())
        if is_full and not self._is_reading_paused:
            self._transport.pause_reading()
        elif not is_full and self._is_reading_paused:
            self._transport.resume_reading()
        self._is_reading_paused = is_full

    # ------------------------------------------------------------ answers

    def hold_answer(self, held_bytes: int) -> None:
        """Notes how many bytes of an answer are kept that cannot be sent as they are, 0 for none."""
        self._held_answer_bytes = held_bytes
        self._report_held()

    def _report_held(self) -> None:
        """Reports how much of long requests, unfinished or unanswered, and of long answers it keeps."""
        cut_bytes, asked_bytes = self._cutter.held_bytes, self.answers.asked_bytes
        unread_bytes = self._transport.get_write_buffer_size()
        is_much = cut_bytes > HELD_BYTES or asked_bytes > HELD_BYTES or unread_bytes > UNREAD_BYTES
        if not (is_much or self._held_answer_bytes or self._held_bytes):
            return
        held_bytes = sum(part for part in (cut_bytes, asked_bytes, self._held_answer_bytes) if part > HELD_BYTES)
        held_bytes += unread_bytes if unread_bytes > UNREAD_BYTES else 0
        if held_bytes != self._held_bytes and not self.is_ended:
            self._held_bytes = held_bytes
            self._connections.holds(self, held_bytes)
            self._connections.check_soon(self)

    def write(self, part: bytes) -> None:
        """Sends bytes of the answer that is due, if the client is still there."""
        if self._transport.is_closing():
            self.is_ended = True
            self._connections.check_soon(self)
            return
        self._transport.write(part)
        if self._transport.get_write_buffer_size():
            self._connections.check_soon(self)

    def _answered(self, slot: Slot) -> None:
        self._metrics.latencies.add(slot.api, monotonic() - slot.asked_at)
        if self.caller.muted_until_s:
            self._connections.check_soon(self)
        if self.caller.is_refused:
            self.end("authentication", "refused")
        elif self._transport.get_write_buffer_size() > self._settings.send_max_bytes:
            self.end("slow reader", "too many answers unread", at_once=True)

    # ------------------------------------------------------------ the end

    def check(self, now: float) -> float:
        """Ends the connection if it is idle, or if its client reads nothing; returns when it is to be checked again.

        Resumes reading if its client no longer has to wait. Aborts one that takes long to close, as a TLS connection
        may. Of one that is quiet only its idleness is left to see; when it no longer is, it asks to be checked.
        """
        if self.caller.muted_until_s and not self.is_ended:
            self.go_on()
        unread = self._transport.get_write_buffer_size()
        if unread == 0 or unread < self._unread_bytes or self._unread_bytes == 0:
            self._unread_since = now
        self._unread_bytes = unread
        if unread or self._held_bytes:
            self._report_held()
        if unread and (now - self._unread_since) * 1000 >= self._settings.send_timeout_ms:
            self.end("slow reader", "nothing read for too long", at_once=True)
        elif self.is_ended:
            if not unread and (now - self._ended_at) * 1000 >= self._settings.send_timeout_ms:
                self._transport.abort()
        elif not self.caller.is_known and (now - self._opened_at) * 1000 >= self._settings.authentication_timeout_ms:
            self.end("authentication", "not in time")
        elif not self.answers and not unread and (now - self._last_data_at) * 1000 >= self._settings.max_idle_ms:
            self.end("idle")
        is_quiet = self.caller.is_known and self.caller.muted_until_s <= now and not (unread or self._held_bytes)
        return self._last_data_at + self._settings.max_idle_ms / 1000 if is_quiet and not self.is_ended else now

    def close(self) -> None:
        self.end("shutdown")

    def fail(self, what: str) -> None:
        """Ends the connection for an error of the gateway's own, which is being handled; the client learns no more."""
        log.exception("%s: %s", self.caller.connection_id, what)
        self.end("internal error")

    def end(self, reason: str, why: str = "", at_once: bool = False) -> None:
        """Ends the connection, once what was written has been sent, or at_once.

        reason: one of frame, request, held, authentication, upstream, slow reader, idle, internal error, shutdown.
        """
        if at_once:
            self._transport.abort()
        if self.is_ended:
            return
        self.is_ended, self._ended_at = True, monotonic()
        self._connections.check_soon(self)
        log.log(_LEVELS.get(reason, logging.INFO), "%s: closed: %s %s", self.caller.connection_id, reason, why)
        self._metrics.closed.labels(reason).inc()
        self.answers.close()
        self._cutter.clear()
        if self._is_reading_paused:
            # Otherwise the end of a TLS connection whose client has gone would never be read.
            self._transport.resume_reading()
        # A TLS transport of asyncio that is closed twice cannot be used any more.
        if not self._transport.is_closing():
            self._transport.close()
