"""An alarm, and what a home remembers of alarms: which are open, what is still to be sent, what was sent.

One file, `alerts.json`, replaced as a whole before anything is sent: whenever the program is killed, an alarm keeps the
id that it was opened with, and what was not sent is sent again. Knows no receiver and no trouble.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal

import msgspec

from programs.errors import UserError
from tables.whole_file import write_whole
from views.view import Severity

FILE = "alerts.json"
MOST_SENT = 1_000
"""This many of what was sent are remembered."""

Event = Literal["opened", "closed", "goes_on"]


class Alarm(msgspec.Struct, frozen=True):
    """A group's trouble of one kind, from when it was found until it is over. Times in ms since the epoch."""

    id: str
    group_id: str
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


class Due(msgspec.Struct):
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


class Kept(msgspec.Struct):
    """The file's content."""

    open: dict[str, Alarm] = msgspec.field(default_factory=dict)
    """By `key_of`."""
    due: list[Due] = msgspec.field(default_factory=list)
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
    return f"{kind} {group_id}"


def id_of(group_id: str, kind: str, since_ms: int) -> str:
    """The same id for the same trouble, so that no receiver gets it under two ids."""
    return hashlib.sha256(f"{group_id}\0{kind}\0{since_ms}".encode()).hexdigest()[:16]


def read_kept(home: Path) -> Kept:
    """What a home remembers. Raises UserError: the file cannot be read."""
    try:
        return msgspec.json.decode((home / FILE).read_bytes(), type=Kept)
    except FileNotFoundError:
        return Kept()
    except (OSError, msgspec.MsgspecError) as error:
        raise UserError(f"{home / FILE}: cannot be read: {error}") from None


def write_kept(home: Path, kept: Kept) -> None:
    """Raises OSError."""
    write_whole(home / FILE, msgspec.json.encode(kept))
