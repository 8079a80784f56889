"""What kafka-python and aiokafka have in common: aiokafka began as a copy of kafka-python, wording and all.

The logger tells them apart. Where a layout leaves it out, only what no other client prints is believed.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from rollcall.inputs.printed.dialects.dialect import Heading
from rollcall.inputs.printed.lines.entries import Entry
from rollcall.inputs.printed.lines.python_layouts import LEVEL, SEPARATORS, asides_length
from rollcall.inputs.printed.logged_facts import LEADS
from rollcall.inputs.printed.logged_facts import FactKind as F
from rollcall.inputs.printed.templates import Template, Templates

UNKNOWN_MEMBER = "UNKNOWN_MEMBER_ID"
OLD_GENERATION = "ILLEGAL_GENERATION"
_DOTTED = re.compile(r"(?<![\w.])[a-z_]\w{0,60}(?:\.\w{1,60}){1,10}(?![\w.])")
_HEAD_LENGTH = 200
_REST = re.compile(rf"{SEPARATORS}(?:{LEVEL}(?=[\s|:-]))?[\s|:,\])-]{{0,40}}")


_BEHIND = re.compile(
    r"(?:, [a-z_]\w{0,60}-[\w<>]{1,80}-\d{1,6}| \[(?:run|poll|close|\w{0,60}_\w{1,60})(?::\d{1,6})?\])\Z"
)
"""Module, function and line, or the function alone, where a layout has them at the end."""


def python_heading(loggers: frozenset[str], own: tuple[Template, ...], name: str) -> Callable[[Entry], Heading | None]:
    """The message, without a final dot, of a line by one of these loggers, or by none in words of its own.

    A member id that begins with the library's name is such a word.
    """
    unmistakable = Templates(own)

    def heading(entry: Entry) -> Heading | None:
        message = _message_by(entry, loggers)
        if message is None and not entry.logger:
            message = _bare(entry)
            is_own = f" member_id {name}-" in message or unmistakable.match(message, by_client=True) is not None
            message = message if is_own else None
        return None if message is None else Heading({}, message)

    return heading


def _message_by(entry: Entry, loggers: frozenset[str]) -> str | None:
    """The message, without a final dot, of an entry that one of these loggers printed; None: none of them did.

    In a layout that no rule knows, a logger's name before the message is enough.
    """
    message = _BEHIND.sub("", entry.printed).rstrip(". ")
    if entry.logger in loggers:
        return message
    if not entry.logger:
        for found in _DOTTED.finditer(message, 0, _HEAD_LENGTH):
            if found[0] in loggers:
                rest = _REST.match(message, found.end())
                return message[found.end() if rest is None else rest.end() :]
    return None


def without_logger(entry: Entry) -> Heading | None:
    """The message of a line whose layout has no logger."""
    return None if entry.logger else Heading({}, _bare(entry))


def _bare(entry: Entry) -> str:
    """The message alone, without a level, a thread or a process before it."""
    text = _BEHIND.sub("", entry.printed).rstrip(". ")
    return text[asides_length(text) :]


IN_BOTH = (
    Template(F.JOIN_SENT, "(Re-)joining group {group_id}", since="1.3, 0.5"),
    Template(
        F.JOINED, "Joined group '{group_id}' (generation {generation_id}) with member_id {member_id}", since="1.3, 0.5"
    ),
    Template(
        F.GROUP_IS_REBALANCING, "Heartbeat failed for group {group_id} because it is rebalancing", since="1.3, 0.5"
    ),
    Template(
        F.PARTITIONS_ADDED, "Setting newly assigned partitions {partitions} for group {group_id}", since="1.3, 0.5"
    ),
    Template(
        F.PARTITIONS_REVOKED,
        "Revoking previously assigned partitions {partitions} for group {group_id}",
        since="1.3, 0.5",
    ),
    Template(F.HEARTBEAT, "Heartbeat: {group_id}[{generation_id}] {member_id}", since="1.3, 0.5"),
    Template(F.HEARTBEAT, "Heartbeat: {group_id}[{generation_id}]", since="1.3, 0.5"),
    Template(
        F.CLIENT_STATE,
        "Elected group leader -- performing partition assignments using {}",
        since="1.3, 0.5",
        state=LEADS,
    ),
    Template(F.HEARTBEATS_UNANSWERED, "Heartbeat session expired - marking coordinator dead", since="1.3, 0.5"),
    Template(
        F.MEMBERSHIP_LOST,
        "Heartbeat failed for group {group_id}: generation id is not  current",
        since="1.3, 0.5",
        error=OLD_GENERATION,
    ),
    Template(F.COORDINATOR_FOUND, "Discovered coordinator {broker_id} for group {group_id}", since="1.3, 0.5"),
    Template(
        F.COORDINATOR_LOST,
        "Heartbeat failed for group {group_id}: coordinator (node {}) is either not started or not valid",
        since="1.3, 0.5",
        reason="NOT_COORDINATOR",
    ),
)
"""Each since a version of kafka-python, and one of aiokafka."""
