"""GroupObserved: what a recording proves about a group although no request in it says so. No client sends it and it has
no answer.

A replay adds it to the recorded requests: for a group that was formed before the recording began, a coordinator that
moved, a member whose last request left no line. See `rollcall.schemas.messages`.
"""

from __future__ import annotations

from msgspec import field

from rollcall.schemas.membership_messages import JoinGroupProtocol
from rollcall.schemas.shapes import Int32, Int64, Request, Response, Shape


class ObservedMember(Shape, kw_only=True):
    """A member that the recording shows."""

    member_id: str
    group_instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    protocols: list[JoinGroupProtocol] | None = None
    assignment: bytes | None = None
    """Null where unknown, like `protocols`: then the group keeps what it knows."""


class ObservedConsumer(Shape, kw_only=True):
    """A member of a consumer group (KIP-848), as the answer to one request of its shows it."""

    member_id: str
    instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: Int32 = -1
    topics: list[str] | None = None
    """What it subscribes to; null where the request does not say, like `pattern`."""
    pattern: str | None = None
    member_epoch: Int32
    """The epoch that it names."""
    answered_epoch: Int32 = field(name="told_epoch")
    """The epoch in its answer; rows of homes spell it and the next field otherwise."""
    answered_partitions: dict[str, list[Int32]] | None = field(default=None, name="told_partitions")
    """The assignment in its answer; null: unchanged."""
    is_to_rejoin: bool = False
    """Whether the answer asks a classic member to join again, though its epoch is the group's."""
    protocols: list[JoinGroupProtocol] = []
    """Of a member with the classic protocol that no line shows joining, like `session_timeout_ms`; empty for others."""
    session_timeout_ms: Int32 = -1


class GoneMember(Shape, kw_only=True):
    """A member, or an id given out, that the recording shows to be gone."""

    member_id: str
    end_cause: str
    """Why it went, an `EndCause`; may be `unknown`."""


class ObservedOffset(Shape, kw_only=True):
    """A committed offset that the recording shows; -1: none is committed."""

    topic: str
    partition: Int32
    committed_offset: Int64
    leader_epoch: Int32 = -1
    metadata: str = ""


class GroupObservedRequest(Request, tag="GroupObserved", kw_only=True):
    """What a recording shows of a group, all of it inferred; null where it shows nothing."""

    group_id: str
    why: str
    """What proves it."""
    is_silent: bool = False
    """Nothing was seen until now, so only time has passed; all other fields are empty."""
    is_away: bool = False
    """Its coordinator is gone, and with it every timer and every parked request."""
    is_loaded: bool = False
    """A coordinator has loaded the group; every member has a whole session again."""
    is_complete: bool = False
    """`members` is complete."""
    state: str | None = None
    generation_id: Int32 | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader_id: str | None = None
    members: list[ObservedMember] = []
    """In a consumer group: members whose sessions continue, by their ids only."""
    gone: list[GoneMember] = []
    """Members to remove as their session timer would, with a rebalance where that leads to one."""
    offsets: list[ObservedOffset] = []
    consumer: ObservedConsumer | None = None
    """A member of a consumer group, which the group is then."""
    configs: dict[str, str] | None = None
    """All that is set for the group only; then only this is observed, and the group need not exist."""


class GroupObservedResponse(Response, kw_only=True):
    """Has no fields: GroupObserved is not answered."""
