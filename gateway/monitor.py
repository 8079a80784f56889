"""/metrics for Prometheus and /health for whatever restarts the gateway, on their own port and in their own threads.

Knows HTTP; what is counted is `gateway.metrics`'.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from socketserver import ThreadingMixIn
from threading import Thread
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import make_wsgi_app

from gateway.metrics import Metrics
from gateway.settings import Address

Health = dict[str, Any]
"""What /health says; `status` is "ok" if all is well, and anything else makes it a 503."""


class Monitor:
    """Serves until it is closed."""

    def __init__(self, address: Address, metrics: Metrics, health: Callable[[], Health]) -> None:
        self._health = health
        self._metrics_app = make_wsgi_app(metrics.registry)
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
        match environ["PATH_INFO"]:
            case "/metrics":
                return self._metrics_app(environ, start_response)
            case "/health":
                health = self._health()
                status = "200 OK" if health["status"] == "ok" else "503 Service Unavailable"
                start_response(status, [("Content-Type", "application/json")])
                return [json.dumps(health).encode() + b"\n"]
            case _:
                start_response("404 Not Found", [("Content-Type", "text/plain; charset=utf-8")])
                return [b"/metrics and /health are here\n"]


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True

    def server_bind(self) -> None:
        # As WSGIServer does, without asking a name server for this machine's name.
        super(WSGIServer, self).server_bind()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])
        self.setup_environ()


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass
