"""A browser's connection: it is closed when its request does not come, or its answer is not read, within some seconds.

`rollcall.serve.listeners.connections` counts them, in all and per address, as for gateways. Knows the
server's protocol for HTTP; must not know a page.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from rollcall.serve.listeners.connections import Connections, Limits

REQUEST_S = 10.0
"""A request's head comes within, from the connection's first moment or the last answer's end."""
READ_S = 30.0
"""A client that reads nothing of its answer for this long is cut off."""
MOST_WAITING = 64
"""With more connections that wait for a request, the one that waits longest is closed."""
MOST = 500
MOST_OF_ONE_ADDRESS = 100
MOST_HELD_BYTES = 134_217_728


def limits(*, is_loopback: bool) -> Limits:
    """How many connections there may be; on loopback everybody comes from one address."""
    of_one = MOST if is_loopback else MOST_OF_ONE_ADDRESS
    return Limits(MOST, of_one, MOST_HELD_BYTES)


class Waiting:
    """The connections that wait for a request, the one that has waited longest first."""

    def __init__(self) -> None:
        self._since: dict[BrowserConnection, float] = {}

    def begin(self, connection: BrowserConnection, now: float) -> None:
        """Waits from now on; if there are too many, the one that has waited longest is closed."""
        self._since[connection] = now
        if len(self._since) > MOST_WAITING:
            next(iter(self._since)).end("idle")

    def end(self, connection: BrowserConnection) -> None:
        """Waits no longer."""
        self._since.pop(connection, None)

    def is_over(self, connection: BrowserConnection, now: float) -> bool:
        """Whether it has waited for too long."""
        since = self._since.get(connection)
        return since is not None and now - since >= REQUEST_S


class BrowserConnection(H11Protocol):
    """Serves one browser; `Connections` asks it once a second whether it lasts."""

    def __init__(
        self, connections: Connections, waiting: Waiting, when_lost: Callable[[], None], **server: Any
    ) -> None:
        super().__init__(**server)
        self._watching = connections
        self._waiting = waiting
        self._when_lost = when_lost
        self._unread_bytes = 0
        self._unread_since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watching.watch_over(self)
        self._waiting.begin(self, self.loop.time())

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_at_work:
            self._waiting.end(self)

    def on_response_complete(self) -> None:
        self._waiting.begin(self, self.loop.time())
        super().on_response_complete()
        if self._is_at_work:
            # The next request was there already.
            self._waiting.end(self)

    @property
    def _is_at_work(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def connection_lost(self, exc: Exception | None) -> None:
        self._waiting.end(self)
        self._watching.forget(self)
        super().connection_lost(exc)
        self._when_lost()

    def check(self, now: float) -> float:
        """Closes it if its request or its client's reading takes too long; asks for the next check at once."""
        if self._waiting.is_over(self, now):
            self.end("idle")
        unread = self.transport.get_write_buffer_size()
        if unread == 0 or unread < self._unread_bytes or self._unread_bytes == 0:
            self._unread_since = now
        self._unread_bytes = unread
        if unread and now - self._unread_since >= READ_S:
            self.end("slow reader", at_once=True)
        return now

    def shutdown(self) -> None:
        # asyncio's TLS transport that is closed twice can be asked nothing any more.
        if not self.transport.is_closing():
            super().shutdown()

    def close(self) -> None:
        self.shutdown()

    def end(self, reason: str, why: str = "", at_once: bool = False) -> None:
        """Ends the connection; the client gets no reason."""
        self._waiting.end(self)
        if at_once:
            self.transport.abort()
        elif not self.transport.is_closing():
            self.transport.close()
