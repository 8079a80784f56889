"""Members of a classic group, ids that were given out, and parked requests: a parked request is data on its member.

Knows only shapes: the group adds, changes and removes them. Source: Kafka's ClassicGroupMember.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class ParkedJoin(msgspec.Struct):
    """A JoinGroup whose answer waits for the end of the join phase."""

    request_id: str
    api_version: int
    received_at_ms: int
    recorded_leader_id: str | None = None
    """As in JoinGroupRequest."""


class ParkedSync(msgspec.Struct):
    """A SyncGroup whose answer waits for the leader's assignment."""

    request_id: str
    api_version: int
    received_at_ms: int


class Member(msgspec.Struct):
    member_id: str
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: dict[str, bytes]
    """Name to metadata, in the member's order of preference."""
    joined_at_ms: int
    group_instance_id: str | None = None
    assignment: bytes = b""
    is_new: bool = False
    """True while its first JoinGroup is parked."""
    parked_join: ParkedJoin | None = None
    parked_sync: ParkedSync | None = None
    session_deadline_ms: int | None = None
    """None while no session timer runs."""
    last_seen_at_ms: int = 0
    """Its last accepted request of any kind."""
    has_known_timeouts: bool = True
    """False where a recording shows the member but not its JoinGroup; then its timers do not run."""
    session_start: int = 0
    """The number of its session timer, in the order in which the group started them."""

    @property
    def name(self) -> str:
        """Its name in the history: the client id, or the instance id where there is no client id."""
        return self.client_id or self.group_instance_id or self.member_id

    @property
    def supported(self) -> Iterable[str | None]:
        """The names of its protocols; one None if they are unknown, as for a member that only a recording shows."""
        return self.protocols.keys() or (None,)

    @property
    def has_satisfied_heartbeat(self) -> bool:
        """True while a parked request keeps the member alive; a first, parked JoinGroup does not."""
        return not self.is_new and (self.parked_join is not None or self.parked_sync is not None)


class PendingMember(msgspec.Struct):
    """An id given out with MEMBER_ID_REQUIRED that has not come back yet; never static."""

    member_id: str
    client_id: str
    client_host: str
    session_deadline_ms: int
    session_start: int = 0
