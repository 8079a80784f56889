"""The page's server, from its start to its end. Knows the server; must not know what is on a page."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import uvicorn

from gateway.security.credentials import Users
from page.app import application
from page.guard import Guard
from page.history import History
from page.live import Watch
from page.settings import PageSettings


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
            ssl_certfile=settings.certificate,
            ssl_keyfile=settings.key,
            timeout_graceful_shutdown=2,
            limit_concurrency=500,
        )
        self._server = _Server(config, watch)

    def run(self, on_start: Callable[[str], None] | None = None) -> None:
        """Serves until SIGINT, SIGTERM or `stop`. on_start: is told the page's address."""
        if on_start is not None:
            threading.Thread(target=self._tell, args=(on_start,), daemon=True).start()
        self._server.run()

    def stop(self) -> None:
        self._server.should_exit = True

    def _tell(self, on_start: Callable[[str], None]) -> None:
        while not self._server.started and not self._server.should_exit:
            time.sleep(0.02)
        if self._server.started:
            port = self._server.servers[0].sockets[0].getsockname()[1]
            on_start(self._settings.address(port))


class _Server(uvicorn.Server):
    """Ends the streams of events before it waits for what is under way."""

    def __init__(self, config: uvicorn.Config, watch: Watch) -> None:
        super().__init__(config)
        self._watch = watch

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._watch.end_streams()
        await super().shutdown(sockets)
