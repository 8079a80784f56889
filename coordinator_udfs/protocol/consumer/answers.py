"""The answer to a ConsumerGroupHeartbeat: what a member gets, and with which message it is refused.

Knows the shape of the answer; knows no state of a group.
"""

from __future__ import annotations

from typing import NamedTuple

from rollcall.coordinator_udfs.protocol.answers import answer
from rollcall.coordinator_udfs.protocol.consumer.group import Owned
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    ConsumerGroupAssignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupTopicPartitions,
)

API = "ConsumerGroupHeartbeat"


class Refusal(NamedTuple):
    """Why a request is refused; the message is for people."""

    error: Error
    message: str


def refuse(request: ConsumerGroupHeartbeatRequest, refusal: Refusal, turn: Turn) -> None:
    """An error: no member id, no epoch."""
    response = ConsumerGroupHeartbeatResponse(error_code=refusal.error, error_message=refusal.message)
    answer(request, API, refusal.error, response, turn, request.member_id, request.member_epoch)


def accept(
    request: ConsumerGroupHeartbeatRequest,
    turn: Turn,
    *,
    member_id: str,
    member_epoch: int,
    heartbeat_interval_ms: int = 0,
    assigned: Owned | None = None,
) -> None:
    """A member's epoch and assignment; assigned: what it may use, None if it knows that already."""
    assignment = None
    if assigned is not None:
        lists = [ConsumerGroupTopicPartitions(topic_name=t, partitions=sorted(assigned[t])) for t in sorted(assigned)]
        assignment = ConsumerGroupAssignment(topic_partitions=lists)
    response = ConsumerGroupHeartbeatResponse(
        member_id=member_id,
        member_epoch=member_epoch,
        heartbeat_interval_ms=heartbeat_interval_ms,
        assignment=assignment,
    )
    answer(request, API, Error.NONE, response, turn, member_id, member_epoch)
