"""What a broker prints before a message about groups: which coordinator, which partition, which group.

Knows the prefixes of Scala's coordinator (Kafka 0.9 to 3.9) and of Java's (3.7 and later). Must not know messages.
"""

from __future__ import annotations

import re

from app_logs.dialects.dialect import Heading
from app_logs.entries import Entry

MARKS = (
    "roup",
    "ember",
    "__consumer_offsets",
    "Kafka startTimeMs",
    "[KafkaRaftServer ",
    "[KafkaServer ",
    "due to signal",
    "ontrolled shutdown",
)
"""A line without any of these is none of the brokers' templates'."""
_PREFIX = re.compile(
    r"\[(?:GroupCoordinator|GroupMetadataManager|Group Metadata Manager on Broker)"
    r" (?:(?:id|brokerId)=)?(?P<broker_id>\d+)(?: topic=__consumer_offsets partition=(?P<partition>\d+))?\]:? "
)
_OTHER_PROGRAMS = re.compile(r"\[(?:\w*Consumer|Worker|Producer|AdminClient|Share\w+|kafka-\w+) ")


def broker_heading(entry: Entry) -> Heading | None:
    """The prefix's fields, and the message without its final dot, which only newer versions print."""
    text = entry.text
    found = _PREFIX.match(text)
    if found is None:
        return None if _OTHER_PROGRAMS.match(text) else Heading({}, text.rstrip("."))
    fields: dict[str, object] = {"broker_id": found["broker_id"]}
    if found["partition"]:
        fields["partition"] = int(found["partition"])
    return Heading(fields, text[found.end() :].rstrip("."))
