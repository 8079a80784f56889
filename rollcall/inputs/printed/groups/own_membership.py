"""What one client's lines say of its own membership: its ids, when it became a member, and why it is one no longer.

Knows one client's facts of one group in order. Must not know rebalances, nor how lines are worded.
"""

from __future__ import annotations

from typing import NamedTuple

from rollcall.inputs.printed.groups.leaders import listed
from rollcall.inputs.printed.groups.logged_holdings import JOINS
from rollcall.inputs.printed.groups.reasons import Reason, cause_of, left
from rollcall.inputs.printed.logged_facts import (
    LEAVE_REFUSED,
    OWN_ENDS,
    FactKind,
    LoggedFact,
    between_ms,
    is_dated,
    is_unknown_member,
    says_that_it_is_no_member,
)
from rollcall.inputs.printed.logged_rebalances import inferred
from rollcall.inputs.tolerances import LEFT_WITHIN_MS
from rollcall.schemas.causes import Cause, CauseKind

STALE, UNSUBSCRIBED = "STALE", "UNSUBSCRIBED"
"""States of a member of the newer protocol that has left: it polled too late, or closed."""
REMOVED = ("FENCED", "FATAL")
"""States of one that its coordinator has removed."""
_LEFT_FOR_A_WHILE = -2
"""The epoch that a static member leaves with, which brings no new epoch of the group."""
_OUT = (STALE, UNSUBSCRIBED, *REMOVED)
_WITHOUT_POLL_TIMEOUT = ("brod", "franz-go", "kafka-go", "ruby-kafka", "sarama")
"""Clients that have no max.poll.interval.ms of their own."""


class Came(NamedTuple):
    """A client is a member by now."""

    line: LoggedFact
    is_inferred: bool
    """It may have been one before."""


class Went(NamedTuple):
    """A member is none by now."""

    line: LoggedFact
    member_id: str
    reason: Reason


class Listed(NamedTuple):
    """A client leads, and assigns partitions to all members."""

    line: LoggedFact
    member_ids: tuple[str, ...]


Event = Came | Went | Listed


class OwnMembership:
    """One client, whose lines are taken in order."""

    def __init__(self) -> None:
        self.events: list[tuple[int, Event]] = []
        """By dated lines, and when: never before the line before."""
        self.member_id = self.client_id = self.instance_id = ""
        """The latest that lines have."""
        self.reason = Reason(CauseKind.UNKNOWN)
        """Why it is not a member, by the latest line that says so."""
        self.knew_that_it_was_out = False
        """Its coordinator had removed it before the latest line by which it leaves."""
        self.stays = False
        """By the latest line it is a static member that is away for a while."""
        self.lost: LoggedFact | None = None
        """Its coordinator's answer that it is not a member; the lines do not show that it joined since."""
        self.last_join: LoggedFact | None = None
        """None: it is not a member."""
        self._at_ms = 0
        self._current_id = self._gone_id = ""
        """Of the member that it is, and of the one that it was."""
        self._has_asked = False
        self._wish = ""
        """Why its application wants it to leave."""
        self._latest: LoggedFact | None = None

    def take(self, line: LoggedFact) -> None:
        if is_dated(line):
            self._at_ms = max(self._at_ms, line.at_ms or 0)
        is_set = line.kind is FactKind.MEMBER_ID_SET
        self.member_id = line.member_id if is_set else line.member_id or self.member_id
        self.client_id = line.client_id or self.client_id
        self.instance_id = line.instance_id or self.instance_id
        self._has_asked |= line.kind in (FactKind.CLIENT_STARTED, FactKind.JOIN_SENT)
        self._wish = line.reason if line.kind is FactKind.LEAVE_WANTED else self._wish
        self.stays = _stays(line)
        is_out = line.to_state in _OUT
        is_in = line.kind in JOINS and line.member_id and (line.generation_id or 0) > 0 and not is_out
        if is_in and (self._has_asked or line.member_id != self._gone_id):
            self._come(line)
        elif line.state == LEAVE_REFUSED:
            self._refuse_leave(line)
        elif not self.stays and (is_out or _ends(line)):
            self._go(line)
        elif line.kind is FactKind.ASSIGNED_ALL and line.partitions.endswith("}") and (ids := tuple(listed(line))):
            self._add(Listed(line, ids))
        if says_that_it_is_no_member(line):
            self.lost = line
        elif line.kind in (*JOINS, FactKind.SYNCED) and not is_out:
            self.lost = None
        self._latest = line

    def cause(self, reason: Reason) -> Cause:
        """Return a reason of its own as a cause, with the ids that it is known by now."""
        return cause_of(reason._replace(member_id=reason.member_id or self.member_id), self.client_id)

    def inferred(self, kind: CauseKind) -> Cause:
        """Return a cause by it that only follows from lines."""
        return inferred(kind, self.member_id, self.client_id)

    @property
    def name(self) -> str:
        """The first of its ids that is known."""
        return self.instance_id or self.member_id or self.client_id

    def _add(self, event: Event) -> None:
        if self._at_ms:
            self.events.append((self._at_ms, event))

    def _come(self, line: LoggedFact) -> None:
        if self._current_id not in ("", line.member_id):
            self._add(Went(line, self._current_id, Reason(CauseKind.UNKNOWN)))
        self._add(Came(line, is_inferred=not self._has_asked or line.member_id == self._current_id))
        self._current_id, self._has_asked, self._wish = line.member_id, False, ""
        self.last_join = line

    def _go(self, line: LoggedFact) -> None:
        is_late = self.lost is None or (between_ms(self.lost, line) or 0) > LEFT_WITHIN_MS
        self.knew_that_it_was_out = line.kind is FactKind.LEAVE_SENT and not is_late
        self.reason = Reason(CauseKind.UNKNOWN) if self.knew_that_it_was_out else self._reason_of(line)
        is_shown = line.kind is FactKind.LEAVE_SENT and not self.knew_that_it_was_out
        member_id = self._current_id
        if not member_id and is_shown and line.member_id != self._gone_id:
            member_id = line.member_id  # It is a member, though no line has its join.
        if member_id:
            self._add(Went(line, member_id, self.reason))
            self._current_id, self._gone_id, self._has_asked = "", member_id, False
            self.last_join = None
        elif line.to_state or line.kind is FactKind.CLOSED:
            self.say_more(self.reason)

    def _reason_of(self, line: LoggedFact) -> Reason:
        words, before, is_leave = line.reason or self._wish, self._latest, line.kind is FactKind.LEAVE_SENT
        follows_timeout = before is not None and before.kind is FactKind.POLL_TIMEOUT
        if line.kind is FactKind.POLL_TIMEOUT or line.to_state == STALE or (is_leave and follows_timeout):
            return Reason(CauseKind.POLL_TIMEOUT, client_reason=words)
        if line.kind is FactKind.CLOSED or line.to_state == UNSUBSCRIBED:
            return Reason(CauseKind.MEMBER_LEFT, client_reason=words)
        if not is_leave:
            return Reason(CauseKind.UNKNOWN)
        closing = before.reason if before is not None and before.kind is FactKind.PARTITIONS_REVOKED else ""
        if not (words or closing) and line.dialect in _WITHOUT_POLL_TIMEOUT:
            return Reason(CauseKind.MEMBER_LEFT)
        return left(Reason(CauseKind.UNKNOWN, client_reason=words or closing))._replace(client_reason=words)

    def say_more(self, reason: Reason) -> None:
        """A later line shows why it went, where the one by which it went leaves that open."""
        at_ms, latest = self.events[-1] if self.events else (0, None)
        if isinstance(latest, Went) and latest.reason.candidates and reason.kind is not CauseKind.UNKNOWN:
            self.events[-1] = at_ms, latest._replace(reason=reason)

    def _refuse_leave(self, line: LoggedFact) -> None:
        """Its leave did not end the member: that had ended before, or it is one still."""
        latest = self.events[-1][1] if self.events else None
        if not self._current_id and isinstance(latest, Went):
            self.events.pop()
            self._current_id, self._gone_id = latest.member_id, ""
        if self._current_id and _ends(line):
            self._go(line)


def _stays(line: LoggedFact) -> bool:
    """Whether a static member goes for a while: until its session expires, its coordinator keeps it as a member."""
    is_by_itself = line.kind is FactKind.POLL_TIMEOUT or (bool(line.to_state) and line.to_state not in REMOVED)
    return line.generation_id == _LEFT_FOR_A_WHILE or (bool(line.instance_id) and is_by_itself)


def _ends(line: LoggedFact) -> bool:
    """Whether a client that prints this line is not a member. One that missed a generation is one."""
    if line.kind is FactKind.MEMBERSHIP_LOST:
        return is_unknown_member(line)
    return line.kind in OWN_ENDS
