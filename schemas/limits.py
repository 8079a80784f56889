"""What the values of a request may be at most: how long a string, and how many partitions a cluster has.

A longer string fits into a request, but into no answer: newer versions have room for longer strings, older ones do not,
and Kafka reads and writes none in any version. The cost of a group's assignment grows with the partitions that a
request reports. Knows no rule of the protocol, and no message but the JoinGroup that leads to a new member id and the
heartbeat that reports topics.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from rollcall.schemas.consumer_group_messages import ConsumerGroupHeartbeatRequest
from rollcall.schemas.membership_messages import JoinGroupRequest

STRING_MAX_BYTES = 32_767
"""In UTF-8."""
ID_PREFIX_MAX_BYTES = STRING_MAX_BYTES - len("-01234567-89ab-cdef-0123-456789abcdef")
"""A new member's id begins with its client's id or its instance id, which leave room for the rest."""
_CHARACTER_MAX_BYTES = 4
PARTITIONS_MAX = 200_000
"""The limit for all topics of a group together; no real cluster has more."""
_IS_ID = re.compile("[A-Za-z0-9_-]{22}")
_NO_ID = "A" * 22


def unfit_value(request: msgspec.Struct, text: str | bytes | None = None) -> str:
    """Which string of a request is too long, or why its topics are refused; "" if it is fine. text: its JSON."""
    is_short = text is not None and holds_no_long_string(text)
    return ("" if is_short else unfit_string(request)) or _unfit_cluster(request)


def holds_no_long_string(text: str | bytes) -> bool:
    """Whether a JSON text is so short that no string in it can be too long; cheap, for nearly every text is."""
    is_counted = isinstance(text, bytes) or text.isascii()
    return len(text) * (1 if is_counted else _CHARACTER_MAX_BYTES) <= ID_PREFIX_MAX_BYTES


def unfit_string(message: msgspec.Struct) -> str:
    """Which string of a message is too long, those of its parts included, and by how much; "" if none is."""
    found = _too_long(message, "")
    return found or (unfit_id_prefix(message) if isinstance(message, JoinGroupRequest) else "")


def unfit_id_prefix(request: JoinGroupRequest) -> str:
    """Which id is too long for the new member id that begins with it; "" if none is, or no member id is asked for."""
    if request.member_id:
        return ""
    name = "client_id" if request.group_instance_id is None else "group_instance_id"
    length = _length(getattr(request, name))
    if length <= ID_PREFIX_MAX_BYTES:
        return ""
    return f"{name}: has {length} bytes, {ID_PREFIX_MAX_BYTES} at most where a new member's id begins with it"


def _too_long(value: Any, path: str) -> str:
    if isinstance(value, str):
        length = _length(value)
        return f"{path}: has {length} bytes, {STRING_MAX_BYTES} at most" if length > STRING_MAX_BYTES else ""
    if isinstance(value, list):
        return next(filter(None, (_too_long(item, f"{path}[{place}]") for place, item in enumerate(value))), "")
    if isinstance(value, msgspec.Struct):
        prefix = f"{path}." if path else ""
        names = value.__struct_fields__
        return next(filter(None, (_too_long(getattr(value, name), f"{prefix}{name}") for name in names)), "")
    return ""


def _length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


# ---------------------------------------------------------------- topics


def _unfit_cluster(request: msgspec.Struct) -> str:
    """Why the topics in a request are refused; "" if they are fine, or if it has none."""
    if not isinstance(request, ConsumerGroupHeartbeatRequest) or not request.cluster_topics:
        return ""
    below = next((topic for topic, partitions in request.cluster_topics.items() if partitions < 0), None)
    if below is not None:
        return f"cluster_topics: a topic has {request.cluster_topics[below]} partitions"
    unfit = next((text for text in (request.topic_ids or {}).values() if not is_topic_id(text)), None)
    if unfit is not None:
        return f"topic_ids: {unfit[:100]!r} is not an id of a topic"
    return "" if is_believable(request.cluster_topics) else f"cluster_topics: more than {PARTITIONS_MAX} partitions"


def is_believable(topics: Mapping[str, int]) -> bool:
    """Whether a cluster may have these numbers of partitions, by topic."""
    return sum(topics.values()) <= PARTITIONS_MAX


def is_topic_id(text: str) -> bool:
    """Whether this is a Kafka Uuid as text; the one of zeros stands for none."""
    return _IS_ID.fullmatch(text) is not None and text != _NO_ID
