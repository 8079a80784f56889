"""How a member left, inferred from when it was last seen: the topic never records it.

The rules, with their reasons, stand in docs/offsets-topic.md under "How a member went"; change both together. Knows
commits and timeouts; must not know a record or a fact.
"""

from __future__ import annotations

from dataclasses import dataclass

from rollcall.inputs.offsets_topic.history.state import Commits
from rollcall.inputs.tolerances import (
    CLOSED_WITHIN_MS,
    REJOINED_WITHIN_MS,
    SESSION_WITHIN_MS,
    STEPPED_WITHIN_MS,
    TIMEOUT_WITHIN_MS,
)
from rollcall.schemas.causes import EndCause

COMMIT_INTERVAL_MS = 5_000
"""auto.commit.interval.ms as clients are shipped: this may pass between a poll and its commit."""
CONSUMER_SESSION_MS = 45_000
"""group.consumer.session.timeout.ms as brokers are shipped; the topic does not hold it."""
LONGEST_HEARTBEAT_MS = 5_000
"""group.consumer.heartbeat.interval.ms as brokers are shipped, and more than a classic client's usual 3 s."""
STEADY_COMMITS = 4
"""This many commits show a rhythm."""


@dataclass(frozen=True)
class Verdict:
    """How a member left."""

    end_cause: EndCause
    is_inferred: bool = True
    candidates: tuple[EndCause, ...] = ()
    """All causes that fit, if the end is unknown."""


REPLACED = Verdict(EndCause.STATIC_MEMBER_REPLACED, is_inferred=False)
EXPIRED_OR_REPLACED = Verdict(EndCause.UNKNOWN, candidates=(EndCause.STATIC_MEMBER_REPLACED, EndCause.SESSION_EXPIRED))
"""A static member that has another id in a later generation: its session may have ended before it came back."""


@dataclass(frozen=True)
class Evidence:
    """What the topic has of a member that left."""

    gone_by_ms: int
    """When it left, or the latest moment at which it can have left."""
    is_exact: bool
    """It left at gone_by_ms and not before."""
    last_seen_ms: int
    """The time of its latest commit or own record, or since when it was known."""
    commits: Commits
    session_timeout_ms: int
    """-1 where the topic does not say."""
    rebalance_timeout_ms: int
    is_static: bool
    is_away: bool = False
    """It had announced that it leaves and means to return."""
    unrevoked_since_ms: int | None = None
    """Since when it has had partitions to give up."""
    went_with_others: bool = False
    """One request removed it and others."""
    others_commit_ms: int = 0
    """The latest commit of the group's other members."""
    last_record_ms: int = 0
    """Its latest record of its own, which a heartbeat of its own made; 0: not known."""
    unstepped_since_ms: int | None = None
    """Since when an epoch waited only for its next heartbeat."""
    longest_rebalance_ms: int = 0
    """How long the group's members have taken at most to come to an epoch."""
    group_session_ms: int = -1
    """The session timeout of the group's members of the newer protocol; -1: not known."""

    @property
    def silence_ms(self) -> int:
        """How long at most it had not been seen."""
        return self.gone_by_ms - self.last_seen_ms

    @property
    def session_ms(self) -> int:
        if self.session_timeout_ms >= 0:
            return self.session_timeout_ms
        return self.group_session_ms if self.group_session_ms >= 0 else CONSUMER_SESSION_MS

    @property
    def is_of_known_group(self) -> bool:
        """Whether its session timeout is its group's, and known."""
        return self.session_timeout_ms < 0 <= self.group_session_ms

    @property
    def stopped_committing(self) -> bool:
        """Whether it used to commit, and did not as it left: a client that is closed commits what it has consumed. One
        commit, or two as far apart as the silence, show no habit.
        """
        if self.commits.last_ms is None or not self.commits.longest_gap_ms:
            return False
        since_ms = self.gone_by_ms - self.commits.last_ms
        return since_ms > max(CLOSED_WITHIN_MS + self._leeway_ms, self.commits.longest_gap_ms)

    @property
    def fell_silent(self) -> bool:
        """Whether it committed steadily, missed a commit while others committed, and did not commit as it left: not
        closed."""
        commits, rhythm_ms = self.commits, self.commits.longest_gap_ms
        if commits.last_ms is None or commits.count < STEADY_COMMITS:
            return False
        due_ms = commits.last_ms + rhythm_ms + max(rhythm_ms // 4, CLOSED_WITHIN_MS)
        is_due = due_ms + self._leeway_ms < self.gone_by_ms
        return is_due and self.gone_by_ms - self.others_commit_ms <= rhythm_ms

    @property
    def took_no_step(self) -> bool:
        """Whether it sent no heartbeat for longer than members do. Then it was not closed, since closing sends a
        heartbeat, and it was not late to poll, since such a process still sends them."""
        since_ms = self.unstepped_since_ms
        return since_ms is not None and self.gone_by_ms - since_ms > max(STEPPED_WITHIN_MS, self.longest_rebalance_ms)

    @property
    def _leeway_ms(self) -> int:
        return 0 if self.is_exact else REJOINED_WITHIN_MS

    @property
    def is_session_known(self) -> bool:
        return self.session_timeout_ms >= 0 or self.group_session_ms >= 0

    @property
    def is_too_short_for_a_session(self) -> bool:
        """Whether the silence is too short for an expired session; an unknown session may have a few seconds."""
        if self.is_of_known_group:
            return not self.is_expiry_possible
        return self.silence_ms < (self.session_ms if self.is_session_known else LONGEST_HEARTBEAT_MS)

    @property
    def fits_expiry(self) -> bool:
        """Whether the silence is as long as that of a member whose session expired, and not longer."""
        longest_ms = max(self.session_ms // 3, LONGEST_HEARTBEAT_MS) + max(
            self.commits.longest_gap_ms, COMMIT_INTERVAL_MS
        )
        shortest_ms = self.session_ms - (LONGEST_HEARTBEAT_MS if self.is_of_known_group else 0)
        return shortest_ms <= self.silence_ms <= self.session_ms + longest_ms + self._leeway_ms

    @property
    def fits_poll_timeout(self) -> bool:
        """Likewise for a member that did not poll in time. In the newer protocol no member commits after its last
        poll."""
        longest_ms = max(self.commits.longest_gap_ms, COMMIT_INTERVAL_MS) + LONGEST_HEARTBEAT_MS
        shortest_ms = self.rebalance_timeout_ms if self.session_timeout_ms < 0 else 0
        return self.is_poll_timeout_possible and (
            shortest_ms <= self._unpolled_ms <= self.rebalance_timeout_ms + longest_ms + self._leeway_ms
        )

    @property
    def is_poll_timeout_possible(self) -> bool:
        return not self.is_static and self._unpolled_ms >= self.rebalance_timeout_ms - 2 * COMMIT_INTERVAL_MS

    @property
    def _unpolled_ms(self) -> int:
        """How long at most it had not polled. Recorded heartbeats of the newer protocol continue meanwhile."""
        if self.session_timeout_ms >= 0 or self.commits.last_ms is None:
            return self.silence_ms
        return self.gone_by_ms - self.commits.last_ms

    @property
    def is_expiry_possible(self) -> bool:
        """Whether its session can have expired: not with a commit within the session timeout, since a commit restarts
        the session. In the newer protocol it does not, and the last commit may come after the last heartbeat. If the
        timeout is not known, only a commit just before the end rules it out.
        """
        if self.session_timeout_ms >= 0:
            return self.silence_ms >= self.session_timeout_ms
        if self.group_session_ms >= 0:
            is_session_over = self.gone_by_ms - self.last_record_ms >= self.group_session_ms - SESSION_WITHIN_MS
            return is_session_over and self.silence_ms >= self.group_session_ms - LONGEST_HEARTBEAT_MS
        return self.silence_ms > CLOSED_WITHIN_MS


def judge(e: Evidence) -> Verdict:
    """How a member left: one cause if only one fits, otherwise all that fit. The first rule that applies decides."""
    since_ms = e.unrevoked_since_ms
    if since_ms is not None and abs(e.gone_by_ms - since_ms - e.rebalance_timeout_ms) <= TIMEOUT_WITHIN_MS:
        return Verdict(EndCause.REBALANCE_TIMEOUT)
    if e.is_away:
        return Verdict(EndCause.SESSION_EXPIRED)
    if e.went_with_others:
        return Verdict(EndCause.ADMIN_REMOVED)
    if e.took_no_step and e.is_expiry_possible:
        return Verdict(EndCause.SESSION_EXPIRED)
    if e.is_static:
        return _static(e)
    if e.is_exact and e.commits.last_ms is not None and e.gone_by_ms - e.commits.last_ms <= CLOSED_WITHIN_MS:
        return Verdict(EndCause.MEMBER_LEFT)
    if e.stopped_committing:
        # An unknown session may be as long as the silence.
        fits_expiry = e.fits_expiry or (e.fell_silent and not e.is_session_known)
        fits = {
            EndCause.SESSION_EXPIRED: e.is_expiry_possible and fits_expiry,
            EndCause.POLL_TIMEOUT: e.fits_poll_timeout,
        }
        fitting = [end for end, does_fit in fits.items() if does_fit]
        if len(fitting) == 1 and (e.is_session_known or e.fell_silent or fitting != [EndCause.POLL_TIMEOUT]):
            return Verdict(fitting[0])
        if fitting:
            return _open(e)
    if e.is_too_short_for_a_session and not e.is_poll_timeout_possible:
        return Verdict(EndCause.MEMBER_LEFT)
    return _open(e)


def judge_absent(e: Evidence, *, is_back: bool) -> Verdict:
    """How a member went that a later record lacks. is_back: its instance id is there under another member id. Then it
    was replaced, for certain if its session cannot have ended before.
    """
    if not is_back:
        return judge(e)
    return EXPIRED_OR_REPLACED if e.is_expiry_possible else REPLACED


def _static(e: Evidence) -> Verdict:
    """A static member sends no LeaveGroup unless configured to; an administrator can remove it."""
    if e.silence_ms >= e.session_ms or (e.fell_silent and e.is_expiry_possible):
        return Verdict(EndCause.SESSION_EXPIRED)
    expired = () if e.session_timeout_ms >= 0 else (EndCause.SESSION_EXPIRED,)
    return Verdict(EndCause.UNKNOWN, candidates=(*expired, EndCause.ADMIN_REMOVED, EndCause.MEMBER_LEFT))


def _open(e: Evidence) -> Verdict:
    """All causes that fit. A member that closed may have had nothing to commit."""
    ends = [EndCause.MEMBER_LEFT]
    if e.is_poll_timeout_possible:
        ends.append(EndCause.POLL_TIMEOUT)
    if e.is_expiry_possible:
        ends.append(EndCause.SESSION_EXPIRED)
    if len(ends) == 1:
        return Verdict(EndCause.MEMBER_LEFT)
    return Verdict(EndCause.UNKNOWN, candidates=tuple(ends))


def returning(verdict: Verdict, e: Evidence) -> tuple[EndCause, ...]:
    """The causes of an open verdict that still fit if the same member id comes back: it was not closed."""
    left = [end for end in verdict.candidates if end is not EndCause.MEMBER_LEFT]
    if len(left) > 1 and e.fits_poll_timeout and not e.fits_expiry:
        left = [end for end in left if end is not EndCause.SESSION_EXPIRED]
    return tuple(left)
