"""What passes between a connection and what answers: who asks, what is asked, and who answers which API.

Knows no socket, no group and no table.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from gateway.wire.codec import Codec

ANONYMOUS = "User:ANONYMOUS"


@dataclass(slots=True)
class Caller:
    """A client's connection as those who answer see it.

    host: as Kafka writes it, "/127.0.0.1". reached_at: the address that the client connected to. principal: who it
    is, once that is_known. is_refused: it tried in vain, and its connection ends once it was told.
    mechanism: the conversation by which it says so.
    """

    connection_id: str
    host: str
    reached_at: tuple[str, int]
    principal: str = ANONYMOUS
    is_known: bool = False
    is_refused: bool = False
    mechanism: Any = None


@dataclass(slots=True, frozen=True)
class Ask:
    """One request: its codec (so its API and version), the message as kio reads it, and who sent it."""

    codec: Codec
    message: Any
    client_id: str
    caller: Caller


class Later(NamedTuple):
    """An answer that is not there yet: what is waited for, and how the response, kio's entity, comes of it."""

    future: asyncio.Future[Any]
    response: Callable[[asyncio.Future[Any]], Any]


Answer = Any | Later
"""A response as kio's entity, at once or later."""


@dataclass(slots=True, frozen=True)
class Endpoint:
    """Who answers an API, in which versions.

    holds: what stands behind such a request on its connection waits until it is answered, as with Kafka; for the
    others the order of answers alone is kept.
    """

    api: str
    key: int
    first: int
    last: int
    answer: Callable[[Ask], Answer]
    holds: bool = False
