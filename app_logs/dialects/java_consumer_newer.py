"""What the Java consumer prints of the newer protocol (KIP-848): `ConsumerMembershipManager` of Kafka 3.9 to 4.3."""

from __future__ import annotations

from app_logs.logged_facts import FactKind as F
from app_logs.templates import Template

OF_THE_NEWER_PROTOCOL = (
    Template(
        F.CLIENT_STATE,
        "Member {member_id} with epoch {generation_id} transitioned from {state} to {to_state}",
        since="3.9",
    ),
    Template(F.POLL_TIMEOUT, "Consumer poll timeout has expired. {}", since="3.9"),
    Template(
        F.POLL_TIMEOUT,
        "Time between subsequent calls to poll() was longer than the configured max.poll.interval.ms, exceeded "
        "approximately by {length_ms} ms. Member {member_id} will rejoin the group now",
        since="3.9",
    ),
    Template(
        F.MEMBERSHIP_LOST,
        "ConsumerGroupHeartbeatRequest failed for member {member_id} because epoch {} is fenced. {}",
        since="3.9",
    ),
    Template(
        F.MEMBERSHIP_LOST,
        "ConsumerGroupHeartbeatRequest failed for member {} because member {member_id} is unknown. {}",
        since="3.9",
    ),
    Template(F.CLOSED, "Completed leaving the group", since="3.9"),
)
