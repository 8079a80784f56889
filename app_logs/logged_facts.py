"""What one printed line says about a group: its kind, and what it names.

A fact is what the line states, not what follows from it. Knows the shape alone; knows no library's wording.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from app_logs.entries import Clock


class FactKind(StrEnum):
    """What a line states. The first part is printed by brokers, the second by clients."""

    # Classic groups.
    REBALANCE_BEGAN = "rebalance_began"
    """generation_id is the old one; reason is the coordinator's."""
    JOIN_PHASE_ENDED = "join_phase_ended"
    ASSIGNMENT_RECEIVED = "assignment_received"
    GROUP_EMPTIED = "group_emptied"
    MEMBER_EXPIRED = "member_expired"
    MEMBER_LEFT = "member_left"
    PENDING_MEMBER_LEFT = "pending_member_left"
    PENDING_MEMBER_EXPIRED = "pending_member_expired"
    MEMBER_ID_GIVEN = "member_id_given"
    MEMBER_ADDED = "member_added"
    STATIC_MEMBER_REPLACED = "static_member_replaced"
    """member_id is the old id, other_member_id the new one where the line has it."""
    STATIC_JOIN_WITHOUT_REBALANCE = "static_join_without_rebalance"
    """Names nobody: it belongs to the line before it."""
    MEMBER_FENCED = "member_fenced"
    """member_id lost against other_member_id."""
    MEMBERS_NOT_BACK = "members_not_back"
    """member_ids had not rejoined when the rebalance timeout was over, and were removed."""
    LEADER_NOT_BACK = "leader_not_back"
    NOBODY_BACK = "nobody_back"
    # A coordinator and its groups.
    PARTITION_LOADING = "partition_loading"
    PARTITION_LOADED = "partition_loaded"
    PARTITION_UNLOADED = "partition_unloaded"
    GROUP_TAKEN_OVER = "group_taken_over"
    MEMBER_LOADED = "member_loaded"
    GROUP_UNLOADED = "group_unloaded"
    GROUPS_DELETED = "groups_deleted"
    """member_ids holds the ids of the groups."""
    GROUP_DIED = "group_died"
    WRITE_FAILED = "write_failed"
    BROKER_STARTED = "broker_started"
    BROKER_STOPPING = "broker_stopping"
    # Groups of the newer protocols.
    MEMBER_JOINED_EPOCH = "member_joined_epoch"
    MEMBER_LEFT_EPOCH = "member_left_epoch"
    MEMBER_EXPIRED_EPOCH = "member_expired_epoch"
    MEMBER_TOO_SLOW_EPOCH = "member_too_slow_epoch"
    """It did not give partitions up within its rebalance timeout (length_ms)."""
    MEMBER_SUBSCRIBED = "member_subscribed"
    EPOCH_BUMPED = "epoch_bumped"
    """reason is the hash of the subscribed topics' metadata."""
    TARGET_COMPUTED = "target_computed"
    PATTERNS_SCANNED = "patterns_scanned"
    MEMBER_PROGRESSED = "member_progressed"
    GROUP_CONVERTED = "group_converted"

    # A client about itself.
    JOIN_SENT = "join_sent"
    REJOIN_WANTED = "rejoin_wanted"
    """reason is the client's; `group is already rebalancing` or its like: others began."""
    GROUP_IS_REBALANCING = "group_is_rebalancing"
    CONFIGS_BEHIND = "configs_behind"
    """A Connect worker's own config topic does not reach the offset of its assignment, so it rejoins."""
    JOINED = "joined"
    ASSIGNED_ALL = "assigned_all"
    """A leader's assignment for all members; partitions is its text."""
    SYNCED = "synced"
    PARTITIONS_ADDED = "partitions_added"
    PARTITIONS_REVOKED = "partitions_revoked"
    PARTITIONS_LOST = "partitions_lost"
    POLL_TIMEOUT = "poll_timeout"
    LEAVE_SENT = "leave_sent"
    MEMBERSHIP_LOST = "membership_lost"
    """The coordinator no longer knows the member or its generation."""
    SESSION_GIVEN_UP = "session_given_up"
    """The client gave up by its own clock: no answer from the coordinator within its session timeout."""
    INSTANCE_FENCED = "instance_fenced"
    JOIN_REFUSED = "join_refused"
    SYNC_REFUSED = "sync_refused"
    COMMIT_REFUSED = "commit_refused"
    COORDINATOR_FOUND = "coordinator_found"
    COORDINATOR_LOST = "coordinator_lost"
    CLIENT_STATE = "client_state"
    """state is what the client calls where it is now."""
    CLIENT_FAILED = "client_failed"
    CLOSED = "closed"


class LoggedFact(NamedTuple):
    """One line's statement. Empty text, None or an empty tuple where the line does not have it."""

    kind: FactKind
    file: str
    line_number: int
    at_ms: int | None
    clock: Clock = Clock.NONE
    is_whole_seconds: bool = False
    dialect: str = ""
    """Who prints such lines: the dialect's name, as `broker` or `java`."""
    broker_id: str = ""
    """The broker that printed it, or of a client's line the broker it names."""
    partition: int | None = None
    """Of __consumer_offsets."""
    group_id: str = ""
    group_type: str = ""
    generation_id: int | None = None
    """The generation or epoch that the line names."""
    member_id: str = ""
    other_member_id: str = ""
    member_ids: tuple[str, ...] = ()
    instance_id: str = ""
    client_id: str = ""
    client_host: str = ""
    state: str = ""
    to_state: str = ""
    reason: str = ""
    client_reason: str = ""
    partitions: str = ""
    """Topic partitions, as printed."""
    members: int | None = None
    length_ms: int | None = None
    operation: str = ""
    error: str = ""
    is_static: bool | None = None
    is_certain: bool = True
    """False: the line can be read in two ways, or a client may have written it."""
