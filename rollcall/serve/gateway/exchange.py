"""What a connection and the endpoints exchange: the caller, the request, the answer, and who answers which API.

Knows no socket, no group and no table.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from rollcall.schemas.shapes import Response
from rollcall.serve.gateway.wire.codec import Codec

ANONYMOUS = "User:ANONYMOUS"
MAX_ELEMENTS = 10_000
"""The most elements of most APIs' requests; Kafka's clients are far below."""
MAX_PARTITIONS = 50_000
"""The same where a request names partitions or members."""


@dataclass(slots=True)
class Caller:
    """What the endpoints know about the client of a request."""

    connection_id: str
    host: str
    """As Kafka writes it, "/127.0.0.1"."""
    reached_at: tuple[str, int]
    """The address and the port that the client connected to."""
    principal: str = ANONYMOUS
    """The authenticated principal."""
    is_known: bool = False
    """Whether the client is authenticated, or need not be."""
    is_refused: bool = False
    """Whether authentication has failed; the connection ends when the client has the answer."""
    muted_until_s: float = 0.0
    """No request is taken before this time of the loop's clock: the client was throttled (KIP-219)."""
    conversation: Any = None
    """The SASL conversation that is going on."""


class Ask(NamedTuple):
    codec: Codec
    """That of the request's API and version."""
    message: Any
    """As the endpoint's `read` gives it."""
    frame: bytes
    """The whole request as it came."""
    client_id: str
    caller: Caller


class Building(NamedTuple):
    """An answer that is still to be built; a long one is built in a thread."""

    elements: int
    """About how many elements it has."""
    build: Callable[[], Response | Mapping[str, Any]]
    """Gives the response. Must touch nothing that changes, for it may run in any thread."""


class Later(NamedTuple):
    """An answer that is not there yet."""

    future: asyncio.Future[Any]
    """What is waited for."""
    response: Callable[[asyncio.Future[Any]], Building]
    """Makes the response of the future once it is done."""


Answer = Response | Mapping[str, Any] | Building | Later
"""A response, as a shape or by the names of its fields, or how one is made."""


@dataclass(slots=True, frozen=True)
class Endpoint:
    """Who answers an API, in which versions."""

    api: str
    key: int
    first: int
    last: int
    answer: Callable[[Ask], Answer]
    """Raises WireError: the request is malformed, and the connection ends."""
    read: Callable[[Codec, Any], Any] = lambda spoken, message: message
    """Makes of kio's message what `answer` wants. May run in any thread. Raises WireError."""
    max_elements: int = MAX_ELEMENTS
    """The most elements of all arrays of a request together."""
    is_repeated: bool = False
    """Whether a client sends the same request again and again, as a heartbeat. It is read once, so that `Ask.frame` may
    have an earlier correlation id."""
    holds: bool = False
    """Whether the requests behind it on its connection wait until it is answered, as with Kafka; for the others only
    the order of the answers is kept."""
