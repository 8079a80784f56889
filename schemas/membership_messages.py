"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup: the messages of a member. See `rollcall.schemas.messages`."""

from __future__ import annotations

from typing import Annotated, Literal

from rollcall.schemas.errors import Error
from rollcall.schemas.shapes import Int32, Int64, Request, Response, Shape, Since, Versions

# ---------------------------------------------------------------- what a replay may add

InferredJoinCause = Literal["metadata_changed", "cooperative_followup", "member_rejoined", "member_joined"]
InferredLeaveCause = Literal["member_left", "poll_timeout", "admin_removed"]

# ---------------------------------------------------------------- JoinGroup (key 11)


class JoinGroupProtocol(Shape, kw_only=True):
    name: str
    metadata: bytes


class JoinGroupRequest(Request, tag="JoinGroup", kw_only=True):
    """JoinGroup v0-9. The recorded_* fields are set by a replay only: the choices that Kafka made at random."""

    group_id: str
    session_timeout_ms: Int32
    rebalance_timeout_ms: Annotated[Int32, Since(1)] = -1
    member_id: str
    group_instance_id: Annotated[str | None, Since(5)] = None
    protocol_type: str
    protocols: list[JoinGroupProtocol]
    reason: Annotated[str | None, Since(8)] = None
    recorded_member_id: str | None = None
    """The member id to give out if a new one is needed."""
    recorded_leader_id: str | None = None
    """The leader of the generation this request led to."""
    inferred_cause: InferredJoinCause | None = None
    """Why the member joined, as later lines of the log show."""


class JoinGroupResponseMember(Shape, kw_only=True):
    member_id: str
    group_instance_id: Annotated[str | None, Since(5)] = None
    metadata: bytes


class JoinGroupResponse(Response, kw_only=True):
    throttle_time_ms: Annotated[Int32, Since(2)] = 0
    error_code: Error = Error.NONE
    generation_id: Int32 = -1
    protocol_type: Annotated[str | None, Since(7)] = None
    protocol_name: str | None = None
    leader: str = ""
    skip_assignment: Annotated[bool, Since(9)] = False
    member_id: str = ""
    members: list[JoinGroupResponseMember] = []


# ---------------------------------------------------------------- SyncGroup (key 14)


class SyncGroupAssignment(Shape, kw_only=True):
    member_id: str
    assignment: bytes


class SyncGroupRequest(Request, tag="SyncGroup", kw_only=True):
    """SyncGroup v0-5; only the leader sends assignments."""

    group_id: str
    generation_id: Int32
    member_id: str
    group_instance_id: Annotated[str | None, Since(3)] = None
    protocol_type: Annotated[str | None, Since(5)] = None
    protocol_name: Annotated[str | None, Since(5)] = None
    assignments: list[SyncGroupAssignment] = []


class SyncGroupResponse(Response, kw_only=True):
    throttle_time_ms: Annotated[Int32, Since(1)] = 0
    error_code: Error = Error.NONE
    protocol_type: Annotated[str | None, Since(5)] = None
    protocol_name: Annotated[str | None, Since(5)] = None
    assignment: bytes = b""


# ---------------------------------------------------------------- Heartbeat (key 12)


class HeartbeatRequest(Request, tag="Heartbeat", kw_only=True):
    """Heartbeat v0-4."""

    group_id: str
    generation_id: Int32
    member_id: str
    group_instance_id: Annotated[str | None, Since(3)] = None


class HeartbeatResponse(Response, kw_only=True):
    throttle_time_ms: Annotated[Int32, Since(1)] = 0
    error_code: Error = Error.NONE


# ---------------------------------------------------------------- a run of heartbeats

LONGEST_RUN_MS = 30_000
"""The most time between the first and the last heartbeat of a run."""


class MemberBeats(Shape, kw_only=True):
    """Heartbeats of one member within a run, all with the same fields."""

    member_id: str
    group_instance_id: str | None = None
    client_id: str = ""
    api_version: Int32
    """The version of these heartbeats."""
    beats: list[int]
    """When each arrived, ms after the run's from_ms, each later than the one before it."""


class HeartbeatRunRequest(Request, tag="HeartbeatRun", kw_only=True):
    """Heartbeats of one group and generation, in one request; received_at_ms is when the last of them arrived.

    No client sends it: gateways and importers pack what clients sent. Heartbeats are taken in order of time, those of
    one millisecond in the order of `members`. Each has an id of its own, see `beat_id`.
    """

    group_id: str
    generation_id: Int32
    from_ms: Int64
    """When the first of them arrived, ms since the epoch."""
    handed_on_ms: Int64 | None = None
    """When they were handed on, on the clock of from_ms; null: as soon as the last had arrived."""
    is_answered: bool = False
    """Their clients have been answered NONE already, by a gateway."""
    members: list[MemberBeats]


class HeartbeatRunResponse(Response, kw_only=True):
    """Has no fields: each heartbeat that is refused has an answer of its own."""


def beat_id(run_id: str, place: int, beat: int) -> str:
    """The request id of one heartbeat of a run. place: that of its MemberBeats in `members`; beat: as in `beats`."""
    return f"{run_id}/{place}/{beat}"


# ---------------------------------------------------------------- LeaveGroup (key 13)


class MemberIdentity(Shape, kw_only=True):
    """A member that leaves."""

    member_id: str
    group_instance_id: str | None = None
    reason: Annotated[str | None, Since(5)] = None
    inferred_cause: InferredLeaveCause | None = None
    """Set by a replay only: why the member left, as later lines of the log show."""


class LeaveGroupRequest(Request, tag="LeaveGroup", kw_only=True):
    """LeaveGroup v0-5: one member_id up to v2, a list of members from v3."""

    group_id: str
    member_id: Annotated[str, Versions(0, 2)] = ""
    members: Annotated[list[MemberIdentity], Since(3)] = []
    inferred_cause: InferredLeaveCause | None = None


class LeaveGroupResponseMember(Shape, kw_only=True):
    member_id: str
    group_instance_id: str | None = None
    error_code: Error = Error.NONE


class LeaveGroupResponse(Response, kw_only=True):
    throttle_time_ms: Annotated[Int32, Since(1)] = 0
    error_code: Error = Error.NONE
    members: Annotated[list[LeaveGroupResponseMember], Since(3)] = []
