"""What is remembered of a rebalance under way: who set it off, who joined and left, who kept the others waiting.

Only the history needs it; knows no group and no member.
"""

from __future__ import annotations

from copy import copy

import msgspec

from rollcall.schemas.causes import LEFT, Cause, EndCause


class MemberPart(msgspec.Struct):
    """A member's part in the rebalance that is under way."""

    client_id: str
    client_host: str
    group_instance_id: str | None
    joined_at_ms: int | None = None
    synced_at_ms: int | None = None
    gone_at_ms: int | None = None
    """When the others stopped waiting for it although it had not joined."""
    held_others_ms: int = 0


class Rebalance(msgspec.Struct):
    """The rebalance that is under way, from its first sign until the group is Stable, Empty or rebalances anew."""

    cause: Cause
    started_at_ms: int
    from_generation_id: int
    members_before: int
    parts: dict[str, MemberPart] = {}
    """By member id."""
    joined: list[str] = []
    left: list[str] = []
    expired: list[str] = []
    gone: list[str] = []
    """These four hold the names of members that joined or went during the rebalance; `gone`: it is not known how."""
    last_progress_at_ms: int = 0
    join_phase_ended_at_ms: int | None = None
    """None while members are awaited."""
    gone_bytes: int = 0
    """Bytes kept here of members and ids that are gone; see `protocol.members`."""

    def note_gone(self, name: str, end_cause: EndCause) -> None:
        """Notes that a member has gone, by how it went; one that was replaced has not."""
        if end_cause in LEFT:
            self.left.append(name)
        elif end_cause is EndCause.UNKNOWN:
            self.gone.append(name)
        elif end_cause is not EndCause.STATIC_MEMBER_REPLACED:
            self.expired.append(name)

    def copy(self) -> Rebalance:
        other = copy(self)
        other.parts = {member_id: copy(part) for member_id, part in self.parts.items()}
        other.joined, other.left = self.joined.copy(), self.left.copy()
        other.expired, other.gone = self.expired.copy(), self.gone.copy()
        return other
