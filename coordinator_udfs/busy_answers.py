"""The answer to a request that a group has no room to put off: the coordinator is busy, so the client sends it again.

Its error is Kafka's COORDINATOR_LOAD_IN_PROGRESS, on which every client waits and sends the request again. Knows the
shapes of answers; knows no group.
"""

from __future__ import annotations

from rollcall.schemas.effects import Reply
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import ClientGroupRequest, Response
from rollcall.schemas.refusals import refusal

BUSY = Error.COORDINATOR_LOAD_IN_PROGRESS
THROTTLE_MS = 1000
"""How long a client must wait after its request was put off, or refused because it could not be."""


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
