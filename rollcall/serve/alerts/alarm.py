"""An alarm, and what a home remembers of alarms: which are open, what is still to be sent, what was sent.

One file, `alerts.json`, replaced as a whole before anything is sent: whenever the program is killed, an alarm keeps the
id that it was opened with, and what was not sent is sent again. Knows no receiver and no trouble.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from rollcall.answers.views.view import Severity
from rollcall.programs.errors import UserError
from rollcall.programs.visible import visible
from rollcall.tables.whole_file import write_whole

FILE = "alerts.json"
MOST_SENT = 1_000
"""This many of what was sent are remembered."""
NAME_BYTES, WHO_BYTES = 200, 80
"""Maximum lengths of a group's and of a client's name in UTF-8."""
SENTENCE_BYTES, WHY_BYTES, COST_BYTES = 180, 300, 250
"""Maximum lengths of an alarm's texts in UTF-8: each receiver takes them, however each writes them."""
GROUP_PAGE = "/group?"

Event = Literal["opened", "closed", "goes_on"]


class Alarm(msgspec.Struct, frozen=True):
    """A group's trouble of one kind, from when it was found until it ended. Times in ms since the epoch."""

    id: str
    group_id: str
    """Shortened if it is longer than NAME_BYTES: `id` tells such groups apart."""
    kind: str
    since_ms: int
    opened_ms: int
    sentence: str
    """What was found."""
    link: str
    closed_ms: int | None = None
    severity: Severity = "warning"
    why: str = ""
    """What happened, in the sentence of `why`; empty: no rebalance of the group's is part of it."""
    who: str = ""
    """The client that set that off."""
    cost: str = ""
    """How far the group fell behind, or is behind; empty: that is not known."""

    @property
    def text(self) -> str:
        """All that is known of it, in sentences."""
        return ". ".join(part.rstrip(".") for part in (self.sentence, self.why, self.cost) if part) + "."


class DueMessage(msgspec.Struct):
    """A message that a receiver has not got yet."""

    receiver: str
    event: Event
    alarm: Alarm
    since_ms: int
    """When it was first due."""
    next_ms: int
    tries: int = 0


class Sent(msgspec.Struct, frozen=True):
    """A message that a receiver got, or that was given up."""

    at_ms: int
    receiver: str
    event: Event
    alarm: Alarm
    answer: str


class AlarmsFile(msgspec.Struct):
    """The file's content."""

    open: dict[str, Alarm] = msgspec.field(default_factory=dict)
    """By `key_of`."""
    due: list[DueMessage] = msgspec.field(default_factory=list)
    """In the order in which they came."""
    sent: list[Sent] = msgspec.field(default_factory=list)
    sent_count: int = 0
    """How many were sent ever, those of `sent` last."""
    covered: set[str] = msgspec.field(default_factory=set)
    """The ids of troubles that are there and belong to an alarm that is or was open."""

    def remember(self, sent: Sent) -> None:
        self.sent = [*self.sent, sent][-MOST_SENT:]
        self.sent_count += 1


def key_of(group_id: str, kind: str) -> str:
    """Return the key of a group's trouble of one kind; it begins with the kind. group_id: the whole name."""
    if not _is_long(group_id):
        return f"{kind} {group_id}"
    # No key of a short name has a zero behind the kind.
    return f"{kind}\0{hashlib.sha256(group_id.encode()).hexdigest()}"


def id_of(group_id: str, kind: str, since_ms: int) -> str:
    """The same id for the same trouble, so that no receiver gets it under two ids."""
    return hashlib.sha256(f"{group_id}\0{kind}\0{since_ms}".encode()).hexdigest()[:16]


def bounded(alarm: Alarm) -> Alarm:
    """Return the alarm with short names and texts in which no character acts; a short group name stays exact.

    The link of a group whose name is too long leads to the page's list of groups.
    """
    group_id, link = alarm.group_id, alarm.link
    if _is_long(group_id):
        group_id, link = _shown(group_id, NAME_BYTES), link.rpartition(GROUP_PAGE)[0] or link
    return replace(
        alarm,
        group_id=group_id,
        link=link,
        sentence=_shown(alarm.sentence, SENTENCE_BYTES),
        why=_shown(alarm.why, WHY_BYTES),
        who=_shown(alarm.who, WHO_BYTES),
        cost=_shown(alarm.cost, COST_BYTES),
    )


def _is_long(group_id: str) -> bool:
    return len(group_id.encode()) > NAME_BYTES


def _shown(text: str, most_bytes: int) -> str:
    """Return the visible text, shortened in the middle."""
    if len(text) > 2 * most_bytes:
        # Nothing between them is shown.
        text = text[:most_bytes] + text[-most_bytes:]
    encoded = visible(text).encode()
    if len(encoded) <= most_bytes:
        return encoded.decode()
    half = (most_bytes - len("…".encode())) // 2
    return f"{encoded[:half].decode(errors='ignore')}…{encoded[-half:].decode(errors='ignore')}"


def read_kept(home: Path) -> AlarmsFile:
    """Return what a home remembers; an earlier version kept names and texts whole.

    Raises UserError: the file cannot be read.
    """
    try:
        kept = msgspec.json.decode((home / FILE).read_bytes(), type=AlarmsFile)
    except FileNotFoundError:
        return AlarmsFile()
    except (OSError, msgspec.MsgspecError) as error:
        raise UserError(f"{home / FILE}: cannot be read: {error}") from None
    kept.open = {
        key_of(alarm.group_id, alarm.kind) if _is_long(alarm.group_id) else key: bounded(alarm)
        for key, alarm in kept.open.items()
    }
    for due in kept.due:
        due.alarm = bounded(due.alarm)
    kept.sent = [replace(one, alarm=bounded(one.alarm)) for one in kept.sent]
    return kept


def write_kept(home: Path, kept: AlarmsFile) -> None:
    """Raises OSError."""
    write_whole(home / FILE, msgspec.json.encode(kept))
