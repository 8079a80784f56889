"""A logged request as bytes and back, to send it from the process that reads lines to the one that follows groups.
Knows every field of a logged request; infers nothing from them.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import msgspec

from rollcall.inputs.request_log.lines.wire import answer_type, message_of
from rollcall.inputs.request_log.recorded import LoggedRequest, Recorded
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import APIS

_encoder = msgspec.msgpack.Encoder()


class _Times(msgspec.Struct, array_like=True, gc=False):
    """The times beside the request and the answer."""

    group_id: str
    error: Error
    answered_at_ms: int
    total_ms: float
    remote_ms: float
    sending_ms: float
    part_of: str | None
    began_ms: float
    until_ms: float
    broker: str
    was_refused: bool
    needs_newer_group: bool
    part: int


class Entry(NamedTuple):
    """A request as it is kept: which decoder reads it, and its bytes."""

    api: str
    version: int
    data: bytes


def encode(logged: LoggedRequest) -> Entry:
    """Encodes a request whose time is decided."""
    recorded = logged.recorded
    message = recorded.message
    kept = _kind(message.api, message.version)
    times = (
        logged.group_id,
        recorded.error,
        recorded.answered_at_ms,
        recorded.total_ms,
        recorded.remote_ms,
        recorded.sending_ms,
        recorded.group_id,
        logged.began_ms,
        logged.until_ms,
        logged.broker,
        logged.was_refused,
        logged.needs_newer_group,
        logged.part,
    )
    return Entry(message.api, message.version, _encoder.encode(kept(*times, logged.request, recorded.wire)))


def decode(entry: Entry) -> LoggedRequest:
    """The same request."""
    api, version, data = entry
    kept = _decoder(api, version).decode(data)
    recorded = Recorded(
        kept.error,
        kept.answered_at_ms,
        kept.total_ms,
        kept.remote_ms,
        kept.sending_ms,
        kept.wire,
        message_of(api, version),
        kept.part_of,
    )
    return LoggedRequest(
        kept.group_id,
        kept.request,
        recorded,
        kept.began_ms,
        kept.until_ms,
        kept.broker,
        kept.was_refused,
        part=kept.part,
        needs_newer_group=kept.needs_newer_group,
    )


@cache
def _kind(api: str, version: int) -> Any:
    """What is kept of a request of one version of one API."""
    fields = [("request", APIS[api].request), ("wire", answer_type(api, version))]
    return msgspec.defstruct(f"{api}Kept{version}", fields, bases=(_Times,), array_like=True, gc=False)


@cache
def _decoder(api: str, version: int) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(_kind(api, version))
