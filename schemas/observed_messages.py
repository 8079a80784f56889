"""GroupObserved: what a recording proves of a group and no request in it says. No client sends it, nobody answers it.

A replay puts it among the recorded requests: a group that was formed before the recording began, a coordinator that
moved, a member whose last request left no line. See `schemas.messages`.
"""

from __future__ import annotations

from schemas.membership_messages import JoinGroupProtocol
from schemas.shapes import Request, Response, Shape


class ObservedMember(Shape, kw_only=True):
    """A member that is seen to be one. protocols, assignment: null where unknown, then what is known stays."""

    member_id: str
    group_instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    protocols: list[JoinGroupProtocol] | None = None
    assignment: bytes | None = None


class GoneMember(Shape, kw_only=True):
    """A member, or an id given out, that is seen to be one no longer. end_cause: the word for why, `unknown` too."""

    member_id: str
    end_cause: str


class ObservedOffset(Shape, kw_only=True):
    """An offset that is seen to be committed; -1: none is."""

    topic: str
    partition: int
    committed_offset: int
    leader_epoch: int = -1
    metadata: str = ""


class GroupObservedRequest(Request, tag="GroupObserved", kw_only=True):
    """What is seen of a group, all of it inferred; null where nothing is. why: what proves it.

    is_away: its coordinator is gone, and with it every timer and all that waits for an answer. is_loaded: another one
    took the group over, or the same one anew; every member has a whole session. is_complete: who is not among
    `members` is no member any more. gone: removed as by their session timer, with a rebalance where that leads to one.
    is_silent: nothing was seen up to now, so that time alone has passed; no other fact stands beside it.
    """

    group_id: str
    why: str
    is_silent: bool = False
    is_away: bool = False
    is_loaded: bool = False
    is_complete: bool = False
    state: str | None = None
    generation_id: int | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader_id: str | None = None
    members: list[ObservedMember] = []
    gone: list[GoneMember] = []
    offsets: list[ObservedOffset] = []


class GroupObservedResponse(Response, kw_only=True):
    """Nobody is told anything."""
