"""The shapes that come out of a log: requests with their recorded answers, and lines that are not requests.

Knows the shapes; knows no line's text and no rule of the protocol.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from rollcall.coordinator_udfs.protocol.consumer.refusals import JOIN
from rollcall.inputs.request_log.lines.files import LogLine
from rollcall.inputs.request_log.lines.wire import Message
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    ConsumerGroupHeartbeatRequest,
    GroupRequest,
    JoinGroupResponse,
    Response,
    SyncGroupRequest,
)

UNITS_MS = (60_000, 30_000, 15_000, 10_000, 5_000, 1_000, 500, 100, 10, 1)
"""People set round numbers: the roundest that fits is the likeliest."""


@dataclass(slots=True)
class SessionBounds:
    """A session is longer than `outlived_ms` and at most `ended_ms`; 0: not known."""

    outlived_ms: int = 0
    ended_ms: int = 0

    def narrow(self, outlived_ms: int, ended_ms: int) -> None:
        """Adds a silence: both bounds hold, unless they contradict each other; then the session timeout has changed."""
        lower = max(self.outlived_ms, outlived_ms)
        upper = min(ended for ended in (self.ended_ms, ended_ms) if ended) if self.ended_ms or ended_ms else 0
        if upper and lower >= upper:
            lower, upper = outlived_ms, ended_ms
        self.outlived_ms, self.ended_ms = lower, upper

    def hold(self, session_ms: int) -> bool:
        """Whether a session of this length is possible."""
        return self.outlived_ms < session_ms and (not self.ended_ms or session_ms <= self.ended_ms)

    @property
    def likely_ms(self) -> int:
        """The roundest length between the bounds, if there are several the middle one; 0: there is no upper bound."""
        if not self.ended_ms:
            return 0
        middle = (self.outlived_ms + self.ended_ms) // 2
        for unit in UNITS_MS:
            fitting = range((self.outlived_ms // unit + 1) * unit, self.ended_ms + 1, unit)
            if fitting:
                return min(fitting, key=lambda each: abs(each - middle))
        return self.ended_ms

    @property
    def text(self) -> str:
        """As a report says it: 7.4 to 9.1 s."""
        return f"{self.outlived_ms / 1000:.1f} to {self.ended_ms / 1000:.1f} s"


_REASONS_KEPT = 200
"""At most this many reasons to pass a line over are counted apart: there are fewer than a hundred APIs."""
_OTHER = "other lines"


class Recorded(msgspec.Struct, eq=False, gc=False):
    """What the broker answered."""

    error: Error
    """The answer's error: the first that is not NONE."""
    answered_at_ms: int
    """When the answer had been sent."""
    total_ms: float
    """From the arrival of the request to answered_at_ms."""
    remote_ms: float
    """How long the request was parked."""
    sending_ms: float
    """How long sending took, once the answer was known."""
    wire: Any
    """The answer as the log has it, with all its groups."""
    message: Message
    """How this version of the API is read."""
    group_id: str | None = None
    """Which group of the answer this is about; None for all of them."""
    _response: Response | None = None

    @property
    def response(self) -> Response:
        """The answer as a message, only for this group."""
        if self._response is None:
            response = self.message.response(self.wire)
            if self.group_id is not None:
                for name in ("groups", "results", "responses"):
                    of_group = [part for part in getattr(response, name, ()) if part.group_id == self.group_id][:1]
                    if of_group:
                        setattr(response, name, of_group)
            self._response = response
        return self._response


class LoggedRequest(msgspec.Struct, eq=False, gc=False):
    """One request for one group, as the log has it."""

    group_id: str
    request: GroupRequest
    recorded: Recorded
    began_ms: float
    """The earliest time at which the broker worked on it, ms since the epoch with fractions."""
    until_ms: float
    """The latest time at which the broker worked on it."""
    broker: str
    """The broker's end of the connection."""
    was_refused: bool = False
    """Answered before it reached its group: its coordinator loads, is elsewhere, or may not answer."""
    is_taken: bool = False
    """Whether its place in the order is decided."""
    line: LogLine | None = None
    """The line it is in; None if it need not be read again."""
    part: int = 0
    """Its place among the requests of that line."""
    needs_newer_group: bool = False
    """A commit or fetch of a member of the newer protocol: no request, unless a heartbeat of its group was seen."""

    @property
    def member_id(self) -> str:
        """The member that sent it; empty if it names none."""
        return getattr(self.request, "member_id", "")

    @property
    def joins_consumers(self) -> bool:
        """Whether it asks to join a consumer group."""
        return isinstance(self.request, ConsumerGroupHeartbeatRequest) and self.request.member_epoch == JOIN

    @property
    def is_assigned(self) -> bool:
        """Whether the answer to a heartbeat of a consumer group has partitions."""
        assignment = self.recorded.wire.assignment
        return assignment is not None and bool(assignment.topic_partitions)

    @property
    def answered_epoch(self) -> int:
        """The epoch that a heartbeat's answer shows, without the one that its join brought; -1: it shows none."""
        request = self.request
        if not isinstance(request, ConsumerGroupHeartbeatRequest) or self.recorded.error is not Error.NONE:
            return -1
        shown: int = self.recorded.wire.member_epoch - (request.member_epoch == JOIN)
        return -1 if request.member_epoch < JOIN else shown

    @property
    def synced_generation_id(self) -> int | None:
        """The generation of a SyncGroup that was accepted; None: it is none."""
        is_synced = isinstance(self.request, SyncGroupRequest) and self.recorded.error is Error.NONE
        return getattr(self.request, "generation_id", None) if is_synced else None

    @property
    def joined_generation_id(self) -> int:
        """The generation that a JoinGroup's answer shows; -1: it shows none."""
        response = self.recorded.response if self.recorded.error is Error.NONE else None
        return response.generation_id if isinstance(response, JoinGroupResponse) else -1

    @property
    def classic_generation_id(self) -> int:
        """The same of a classic group; the answer of a consumer group names no leader."""
        generation_id = self.joined_generation_id
        return generation_id if generation_id >= 0 and self.recorded.wire.leader else -1


class OrderedRequest(msgspec.Struct, eq=False, gc=False):
    """A request whose time and place are final: apply them in this order.

    The requests of a group rise by received_at_ms and request_seq, and so do those of all groups together.
    """

    group_id: str
    request: GroupRequest
    recorded: Recorded | None
    """The recorded answer; None for a request without a line that answers prove."""


class Quarantined(msgspec.Struct):
    """A line that cannot be understood."""

    file: str
    line: int
    """Its number in its file, from 1."""
    reason: str
    text: str
    """The line itself, cut off where it is very long."""


class GivenUp(msgspec.Struct):
    """A group that is no longer followed: no order of its requests was found within the work allowed for a line."""

    request_id: str
    """The request at which it was given up, by its file and line."""
    left_out: int = 0
    """How many requests are left out, from that one on."""


OF_LAG = "tells of lag: "
"""The prefix of the reason why a line of Fetch, ListOffsets or DeleteRecords is skipped: it is read for lag only."""

BLANK, OTHER_LINE = "a blank line", "another logger's line"
"""Reasons why a line that is not a request logger's is skipped."""


@dataclass(slots=True)
class Tally:
    """How a log's lines were treated; used + skipped + quarantined = read."""

    read: int = 0
    used: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    """Lines that are passed over, by reason."""
    quarantined: Counter[str] = field(default_factory=Counter)
    """Bad lines, by the kind of reason; the lines themselves go to the caller."""
    examples: dict[str, str] = field(default_factory=dict)
    """The first bad line of each kind, with its whole reason."""
    inferred: Counter[str] = field(default_factory=Counter)
    """Requests without a line, by why they were added."""
    unsettled: Counter[str] = field(default_factory=Counter)
    """Recorded answers that no order of the requests explains, by API."""
    given_up: dict[str, GivenUp] = field(default_factory=dict)
    """The groups that are no longer followed."""
    sessions: dict[str, SessionBounds] = field(default_factory=dict)
    """Of consumer groups: how long their sessions are, as far as silences show it."""
    first_at_ms: int | None = None
    """The first timestamp of the log."""
    last_at_ms: int | None = None
    """The latest timestamp of the log."""

    def skip(self, reason: str, lines: int = 1) -> None:
        """Counts lines that are passed over."""
        is_apart = reason in self.skipped or len(self.skipped) < _REASONS_KEPT or reason.startswith(OF_LAG)
        self.skipped[reason if is_apart else _OTHER] += lines

    @property
    def is_of_requests(self) -> bool:
        """Whether any line is a request logger's."""
        return self.used + self.quarantined.total() > 0 or not self.skipped.keys() <= {BLANK, OTHER_LINE}

    @property
    def of_lag(self) -> int:
        """How many of the skipped lines are read for lag."""
        return sum(lines for reason, lines in self.skipped.items() if reason.startswith(OF_LAG))

    def add(self, later: Tally) -> None:
        """Adds the tally of later lines of the log, or of other groups."""
        self.read += later.read
        self.used += later.used
        for reason, lines in later.skipped.items():
            self.skip(reason, lines)
        self.quarantined.update(later.quarantined)
        self.inferred.update(later.inferred)
        self.unsettled.update(later.unsettled)
        self.examples = {**later.examples, **self.examples}
        self.given_up.update(later.given_up)
        self.sessions.update(later.sessions)
        if self.first_at_ms is None:
            self.first_at_ms = later.first_at_ms
        if later.last_at_ms is not None:
            self.last_at_ms = max(self.last_at_ms or 0, later.last_at_ms)


def given_up(tally: Tally) -> Iterator[str]:
    """A sentence for each group that was given up."""
    for group_id, at in sorted(tally.given_up.items()):
        yield (
            f"  gave up on group {group_id} at {at.request_id}, where no order of its requests was found in time; "
            f"{at.left_out} of its requests are left out"
        )
