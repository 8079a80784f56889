"""What sarama prints (Go): no levels, and no group in most lines.

Source: `consumer_group.go`, `consumer.go` and `client.go` of 1.22 to 1.60; errors of joins by sarama-cluster. A
consumer's errors go to a channel, so the application prints them in words of its own around sarama's.
"""

from __future__ import annotations

import re

from rollcall.inputs.printed.dialects.dialect import Dialect
from rollcall.inputs.printed.dialects.go_clients import go_heading
from rollcall.inputs.printed.logged_facts import HEARTBEATS_STOPPED, SESSION_RELEASED
from rollcall.inputs.printed.logged_facts import FactKind as F
from rollcall.inputs.printed.templates import Template, Templates

_BEGINS = re.compile(
    r"consumergroup/|consumer/broker/\d+ (?:added|abandoned|closed dead) subscription to |"
    r"JoinGroup failed: group instance id |client/coordinator coordinator for |"
    r"client was not authorized to access group |consumer-group/claim |"
    r"kafka: error while consuming |rebalance error: kafka server: "
)
_OUT_OF_STEP = (
    "kafka server: The provided member is not known in the current generation",
    "kafka server: The provided generation id is not the current generation",
    "kafka server: A rebalance for the group is in progress. Please re-join the group",
)


_TEMPLATES = (
    Template(
        F.CLIENT_STATE,
        "consumergroup/session/{member_id}/{generation_id} heartbeat loop stopped",
        state=HEARTBEATS_STOPPED,
    ),
    Template(F.CLIENT_STATE, "consumergroup/session/{member_id}/{generation_id} released", state=SESSION_RELEASED),
    Template(
        F.REJOIN_WANTED,
        "consumergroup/{group_id} loop check partition number {} changed from {number} to {number}",
        reason="its topic's metadata has changed",
    ),
    Template(F.MEMBERSHIP_LOST, "consumergroup/{group_id}: lost ownership of {partitions} due to {error}"),
    Template(F.INSTANCE_FENCED, "JoinGroup failed: group instance id {instance_id} has been fenced"),
    Template(F.COORDINATOR_FOUND, "client/coordinator coordinator for consumergroup {group_id} is #{broker_id} ({})"),
    Template(F.COORDINATOR_FOUND, "client/coordinator coordinator for consumergroup {group_id} is #{broker_id}"),
    Template(
        F.COORDINATOR_LOST,
        "rebalance error: kafka server: Request was for a consumer group that is not coordinated by this broker",
        reason="NOT_COORDINATOR",
    ),
    Template(F.JOIN_REFUSED, "rebalance error: kafka server: {error}"),
    Template(
        F.NOT_AUTHORIZED, "client was not authorized to access group {group_id} while attempting to find coordinator"
    ),
    Template(F.PARTITIONS_ADDED, "consumer/broker/{broker_id} added subscription to {partitions}"),
    Template(
        F.TAKEN_TOO_SLOWLY,
        "consumer/broker/{broker_id} abandoned subscription to {partitions} because consuming was taking too long",
        reason="Consumer.MaxProcessingTime",
    ),
    Template(
        F.CLIENT_STATE,
        "consumer/broker/{broker_id} abandoned subscription to {partitions} because {reason}",
        state="subscription abandoned",
    ),
    Template(
        F.CLIENT_STATE,
        "consumer/broker/{broker_id} closed dead subscription to {partitions}",
        state="subscription closed",
    ),
    *(
        Template(F.COMMIT_REFUSED, f"kafka: error while consuming {{partitions}}: {error}", error=error)
        for error in _OUT_OF_STEP
    ),
)

DIALECT = Dialect(
    name="sarama",
    title="sarama's log (Go)",
    marks=(
        "consumergroup",
        "consumer/broker/",
        "JoinGroup failed: group instance id",
        "client was not authorized to access group ",
        "consumer-group/claim ",
        "client/coordinator coordinator for ",
        "kafka: error while consuming ",
        "rebalance error: kafka server: ",
    ),
    example="[Sarama] 2026/03/01 03:12:00 {}",
    heading=go_heading(_BEGINS),
    templates=Templates(_TEMPLATES),
    warns_of=(F.COORDINATOR_LOST,),
)
