"""The shapes that come out of a log: requests with the answers that were recorded for them, and lines that are none.

Knows the shapes; knows no line's text and no rule of the protocol.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import msgspec

from request_log.lines.files import LogLine
from request_log.lines.wire import Message
from schemas.errors import Error
from schemas.messages import GroupRequest, Response


class Recorded(msgspec.Struct, eq=False, gc=False):
    """What the broker answered. error: the one a reply is known by, the first of many that is not NONE.

    answered_at_ms: when the answer had been sent. total_ms: from arrival to then. remote_ms: how long it was parked.
    sending_ms: how long it took to be sent once it was known.
    wire: the answer as the log has it, all groups of it. group_id: which of its groups this is about, None for all.
    """

    error: Error
    answered_at_ms: int
    total_ms: float
    remote_ms: float
    sending_ms: float
    wire: Any
    message: Message
    group_id: str | None = None
    _response: Response | None = None

    @property
    def response(self) -> Response:
        """The answer as a message, for this group alone."""
        if self._response is None:
            response = self.message.response(self.wire)
            if self.group_id is not None:
                for name in ("groups", "results"):
                    of_group = [part for part in getattr(response, name, ()) if part.group_id == self.group_id][:1]
                    if of_group:
                        setattr(response, name, of_group)
            self._response = response
        return self._response


class LoggedRequest(msgspec.Struct, eq=False, gc=False):
    """One request for one group, as the log tells it.

    began_ms, until_ms: the broker worked on it at some moment between the two, ms since the epoch with fractions.
    was_refused: answered before it reached its group, as while its coordinator loads, is elsewhere, or may not answer.
    line, part: where it stands, and its place among the requests of that line; None where nobody will read it again.
    """

    group_id: str
    request: GroupRequest
    recorded: Recorded
    began_ms: float
    until_ms: float
    broker: str
    was_refused: bool = False
    is_taken: bool = False
    line: LogLine | None = None
    part: int = 0


class OrderedRequest(msgspec.Struct, eq=False, gc=False):
    """A request whose time and place are final: apply them in this order.

    The requests of a group rise by received_at_ms and request_seq, and so do those of all groups together.
    """

    group_id: str
    request: GroupRequest
    recorded: Recorded | None
    """The recorded answer; None for a request that no line says and the answers prove."""


class Quarantined(msgspec.Struct):
    """A line that cannot be understood. line: its number in its file, from 1."""

    file: str
    line: int
    reason: str
    text: str


@dataclass(slots=True)
class Tally:
    """What became of a log's lines; used + skipped + quarantined = read.

    skipped: by reason. quarantined: by reason, the lines themselves go to the caller. inferred: requests that no line
    says, by why they were made. unsettled: recorded answers that no order of the requests explains, by API.
    """

    read: int = 0
    used: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    quarantined: Counter[str] = field(default_factory=Counter)
    inferred: Counter[str] = field(default_factory=Counter)
    unsettled: Counter[str] = field(default_factory=Counter)
    first_at_ms: int | None = None
    last_at_ms: int | None = None
