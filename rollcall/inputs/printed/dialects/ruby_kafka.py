"""What ruby-kafka prints: ids between backticks, tags in brackets before a message, and no generation.

Source: `lib/kafka/consumer_group.rb` and `consumer.rb` of 0.5 to 1.5.
"""

from __future__ import annotations

import re

from rollcall.inputs.printed.dialects.dialect import Dialect, Heading
from rollcall.inputs.printed.lines.entries import Entry
from rollcall.inputs.printed.logged_facts import FactKind as F
from rollcall.inputs.printed.templates import Template, Templates

_BEGINS = re.compile(
    r"(?:Joining|Joined|Leaving) group `|Chosen as leader of group `|Partitions assigned for `|"
    r"Error (?:sending heartbeat|committing offsets): Kafka::|Group rebalance in progress, re-joining|"
    r"Failed to join group; resetting member id|Failed to find coordinator for group `"
)
_TAG = re.compile(r"\[(?P<group_id>[^\[\]\s]+)\] \{")


def ruby_kafka_heading(entry: Entry) -> Heading | None:
    """The message; the tag before its partitions is the group."""
    text = entry.printed
    found = _BEGINS.search(text)
    if found is None:
        return None
    tag = _TAG.search(text[: found.start()])
    fields = {} if tag is None else {"group_id": tag["group_id"]}
    return Heading(fields, text[found.start() :].rstrip(". "))


_TEMPLATES = (
    Template(F.JOIN_SENT, "Joining group `{group_id}`"),
    Template(F.JOINED, "Joined group `{group_id}` with member id `{member_id}`"),
    Template(F.PARTITIONS_ADDED, "Partitions assigned for `{partitions}"),
    Template(F.LEAVE_SENT, "Leaving group `{group_id}`"),
    Template(F.GROUP_IS_REBALANCING, "Error sending heartbeat: Kafka::RebalanceInProgress"),
    Template(F.GROUP_IS_REBALANCING, "Group rebalance in progress, re-joining"),
    *(
        Template(F.MEMBERSHIP_LOST, f"Error sending heartbeat: Kafka::{error}", error=error)
        for error in ("UnknownMemberId", "IllegalGeneration")
    ),
    Template(F.MEMBERSHIP_LOST, "Failed to join group; resetting member id and retrying in 1s"),
    Template(F.COMMIT_REFUSED, "Error committing offsets: Kafka::{error}"),
    Template(F.COORDINATOR_LOST, "Failed to find coordinator for group `{group_id}`; retrying"),
)

DIALECT = Dialect(
    name="ruby-kafka",
    title="ruby-kafka's log",
    marks=(" group `", "Partitions assigned for `", "Kafka::", "Group rebalance in progress", "resetting member id"),
    example="I, [2026-03-01T03:12:00.417000 #1]  INFO -- : [orders] {topics}: {}",
    heading=ruby_kafka_heading,
    templates=Templates(_TEMPLATES),
    warns_of=(F.GROUP_IS_REBALANCING, F.MEMBERSHIP_LOST, F.COORDINATOR_LOST),
)
