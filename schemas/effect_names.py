"""The names of effects: what stands in the column `effect` of the effects table, and in `effect` of a fact's JSON.

Every reader and writer of that column takes the names from here: `rollcall.schemas.effects`, which gives each
effect its shape, and whoever reads the table. The SQL of the views spells them out; a test holds it to this list.

Knows only names; knows no shape of an effect and no column beside `effect`.
"""

from __future__ import annotations

from enum import StrEnum


class EffectName(StrEnum):
    """One kind of fact about a group; the name of its class in snake_case."""

    REPLY = "reply"
    HEARTBEATS_TAKEN = "heartbeats_taken"
    REQUEST_PARKED = "request_parked"
    REQUEST_DROPPED = "request_dropped"
    REQUEST_REPEATED = "request_repeated"
    REQUESTS_PUT_OFF = "requests_put_off"
    GROUP_CREATED = "group_created"
    GROUP_REMOVED = "group_removed"
    GROUP_OBSERVED = "group_observed"
    GROUP_FOUND = "group_found"
    GROUP_NOT_COVERED = "group_not_covered"
    STATE_CHANGED = "state_changed"
    MEMBER_ID_GIVEN = "member_id_given"
    PENDING_MEMBER_REMOVED = "pending_member_removed"
    MEMBER_JOINED = "member_joined"
    MEMBER_UPDATED = "member_updated"
    MEMBER_REMOVED = "member_removed"
    TIMER_ARMED = "timer_armed"
    REBALANCE_STARTED = "rebalance_started"
    JOIN_RECEIVED = "join_received"
    JOIN_PHASE_ENDED = "join_phase_ended"
    SYNC_RECEIVED = "sync_received"
    ASSIGNED = "assigned"
    REBALANCE_ENDED = "rebalance_ended"
    CAUSE_FOUND = "cause_found"
    OFFSETS_COMMITTED = "offsets_committed"
    OFFSETS_REMOVED = "offsets_removed"
    # Of groups that are, or were, under the newer protocol.
    GROUP_TYPE_CHANGED = "group_type_changed"
    MEMBER_SUBSCRIBED = "member_subscribed"
    MEMBER_LEFT_FOR_NOW = "member_left_for_now"
    TOPICS_SEEN = "topics_seen"
    PATTERNS_RESOLVED = "patterns_resolved"
    TARGET_ASSIGNED = "target_assigned"
    MEMBER_PROGRESSED = "member_progressed"
    GROUP_CONFIGS_CHANGED = "group_configs_changed"


LASTING = (
    EffectName.GROUP_CREATED,
    EffectName.GROUP_REMOVED,
    EffectName.GROUP_FOUND,
    EffectName.GROUP_TYPE_CHANGED,
    EffectName.STATE_CHANGED,
    EffectName.REBALANCE_STARTED,
    EffectName.MEMBER_JOINED,
    EffectName.MEMBER_UPDATED,
    EffectName.MEMBER_SUBSCRIBED,
    EffectName.MEMBER_REMOVED,
    EffectName.GROUP_CONFIGS_CHANGED,
)
"""Of each the latest of a group or member says how that is now: its state, its type, its configs, its members."""
