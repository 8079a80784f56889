"""Decodes the bytes of a classic group's members: what they subscribe to, what they own, what they are given.

Knows the two protocol types whose bytes can be read, consumer and connect: for Connect a topic is a connector and its
partitions are tasks, with -1 for the connector itself, as in Connect's own bytes. Must not know rebalances. No answer
to a client depends on anything here.
"""

from __future__ import annotations

from rollcall.schemas.connect_protocol import decode_worker_assignment, decode_worker_state
from rollcall.schemas.consumer_protocol import decode_assignment, decode_subscription, decode_topics
from rollcall.schemas.effects import TopicPartitions
from rollcall.schemas.layout import LayoutError
from rollcall.schemas.makers import by_topic

CONSUMER = "consumer"
CONNECT = "connect"


def topics_of(protocol_type: str | None, metadata: bytes) -> list[str] | None:
    """The topics a consumer subscribes to; None if they cannot be read from the bytes."""
    if protocol_type != CONSUMER:
        return None
    try:
        return sorted(decode_topics(metadata))
    except LayoutError:
        return None


def claimed(protocol_type: str | None, metadata: bytes) -> list[TopicPartitions] | None:
    """What a member claims to own as it joins; None if it cannot be read from the bytes."""
    try:
        if protocol_type == CONSUMER:
            return by_topic(decode_subscription(metadata).owned_partitions)
        return by_topic(decode_worker_state(metadata).owned) if protocol_type == CONNECT else None
    except LayoutError:
        return None


def owned(protocol_type: str | None, metadata: bytes, assignment: bytes) -> list[TopicPartitions] | None:
    """What a member owns from its assignment on; None if it cannot be read from the bytes. Connect's incremental
    assignments list what is new and what is revoked: the rest is what the worker claimed as it joined. metadata: the
    member's for the protocol that was chosen.
    """
    if protocol_type not in (CONSUMER, CONNECT):
        return None
    try:
        if protocol_type == CONNECT:
            kept = decode_worker_state(metadata).owned if metadata else ()
            return by_topic(decode_worker_assignment(assignment).kept_by(kept) if assignment else kept)
        return by_topic(decode_assignment(assignment).partitions) if assignment else []
    except LayoutError:
        return None


def gives_up(protocol_type: str | None, metadata: bytes, assignment: bytes) -> bool:
    """Whether an assignment takes away what the member said it owned; it must join again so that others can get it."""
    if protocol_type not in (CONSUMER, CONNECT) or not assignment:
        return False
    try:
        if protocol_type == CONNECT:
            return bool(decode_worker_assignment(assignment).revoked)
        claims = decode_subscription(metadata).owned_partitions
        return bool(set(claims) - set(decode_assignment(assignment).partitions))
    except LayoutError:
        return False
