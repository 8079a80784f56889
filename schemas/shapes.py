"""The base of every declared shape: the mark of a field's versions, the base classes, a request's envelope.

Knows no message, no rule of the protocol, no Spark and no clock.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import msgspec


class Versions(NamedTuple):
    """The first and the last version of a message that carry a field."""

    first: int
    last: int = 32767
    is_passed_on: bool = False
    """Whether it stands in a home's tables in every version, whatever the wire carries."""

    def has(self, version: int) -> bool:
        return self.first <= version <= self.last


def Since(first: int) -> Versions:
    """The mark of a field that this version and all later ones carry."""
    return Versions(first)


NOT_ON_THE_WIRE = Versions(0, -1, is_passed_on=True)
"""The mark of a field that no version carries."""

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
"""What Kafka carries in 32 bits; a request with more is refused as it is read."""
Int8 = Annotated[int, msgspec.Meta(ge=-128, le=127)]
"""What Kafka carries in 8 bits."""
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""What Kafka carries in 64 bits."""


class Shape(msgspec.Struct, kw_only=True, gc=False):
    """Base of every declared shape: messages here, effects in `rollcall.schemas.effects`.

    All are trees, so the garbage collector skips them; otherwise it would visit every waiting request.
    """


class Request(Shape, kw_only=True, tag_field="api", forbid_unknown_fields=True):
    """The envelope of every request: what the stream knows in addition to Kafka's own fields."""

    request_id: str
    api_version: Int32
    client_id: str = ""
    client_host: str = ""
    received_at_ms: Int64 = 0
    """When the request arrived, ms since the epoch."""
    request_seq: Int64 = 0
    """Its place among requests of the same millisecond."""
    principal: str | None = None
    """Who authenticated, where known."""
    connection: str | None = None
    """The client's TCP connection, where known."""


ENVELOPE_FIELDS = frozenset(Request.__struct_fields__)


class Response(Shape, kw_only=True):
    """Base of every response."""

    @property
    def wait_ms(self) -> int:
        """How long its client must wait; every response has such a field, from some version on."""
        return int(getattr(self, "throttle_time_ms", 0))
