"""Two facts about a request that decide whether and how it is passed on: is it about a group, is it answered at all?

Knows the beginnings of FindCoordinator and Produce; knows no connection.
"""

from __future__ import annotations

from kio.serial.errors import SerialError
from kio.serial.readers import (
    read_compact_string,
    read_compact_string_nullable,
    read_int8,
    read_int16,
    read_legacy_string,
    read_nullable_legacy_string,
)

from gateway.group_apis import GROUP_KEY_TYPE
from gateway.upstream.apis import FIND_COORDINATOR, PRODUCE
from gateway.wire.codec import Head, WireError, codec
from schemas.messages import FindCoordinatorRequest
from schemas.wire_fields import first_version

_MANY_KEYS_SINCE = first_version(FindCoordinatorRequest, "coordinator_keys")
_KEY_TYPES_SINCE = first_version(FindCoordinatorRequest, "key_type")


def asks_for_a_group(head: Head, frame: bytes) -> bool:
    """Whether a FindCoordinator is about groups, which are ours. Raises WireError."""
    if head.api_key != FIND_COORDINATOR:
        return False
    spoken = codec("FindCoordinator", head.api_version)
    at = spoken.head_end(frame)
    if head.api_version < _KEY_TYPES_SINCE:
        return True
    try:
        if head.api_version < _MANY_KEYS_SINCE:
            _, size = (read_compact_string if spoken.is_flexible else read_legacy_string)(frame, at)
            at += size
        key_type, _ = read_int8(frame, at)
    except (SerialError, ValueError) as error:
        raise WireError(f"FindCoordinatorRequest v{head.api_version}: {error}") from None
    return key_type == GROUP_KEY_TYPE


def expects_no_answer(head: Head, frame: bytes) -> bool:
    """Whether it is a Produce with acks=0, the one request that Kafka never answers. Raises WireError."""
    if head.api_key != PRODUCE:
        return False
    spoken = codec("Produce", head.api_version)
    at = spoken.head_end(frame)
    try:
        read = read_compact_string_nullable if spoken.is_flexible else read_nullable_legacy_string
        _, size = read(frame, at)
        acks, _ = read_int16(frame, at + size)
    except (SerialError, ValueError) as error:
        raise WireError(f"ProduceRequest v{head.api_version}: {error}") from None
    return acks == 0
