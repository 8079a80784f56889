"""How an alarm gets out: a POST, and a command, which no receiver can make last or grow.

All of a POST and all of a command end within their time, and the beginning of an answer alone is read. The user and
password of an address log in. What is said of a failure never has the address. Knows HTTP and processes; must not know
an alarm.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import ipaddress
import os
import select
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from rollcall.serve.alerts.settings import VARIABLE_PREFIX

DEADLINE_S = 10.0
MOST_REDIRECTS = 3
READ_BYTES = 4_000
_PIECE_BYTES = 65_536
_MOVED = (301, 302, 307, 308)
_LATER = (408, 429)
"""Statuses of 400 to 499 that ask to try again."""


class NotTaken(Exception):
    """A receiver did not take what it was sent; the text says why. is_final: it would not take it later either."""

    def __init__(self, why: str, *, is_final: bool = False) -> None:
        super().__init__(why)
        self.is_final = is_final


class Reach(NamedTuple):
    """Where a POST may go, as the operator says."""

    to_private: bool = True
    """Addresses that only this network or this machine reaches."""
    follows: bool = False
    """Redirects: the POST is sent to where they lead, up to MOST_REDIRECTS times, never from https to http."""


class _HttpResponse(NamedTuple):
    status: int
    location: str | None
    text: str


def post(address: str, headers: Mapping[str, str], body: bytes, reach: Reach = Reach()) -> str:  # noqa: B008
    """The answer's status and the beginning of its text. Raises NotTaken: anything but a status of 200 to 299."""
    deadline = time.monotonic() + DEADLINE_S
    answer = _asked(address, headers, body, reach, deadline)
    for _ in range(MOST_REDIRECTS):
        if not reach.follows or answer.status not in _MOVED or answer.location is None:
            break
        moved = urljoin(address, answer.location)
        allowed = ("https",) if address.startswith("https:") else ("http", "https")
        if urlsplit(moved).scheme not in allowed:
            raise NotTaken(f"answered {answer.status}, a redirect to no address of {' or '.join(allowed)}")
        address = moved
        answer = _asked(address, headers, body, reach, deadline)
    said = f"{answer.status} {answer.text}".strip()
    if not 200 <= answer.status < 300:
        raise NotTaken(f"answered {said}", is_final=400 <= answer.status < 500 and answer.status not in _LATER)
    return said


def _asked(address: str, headers: Mapping[str, str], body: bytes, reach: Reach, deadline: float) -> _HttpResponse:
    over, sockets = threading.Event(), list[socket.socket]()
    ending = threading.Timer(max(0.0, deadline - time.monotonic()), _end, (sockets, over))
    ending.daemon = True
    ending.start()
    try:
        parts = urlsplit(address)
        is_safe = parts.scheme == "https"
        make = http.client.HTTPSConnection if is_safe else http.client.HTTPConnection
        with contextlib.closing(make(parts.hostname or "", parts.port)) as connection:
            connected = _connected(connection.host, connection.port, reach, deadline)
            if is_safe:
                connected = ssl.create_default_context().wrap_socket(
                    connected, server_hostname=connection.host, do_handshake_on_connect=False
                )
            sockets.append(connected)
            connection.sock = connected
            path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            connection.request("POST", path, body, {"Content-Type": "application/json", **_login(parts), **headers})
            answer = connection.getresponse()
            text = answer.read(READ_BYTES).decode(errors="replace")
            if over.is_set():
                # What came of it ends where the connection was ended, and looks whole.
                raise TimeoutError
            return _HttpResponse(answer.status, answer.getheader("Location"), " ".join(text.split()))
    except (OSError, http.client.HTTPException, ValueError) as error:
        is_late = over.is_set() or isinstance(error, TimeoutError)
        why = f"did not answer within {DEADLINE_S:g} s" if is_late else _why(error)
        raise NotTaken(why) from None
    finally:
        ending.cancel()


def user_of(parts: SplitResult) -> str:
    """Return the `user:password` of an address, decoded; empty if it has none."""
    return "" if parts.username is None else f"{unquote(parts.username)}:{unquote(parts.password or '')}"


def basic(user: str) -> str:
    """Return a `user:password` as HTTP's basic authentication spells it."""
    return base64.b64encode(user.encode()).decode()


def _login(parts: SplitResult) -> dict[str, str]:
    user = user_of(parts)
    return {"Authorization": f"Basic {basic(user)}"} if user else {}


def _connected(host: str, port: int, reach: Reach, deadline: float) -> socket.socket:
    """A connection to an address that may be reached: the name is looked up once. Raises OSError, NotTaken."""
    found = [place for *_, place in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    allowed = [place for place in found if reach.to_private or _is_public(str(place[0]))]
    if not allowed:
        raise NotTaken("is at a private address, to which nothing is sent")
    failed: OSError = TimeoutError()
    for place in allowed:
        try:
            return socket.create_connection((str(place[0]), port), max(0.01, deadline - time.monotonic()))
        except OSError as error:
            failed = error
    raise failed


def _is_public(address: str) -> bool:
    parsed = ipaddress.ip_address(address)
    mapped = getattr(parsed, "ipv4_mapped", None)
    return (mapped or parsed).is_global and not parsed.is_multicast


def _end(sockets: Sequence[socket.socket], over: threading.Event) -> None:
    over.set()
    for each in sockets:
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


def _why(error: Exception) -> str:
    """The reason without the address."""
    return getattr(error, "strerror", None) or type(error).__name__


def run(arguments: Sequence[str], given_bytes: bytes, within_s: float) -> str:
    """Runs a command without a shell, hands it bytes on its standard input, and says what it printed first.

    Its environment has no receiver's secrets. When its time has passed, it is killed with all that it started.
    Raises NotTaken: another exit status than 0.
    """
    with tempfile.TemporaryFile() as given:
        given.write(given_bytes)
        given.seek(0)
        try:
            process = subprocess.Popen(
                arguments,
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={name: value for name, value in os.environ.items() if not name.startswith(VARIABLE_PREFIX)},
            )
        except (OSError, ValueError) as error:
            raise NotTaken(f"cannot be run: {_why(error)}") from None
    assert process.stdout is not None
    deadline, status = time.monotonic() + within_s, None
    try:
        printed = _printed(process.stdout.fileno(), deadline)
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = process.wait(max(0.0, deadline - time.monotonic()))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.stdout.close()
        process.wait()
    if status is None:
        raise NotTaken(f"did not end within {within_s:g} s")
    said = f"exit status {status} {' '.join(printed.decode(errors='replace').split())}".strip()
    if status:
        raise NotTaken(said)
    return said


def _printed(pipe: int, deadline: float) -> bytes:
    """Return the beginning of what comes until the pipe is closed or the time has passed."""
    found, ready = b"", select.poll()
    ready.register(pipe, select.POLLIN)
    while (left_s := deadline - time.monotonic()) > 0 and ready.poll(left_s * 1000):
        piece = os.read(pipe, _PIECE_BYTES)
        if not piece:
            break
        found = (found + piece)[:READ_BYTES]
    return found
