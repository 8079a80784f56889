"""How an answer reaches a client: as events, drawn aside, in pieces, or not at all once the client has gone.

Knows clients and their connections. Must not know what an answer says.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from typing import Any, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from rollcall.serve.page.live import Watch

_PIECE_BYTES = 65_536
_Answer = TypeVar("_Answer")


class Events(Response):
    """The events of a watch; refused if it has no room for one more listener, who counts before anything is sent."""

    def __init__(self, watch: Watch) -> None:
        super().__init__()
        self._watch = watch

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._watch.listening() as events:
            answer: Response
            if events is None:
                answer = PlainTextResponse("Too many pages listen; this one changes when it is loaded again.", 503)
            else:
                answer = StreamingResponse(events, media_type="text/event-stream")
            await answer(scope, receive, send)


async def while_there(request: Request, answer: Coroutine[Any, Any, _Answer]) -> _Answer | None:
    """Return an answer, which is given up once its client has gone; None: it was."""
    answering = asyncio.ensure_future(answer)
    going = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait((answering, going), return_when=asyncio.FIRST_COMPLETED)
        return answering.result() if answering.done() else None
    finally:
        answering.cancel()
        going.cancel()


async def _gone(request: Request) -> None:
    """Returns once the client has gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def drawn(draw: Callable[[], str]) -> Response:
    return Response(await run_in_threadpool(draw), media_type="image/svg+xml")


def in_pieces(body: bytes, media_type: str, headers: Mapping[str, str] | None = None) -> Response:
    """A long answer, between whose pieces others have their turn."""

    async def pieces() -> AsyncIterator[bytes]:
        for place in range(0, len(body), _PIECE_BYTES):
            yield body[place : place + _PIECE_BYTES]
            await asyncio.sleep(0)

    return StreamingResponse(pieces(), media_type=media_type, headers=headers)
