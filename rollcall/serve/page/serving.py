"""The page's server, from its start to its end. Knows the server; must not know what is on a page."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import uvicorn

from rollcall.serve.listeners.connections import ConnectionMetrics, Connections
from rollcall.serve.listeners.credentials import Users
from rollcall.serve.listeners.listener import Listener
from rollcall.serve.listeners.tls import tls_context
from rollcall.serve.page.app import application
from rollcall.serve.page.connections import BrowserConnection, Waiting, limits
from rollcall.serve.page.guard import Guard
from rollcall.serve.page.history import History
from rollcall.serve.page.live import Watch
from rollcall.serve.page.settings import PageSettings


class PageServer:
    """The page of one home, served until it is stopped."""

    def __init__(self, home: Path, name: str, settings: PageSettings) -> None:
        self._settings = settings
        history = History(home)
        watch = Watch(history)
        users = None if settings.users is None else Users(settings.users)
        config = uvicorn.Config(
            Guard(application(history, watch, name), settings.hosts, users),
            host=settings.listen.host,
            port=settings.listen.port,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=2,
        )
        self._server = _PageServer(config, watch, settings)

    def run(self, on_start: Callable[[str], None] | None = None) -> None:
        """Serves until SIGINT, SIGTERM or `stop`. on_start: called with the page's address."""
        if on_start is not None:
            threading.Thread(target=self._tell, args=(on_start,), daemon=True).start()
        self._server.run()

    @property
    def connections(self) -> Connections:
        """Those of its browsers."""
        return self._server.connections

    def stop(self) -> None:
        self._server.should_exit = True

    def _tell(self, on_start: Callable[[str], None]) -> None:
        while not self._server.started and not self._server.should_exit:
            time.sleep(0.02)
        if self._server.started:
            on_start(self._settings.address(self._server.port))


class _PageServer(uvicorn.Server):
    """Accepts browsers as a gateway accepts its clients, and ends the streams of events before other requests."""

    def __init__(self, config: uvicorn.Config, watch: Watch, settings: PageSettings) -> None:
        super().__init__(config)
        self._watch = watch
        self._listen = settings.listen
        self._tls = tls_context(settings)
        self._metrics = ConnectionMetrics("rollcall_page_")
        self.connections = Connections(limits(is_loopback=self._listen.is_loopback), self._metrics)
        self._waiting = Waiting()
        self.port = 0

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await self.lifespan.startup()
        self.servers = []
        self._listener = Listener(self.connections, self._metrics, self._tls)
        self.port = (await self._listener.open(self._listen.host, self._listen.port, self._inside)).port
        self._checking = asyncio.create_task(self.connections.watch())
        self.started = True

    def _inside(self, when_lost: Callable[[], None]) -> BrowserConnection:
        return BrowserConnection(
            self.connections,
            self._waiting,
            when_lost,
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
        )

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._listener.close()
        self._checking.cancel()
        self._watch.end_streams()
        await super().shutdown(sockets)
