"""/metrics for Prometheus and /health for whatever restarts the program, on their own port and in their own threads.

A gateway and the job serve them so. Knows HTTP; must not know what is counted.
"""

from __future__ import annotations

import contextlib
import json
import math
import socket
from collections.abc import Callable, Collection, Iterable
from socketserver import ThreadingMixIn
from threading import Lock, Thread
from time import monotonic
from typing import Any, Protocol, runtime_checkable
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, make_wsgi_app
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST

from rollcall.serve.listeners.addresses import Address
from rollcall.serve.listeners.hosts import is_known, machine_names
from rollcall.serve.listeners.settings import KEY_OF_HOSTS

_PATIENCE_S = 5.0
"""A connection whose request takes longer to come is ended."""
_MOST_CONNECTIONS = 16
"""When one more comes, the oldest is ended."""

Health = dict[str, Any]
"""What /health says; `status` is "ok" if all is well, and anything else makes it a 503."""


class HasRegistry(Protocol):
    """Figures, a gateway's or a job's."""

    registry: CollectorRegistry


@runtime_checkable
class HasText(Protocol):
    """Metrics with a finished text, since there are too many to write them for each scrape."""

    def text(self, *, is_openmetrics: bool) -> bytes: ...


class Monitor:
    """Serves until it is closed."""

    def __init__(
        self,
        address: Address,
        metrics: HasRegistry | HasText,
        health: Callable[[], Health],
        hosts: Collection[str] = (),
    ) -> None:
        """Raises OSError: the address cannot be used. hosts: the names by which others may ask for it."""
        self._hosts = {host.lower() for host in (address.host, *hosts)} | machine_names()
        self._health = health
        self._metrics_app = _written_by(metrics) if isinstance(metrics, HasText) else make_wsgi_app(metrics.registry)
        self._server = make_server(address.host, address.port, self._serve, _Server, _Quiet)
        self._thread = Thread(target=self._server.serve_forever, name="monitor", daemon=True)
        self._thread.start()

    @property
    def address(self) -> Address:
        return Address(*self._server.server_address[:2])  # type: ignore[arg-type]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _serve(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        host = environ.get("HTTP_HOST", "")
        if not is_known(host, self._hosts):
            why = f"Metrics are not served as {host[:100]!r}: add the name to {KEY_OF_HOSTS}"
            return _refuse(start_response, "421 Misdirected Request", why)
        match environ["PATH_INFO"]:
            case "/metrics":
                return self._metrics_app(environ, start_response)
            case "/health":
                health = self._health()
                status = "200 OK" if health["status"] == "ok" else "503 Service Unavailable"
                start_response(status, [("Content-Type", "application/json")])
                return [json.dumps(health).encode() + b"\n"]
            case _:
                return _refuse(start_response, "404 Not Found", "/metrics and /health are here")


def _refuse(start_response: Any, status: str, why: str) -> list[bytes]:
    start_response(status, [("Content-Type", "text/plain; charset=utf-8")])
    return [f"{why}\n".encode()]


def _written_by(metrics: HasText) -> Callable[[dict[str, Any], Any], Iterable[bytes]]:
    def answer(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        is_openmetrics = "application/openmetrics-text" in environ.get("HTTP_ACCEPT", "")
        content_type = CONTENT_TYPE_LATEST if is_openmetrics else CONTENT_TYPE_PLAIN_0_0_4
        start_response("200 OK", [("Content-Type", content_type)])
        return [metrics.text(is_openmetrics=is_openmetrics)]

    return answer


class _Server(ThreadingMixIn, WSGIServer):
    """Ends connections without a request, and those that are too many, so that no client can block the server."""

    daemon_threads = True
    request_queue_size = 128
    """A hundred clients that connect at once are not refused."""

    def __init__(self, *arguments: Any) -> None:
        self._open: dict[socket.socket, float] = {}
        """Until when each connection may take to send a request, the oldest first."""
        self._lock = Lock()
        super().__init__(*arguments)

    def server_bind(self) -> None:
        # As WSGIServer does, without asking a name server for this machine's name.
        super(WSGIServer, self).server_bind()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])
        self.setup_environ()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open[request] = monotonic() + _PATIENCE_S
            too_many = list(self._open)[:-_MOST_CONNECTIONS]
        self._cut(too_many)
        super().process_request(request, client_address)

    def service_actions(self) -> None:
        super().service_actions()
        with self._lock:
            overdue = [request for request, until in self._open.items() if monotonic() > until]
        self._cut(overdue)

    def has_asked(self, request: Any) -> None:
        """What the answer takes is not the client's fault."""
        with self._lock:
            if request in self._open:
                self._open[request] = math.inf

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that was cut, or whose client speaks no HTTP, is not logged."""

    def _cut(self, requests: list[socket.socket]) -> None:
        """Wakes the threads that wait for these connections; each closes its own."""
        for request in requests:
            with contextlib.suppress(OSError):
                request.shutdown(socket.SHUT_RDWR)


class _Quiet(WSGIRequestHandler):
    server: _Server

    def parse_request(self) -> bool:
        is_fit = super().parse_request()
        self.server.has_asked(self.request)
        return is_fit

    def log_message(self, format: str, *args: Any) -> None:
        pass
