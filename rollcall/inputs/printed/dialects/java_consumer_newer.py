"""What the Java consumer prints of the newer protocol (KIP-848): `ConsumerMembershipManager` of Kafka 3.9 to 4.3.

Each change of a member's state is a line that has its epoch: 0 while it asks to join, -1 when it has left, -2 when a
static member has left for a while. The local epoch of `Reconciling assignment` counts the member's own assignments and
is not one of the group's. What it is to own stands in the lines behind that one.
"""

from __future__ import annotations

from rollcall.inputs.printed.logged_facts import FATAL
from rollcall.inputs.printed.logged_facts import FactKind as F
from rollcall.inputs.printed.templates import Template

RECONCILING = "Reconciling assignment with local epoch "
_REQUESTS = (("ConsumerGroupHeartbeatRequest", "3.9"), ("StreamsGroupHeartbeatRequest", "4.1"))
_CHANGES = "Member {member_id} with epoch {generation_id} transitioned from "

OF_THE_NEWER_PROTOCOL = (
    Template(F.JOIN_SENT, _CHANGES + "{state} to JOINING", since="3.9", to_state="JOINING"),
    Template(F.LEAVE_SENT, _CHANGES + "{state} to LEAVING", since="3.9", to_state="LEAVING"),
    Template(F.MEMBER_PROGRESSED, _CHANGES + "{state} to {to_state}", since="3.9"),
    Template(
        F.RECONCILING,
        RECONCILING + "{number} Member: {member_id} Assigned partitions: {partitions} Current owned partitions: {}",
        since="3.9",
    ),
    Template(F.POLL_TIMEOUT, "Consumer poll timeout has expired. {}", since="3.9"),
    Template(
        F.POLL_TIMEOUT,
        "Time between subsequent calls to poll() was longer than the configured max.poll.interval.ms, exceeded "
        "approximately by {length_ms} ms. Member {member_id} will rejoin the group now",
        since="3.9",
    ),
    *(
        Template(
            F.MEMBERSHIP_LOST,
            f"{request} failed for member {{member_id}} because epoch {{}} is fenced{rest}",
            since=since,
            error="FENCED_MEMBER_EPOCH",
        )
        for request, since in _REQUESTS
        for rest in (". {}", "")
    ),
    *(
        Template(
            F.COORDINATOR_LOST,
            f"{request} failed because the group coordinator {{}} is {words}. Will attempt to find the coordinator "
            "again and retry{}",
            since=since,
            reason=reason,
        )
        for request, since in _REQUESTS
        for words, reason in (("incorrect", "NOT_COORDINATOR"), ("not available", "COORDINATOR_NOT_AVAILABLE"))
    ),
    *(
        Template(F.MEMBERSHIP_LOST, f"{request} failed because member {{member_id}} is unknown. {{}}", since=since)
        for request, since in _REQUESTS
    ),
    Template(
        F.MEMBERSHIP_LOST,
        "ConsumerGroupHeartbeatRequest failed for member {} because member {member_id} is unknown. {}",
        since="3.9",
    ),
    *(
        Template(F.JOIN_REFUSED, f"{request} failed due to {why}: {{error}}", since=since, state=FATAL)
        for request, since in _REQUESTS
        for why in (
            "the instance id {instance_id} was not released",
            "unreleased instance id {instance_id}",
            "group authorization failure",
        )
    ),
    *(
        Template(F.INSTANCE_FENCED, f"{request} failed due to fenced instance id {{instance_id}}: {{}}", since="3.9")
        for request, _ in _REQUESTS
    ),
    *(
        Template(F.JOIN_REFUSED, f"{request} failed due to {{error}}", since=since, state=FATAL)
        for request, since in _REQUESTS
    ),
    Template(F.CLOSED, "Completed leaving the group", since="3.9"),
)
