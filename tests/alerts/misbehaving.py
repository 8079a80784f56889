"""A receiver of alarms that behaves as a test wants. Must not know what is sent."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

BEHAVIOURS = ("hangs", "drips", "drips_headers", "drips_a_body", "403", "redirects", "answers_a_gigabyte", "closes")
DRIPS = {
    "drips": (b"", b"H"),
    "drips_headers": (b"HTTP/1.1 200 OK\r\n", b"X-Y: z\r\n"),
    "drips_a_body": (b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b"o"),
}
"""How an answer begins that never ends, and what comes of it again and again."""


class Server(ThreadingHTTPServer):
    """What it was sent, and how it answers: `takes`, one of BEHAVIOURS, or a status."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.address = f"http://127.0.0.1:{self.server_address[1]}"
        self.behaves = "takes"
        self.moved: list[str] = []
        self.taken: list[tuple[str, dict[str, str], bytes]] = []
        self.ended = threading.Event()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone is not reported."""


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        body = self.rfile.read(length)
        if len(body) < length:
            # Who sent it was killed.
            return
        match self.server.behaves:
            case "takes" | "takes_slowly":
                self.server.taken.append((self.path, dict(self.headers.items()), body))
                if self.server.behaves == "takes_slowly":
                    self.server.ended.wait(0.05)
                self._answer(200, b"ok")
            case "hangs":
                self.server.ended.wait()
            case behaves if behaves in DRIPS:
                begin, drop = DRIPS[behaves]
                self.wfile.write(begin)
                while not self.server.ended.wait(0.05):
                    self.wfile.write(drop)
            case status if status.isdecimal():
                self._answer(int(status), b"who are you?")
            case "redirects" | "redirects_forever" | "redirects_to_a_file":
                self._redirect(body)
            case "repeats_the_address":
                self._answer(404, f"no such hook: {self.path}, you sent {body.decode()}".encode())
            case "answers_a_gigabyte":
                self.send_response(200)
                self.send_header("Content-Length", str(1 << 30))
                self.end_headers()
                for _ in range(1 << 10):
                    self.wfile.write(b"x" * (1 << 20))
            case _:
                self.close_connection = True

    def _redirect(self, body: bytes) -> None:
        self.server.moved.append(self.path)
        if self.server.behaves == "redirects_to_a_file":
            self._answer(301, b"", Location="file:///etc/passwd")
        elif self.server.behaves == "redirects" and self.path == "/elsewhere":
            self.server.taken.append((self.path, dict(self.headers.items()), body))
            self._answer(200, b"ok")
        else:
            self._answer(307, b"", Location="/elsewhere")

    def _answer(self, status: int, text: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in (headers | {"Content-Length": str(len(text))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def receiving() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.ended.set()
        server.shutdown()
        server.server_close()
        thread.join()
