"""Who may use the page, and what a browser may load for it. A page on another host must not read this one: Host is
checked, so that another name that points here does not help. It must not frame this one either, since framing makes the
server compute an unseen page. Everything is loaded from here, and pages have no inline script or style.

Knows headers and the users file; knows no page.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
import time
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from typing import Any

from anyio import CapacityLimiter, to_thread
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse

from rollcall.serve.listeners.credentials import Users
from rollcall.serve.listeners.hosts import is_known

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_FRAMES = ("iframe", "frame", "fencedframe", "embed", "object")
"""What a browser fetches a page for to frame it; this page may not be framed."""
REMEMBERED_S = 600.0
"""A password that was right is not computed again for this long."""
MOST_REMEMBERED = 1000
CHECKS_AT_ONCE = 2
LONGEST_LOGIN = 1024


class Guard:
    """Wraps the application: hosts, users, methods, headers, in this order.

    hosts: the names that the page has besides those of `rollcall.serve.listeners.hosts`; empty: any name will do.
    users: None lets everybody in.
    """

    def __init__(self, app: App, hosts: Collection[str], users: Users | None) -> None:
        self._app = app
        self._hosts = {host.lower() for host in hosts}
        self._users = users
        self._key = secrets.token_bytes(32)
        self._remembered: dict[bytes, float] = {}
        self._checks = CapacityLimiter(CHECKS_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(scope["method"], headers)
        if refusal is None:
            refusal = await self._login(headers)
        await (refusal or self._app)(scope, receive, _with_headers(send))

    def _refusal(self, method: str, headers: Headers) -> PlainTextResponse | None:
        host = headers.get("host", "")
        if self._hosts and not is_known(host, self._hosts):
            return PlainTextResponse(f"This page is not served as {host[:100]!r}.", 421)
        if method not in ("GET", "HEAD"):
            return PlainTextResponse("The page only reads: GET.", 405, {"Allow": "GET, HEAD"})
        is_of_another_site = headers.get("sec-fetch-site") in ("cross-site", "same-site")
        if is_of_another_site and headers.get("sec-fetch-mode") != "navigate":
            return PlainTextResponse("Another site may not read this page.", 403)
        if headers.get("sec-fetch-dest") in _FRAMES:
            return PlainTextResponse("This page stands in no frame.", 403)
        return None

    async def _login(self, headers: Headers) -> PlainTextResponse | None:
        if self._users is None:
            return None
        given = headers.get("authorization", "")
        if len(given) <= LONGEST_LOGIN and given.lower().startswith("basic ") and await self._is_known(given[6:]):
            return None
        return PlainTextResponse(
            "Say who you are.", 401, {"WWW-Authenticate": 'Basic realm="rollcall", charset="UTF-8"'}
        )

    async def _is_known(self, login: str) -> bool:
        digest = hmac.digest(self._key, login.encode(), hashlib.sha256)
        now = time.monotonic()
        if now < self._remembered.get(digest, 0.0):
            return True
        if not await to_thread.run_sync(self._is_right, login, limiter=self._checks):
            return False
        while len(self._remembered) >= MOST_REMEMBERED:
            self._remembered.pop(next(iter(self._remembered)))
        self._remembered[digest] = now + REMEMBERED_S
        return True

    def _is_right(self, login: str) -> bool:
        assert self._users is not None
        try:
            name, _, password = base64.b64decode(login, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return False
        return self._users.is_password(name, password)


def _with_headers(send: Send) -> Send:
    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=message["headers"])
            for name, value in HEADERS.items():
                headers[name] = value
            headers.setdefault("Cache-Control", "no-store")
            message["headers"] = headers.raw
        await send(message)

    return sending
