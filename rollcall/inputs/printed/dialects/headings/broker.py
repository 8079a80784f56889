"""What a broker prints before a message about groups: which coordinator, which partition, which group.

Knows the prefixes of Scala's coordinator (Kafka 0.9 to 3.9) and of Java's (3.7 and later). Must not know messages.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from rollcall.inputs.printed.dialects.dialect import Heading
from rollcall.inputs.printed.lines.entries import Entry
from rollcall.inputs.printed.templates import Templates

_PREFIX = re.compile(
    r"\[(?:GroupCoordinator|GroupMetadataManager|Group Metadata Manager on Broker)"
    r" (?:(?:id|brokerId)=)?(?P<broker_id>\d{1,10})(?: topic=__consumer_offsets partition=(?P<partition>\d{1,9}))?\]:? "
)
_BEFORE = re.compile(r"[A-Za-z][\w-]{0,30}:? +(?:[A-Z]{4,5} +)?(?=\[Group(?:Coordinator|MetadataManager) )")
"""A reporter's own word for who prints it, and a level behind that."""
PRINTS_NO_REBALANCES = (
    "its first line is laid out as Redpanda's are: Redpanda prints rebalances only at TRACE, and no such line is in "
    "it. The logs of the group's clients show these clients' part"
)
_PLACE = r"[\w/:.-]{1,60}\.(?:cc|h):\d{1,6} - "
"""The place in the source, which stands before a message."""
_OF_REDPANDA = re.compile(rf"\[shard +\d{{1,4}}(?::\w{{1,20}})?\] [\w/:.-]{{1,60}} - {_PLACE}")
"""Seastar's layout with the place in the source. ScyllaDB's, which is Seastar's too, has none."""
_IN_REDPANDA = re.compile(_PLACE + r"(?=\[N:)")
_CUT_LOGGER = re.compile(r" \((?:k|ka|kaf|kafk|kafka|kafka\.[\w.$]*|o|or|org|org\.[\w.$]*)?$")
"""A line that is cut within the class that printed it has its whole message."""
_LONGEST_PREFIX = 200
_OTHER_PROGRAMS = re.compile(r"\[(?:\w*Consumer|Worker|Producer|AdminClient|Share\w+|kafka-\w+) ")
_JOINS_EVENT_HUBS = re.compile(
    r"Start join group for new member:? (?P<member_id>[^\s:]{1,255}:c:(?P<group_id>[^\s:,]{1,255}):I:[^\s,]{1,400}),"
)
"""What Azure Event Hubs prints, as JSON. A member id has the namespace, the group and the client id in it."""


def is_laid_out_as_redpanda_s(line: str) -> bool:
    """Whether a line has the layout of Redpanda's log."""
    return _OF_REDPANDA.search(line) is not None


def heading_of(_: Templates) -> Callable[[Entry], Heading | None]:
    """The reader of a broker's lines."""
    return broker_heading


def broker_heading(entry: Entry) -> Heading | None:
    """The prefix's fields, and the message without its final dot, which only newer versions print."""
    text = entry.printed
    if not entry.message and text.startswith("[Group"):
        return _behind_its_prefix(text)
    joins = _JOINS_EVENT_HUBS.match(entry.message)
    if joins is not None:
        return Heading({"group_id": joins["group_id"], "reason": f"Adding new member {joins['member_id']}"}, text)
    in_redpanda = _IN_REDPANDA.match(text)
    if in_redpanda is not None:
        return Heading({}, text[in_redpanda.end() :])
    behind = _BEFORE.match(text)
    return _behind_its_prefix(text if behind is None else text[behind.end() :])


def _behind_its_prefix(text: str) -> Heading | None:
    length, fields = _prefix(text[: text.find("]", 0, _LONGEST_PREFIX) + 3])
    if not length and _OTHER_PROGRAMS.match(text):
        return None
    if text.rfind(" (") > text.rfind(")"):
        text = _CUT_LOGGER.sub("", text)
    return Heading(fields, text[length:].rstrip("."))


@lru_cache(maxsize=256)
def _prefix(text: str) -> tuple[int, dict[str, Any]]:
    """The length and the fields of a prefix, which a broker prints before each message; 0: it is none."""
    found = _PREFIX.match(text)
    if found is None:
        return 0, {}
    fields: dict[str, Any] = {"broker_id": found["broker_id"]}
    if found["partition"]:
        fields["partition"] = int(found["partition"])
    return found.end(), fields
