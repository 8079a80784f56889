"""moto's server that can be told to fail: `POST /faults {"refuse_s": 10, "slow_s": 30}`. Run by its own environment.

    python failing_store.py HOST PORT

While it refuses, every answer is 503 SlowDown, as S3 gives it; while it is slow, each takes SLOWER_S
longer. Knows no S3.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from moto.server import DomainDispatcherApplication, create_backend_app  # type: ignore[import-not-found]
from werkzeug.serving import WSGIRequestHandler, run_simple  # type: ignore[import-not-found]

SLOWER_S = 0.3
REFUSAL = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"


class Quiet(WSGIRequestHandler):
    """Keeps connections, and no log of requests."""

    protocol_version = "HTTP/1.1"

    def handle_expect_100(self) -> bool:
        """werkzeug says 100 Continue by itself; a second one is taken for the answer by some who upload a file."""
        return True

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        pass


class Failing:
    """An application that refuses or is slow for a while."""

    def __init__(self, app: Callable[..., Iterable[bytes]]) -> None:
        self._app = app
        self._refuses_until = self._is_slow_until = 0.0
        self._lock, self._never = threading.Lock(), threading.Event()
        self.refused = self.slowed = 0

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        now_s = time.monotonic()
        if environ["PATH_INFO"] == "/faults":
            body = self._reported(environ, now_s)
            start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
            return [body]
        if now_s < self._refuses_until:
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            with self._lock:
                self.refused += 1
            length = str(len(REFUSAL))
            start_response("503 Slow Down", [("Content-Type", "application/xml"), ("Content-Length", length)])
            return [REFUSAL]
        if now_s < self._is_slow_until:
            with self._lock:
                self.slowed += 1
            self._never.wait(SLOWER_S)
        return self._app(environ, start_response)

    def _reported(self, environ: dict[str, Any], now_s: float) -> bytes:
        wanted = json.loads(environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)) or b"{}")
        if "refuse_s" in wanted:
            self._refuses_until = now_s + wanted["refuse_s"]
        if "slow_s" in wanted:
            self._is_slow_until = now_s + wanted["slow_s"]
        return json.dumps({"refused": self.refused, "slowed": self.slowed}).encode()


if __name__ == "__main__":
    app = DomainDispatcherApplication(create_backend_app)
    run_simple(sys.argv[1], int(sys.argv[2]), Failing(app), threaded=True, request_handler=Quiet)
