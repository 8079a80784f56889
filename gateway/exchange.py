"""What a connection and the endpoints give each other: who asks, what is asked, and who answers which API.

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
    """A client as those see it who answer its requests."""

    connection_id: str
    host: str
    """As Kafka writes it, "/127.0.0.1"."""
    reached_at: tuple[str, int]
    """The address and the port that the client connected to."""
    principal: str = ANONYMOUS
    """Who the client is, once that is known."""
    is_known: bool = False
    """Whether the client has said who it is, or need not."""
    is_refused: bool = False
    """Whether authentication has failed; the connection ends when the client has been told."""
    mechanism: Any = None
    """The SASL conversation that is going on."""


@dataclass(slots=True, frozen=True)
class Ask:
    """One request, and who sent it."""

    codec: Codec
    """That of the request's API and version."""
    message: Any
    """As kio reads it."""
    client_id: str
    caller: Caller


class Later(NamedTuple):
    """An answer that is not there yet."""

    future: asyncio.Future[Any]
    """What is waited for."""
    response: Callable[[asyncio.Future[Any]], Any]
    """Makes the response, kio's entity, of the future once it is done."""


Answer = Any | Later
"""A response as kio's entity, at once or later."""


@dataclass(slots=True, frozen=True)
class Endpoint:
    """Who answers an API, in which versions."""

    api: str
    key: int
    first: int
    last: int
    answer: Callable[[Ask], Answer]
    """Raises WireError: the request is malformed, and the connection ends."""
    holds: bool = False
    """Whether the requests behind it on its connection wait until it is answered, as with Kafka; for the others only
    the order of the answers is kept."""
