"""What a group's turn may cost before the rest of it is put off to the next batch: a batch waits for its slowest group.

A batch may be run again after its effects were committed. So the end of a turn depends only on the number and sizes of
its requests and its state, never on a clock. What a group has no room to put off is answered that the coordinator is
busy: Kafka's COORDINATOR_LOAD_IN_PROGRESS, on which every client waits and sends the request again. Knows how much a
request and a fact cost, and the shapes of answers; knows no rule of the protocol.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.schemas.effect_rows import EffectRow
from rollcall.schemas.effects import Reply
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    CHANGE_MEMBERS,
    ClientGroupRequest,
    GroupObservedRequest,
    HeartbeatRunRequest,
    OffsetCommitRequest,
    Response,
    StreamRequest,
)
from rollcall.schemas.refusals import refusal

PUT_OFF_BYTES = 4_194_304
"""How many bytes of a group's requests its state keeps for the next batch; short ones may take as much again."""
_SHORT_CHARACTERS = 1000
_REQUEST_WORK = 20
HEARTBEAT_WORK = 30
"""The work of a heartbeat that only gives an answer."""
_FACT_WORK = 10
_CHARACTERS_A_UNIT = 200
_MEMBERS_A_UNIT = 2
BUSY = Error.COORDINATOR_LOAD_IN_PROGRESS
THROTTLE_MS = 1000
"""How long a client must wait after its request was put off, or refused because it could not be."""


Waiting = tuple[str, StreamRequest]
"""A request that has not been applied yet, with its text."""


class TurnBudget:
    """The work of one turn, in units of about a microsecond."""

    __slots__ = ("left",)

    def __init__(self, most: int) -> None:
        """most: how much a turn may cost; 0: any amount."""
        self.left: float = most or inf

    def spend_on_request(self, waiting: Waiting, rows: Sequence[EffectRow], group: Group) -> None:
        """Counts a request that was applied and gave these rows."""
        text, request = waiting
        self.left -= _REQUEST_WORK + len(text) // _CHARACTERS_A_UNIT
        if isinstance(request, CHANGE_MEMBERS):
            self.left -= len(group.roster.members) // _MEMBERS_A_UNIT
        self.spend_on_facts(rows, group)

    def spend_on_facts(self, rows: Iterable[EffectRow], group: Group) -> None:
        """Counts rows of a deadline or of a request."""
        self.left -= group.work + sum(_FACT_WORK + len(row.detail or "") // _CHARACTERS_A_UNIT for row in rows)
        group.work = 0


def what_is_kept(waiting: Sequence[Waiting]) -> tuple[list[Waiting], list[ClientGroupRequest]]:
    """The requests that a group's state keeps for the next batch, and those that have no room, both in order.

    Runs of heartbeats, acknowledged commits and facts from a recording are always kept, since no client sends them
    again.
    """
    kept: list[Waiting] = []
    refused: list[ClientGroupRequest] = []
    size = 0
    for each in waiting:
        text, request = each
        is_short = len(text) <= _SHORT_CHARACTERS
        size_then = size + (len(text) if text.isascii() else 4 * len(text))
        has_room = size_then <= PUT_OFF_BYTES * (2 if is_short else 1)
        is_acknowledged = isinstance(request, OffsetCommitRequest) and request.is_acknowledged
        if has_room or is_acknowledged or isinstance(request, HeartbeatRunRequest | GroupObservedRequest):
            kept.append(each)
            size = size_then
        else:
            refused.append(request)
    return kept, refused


def busy_reply(request: ClientGroupRequest, at_ms: int) -> Reply:
    """The reply to a request that is not taken; at_ms: when it is answered."""
    response = refusal(request, BUSY)
    throttle(response)
    return Reply(
        at_ms=at_ms,
        request_id=request.request_id,
        api=str(type(request).__struct_config__.tag),
        api_version=request.api_version,
        error_code=BUSY,
        member_id=getattr(request, "member_id", ""),
        client_id=request.client_id,
        generation_id=-1,
        received_at_ms=at_ms,
        response=response,
    )


def throttle(response: Response) -> None:
    """The same answer, with the time that the client must wait before its next request."""
    if "throttle_time_ms" in response.__struct_fields__:
        response.throttle_time_ms = THROTTLE_MS  # type: ignore[attr-defined]
