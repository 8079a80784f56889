"""How a member went, concluded from when it was heard of last: the topic never says it.

The rules, with their reasons, stand in docs/offsets-topic.md under "How a member went"; change both together. Knows
commits and timeouts; must not know a record or a fact.
"""

from __future__ import annotations

from dataclasses import dataclass

from offsets_topic.history.state import Commits
from schemas.causes import EndCause

CLOSED_WITHIN_MS = 1_000
"""A client that closes commits and leaves within this time."""
COMMIT_INTERVAL_MS = 5_000
"""auto.commit.interval.ms as clients are shipped: so much may lie between a poll and the commit that tells of it."""
CONSUMER_SESSION_MS = 45_000
"""group.consumer.session.timeout.ms as brokers are shipped; the topic does not hold it."""
LONGEST_HEARTBEAT_MS = 5_000
"""group.consumer.heartbeat.interval.ms as brokers are shipped, and more than a classic client's usual 3 s."""
REJOIN_MS = 5_000
"""How long the others usually take to learn of a classic rebalance and rejoin; the topic does not tell it."""
FENCED_WITHIN_MS = 1_000
"""How exactly a rebalance timeout is kept."""


@dataclass(frozen=True)
class Verdict:
    """How a member went."""

    end_cause: EndCause
    is_inferred: bool = True
    candidates: tuple[EndCause, ...] = ()
    """All that fits, where the end is unknown."""


REPLACED = Verdict(EndCause.STATIC_MEMBER_REPLACED, is_inferred=False)


@dataclass(frozen=True)
class Evidence:
    """What the topic holds of a member that went."""

    gone_by_ms: int
    """When it went, or the latest moment at which it can have gone."""
    is_exact: bool
    """It went at gone_by_ms and not before."""
    heard_ms: int
    """Its latest commit or record of its own, else since when it was known."""
    commits: Commits
    session_timeout_ms: int
    """-1 where the topic does not say."""
    rebalance_timeout_ms: int
    is_static: bool
    is_away: bool = False
    """It had said that it leaves and means to return."""
    unrevoked_since_ms: int | None = None
    """Since when it had been asked for partitions and not given them up."""
    went_with_others: bool = False
    """One request removed it and others."""

    @property
    def silence_ms(self) -> int:
        """At most so long it had not been heard of."""
        return self.gone_by_ms - self.heard_ms

    @property
    def session_ms(self) -> int:
        return self.session_timeout_ms if self.session_timeout_ms >= 0 else CONSUMER_SESSION_MS

    @property
    def went_without_a_word(self) -> bool:
        """It used to commit, and did not when it went: a client that is closed commits what it has consumed.

        One commit, or two that are as far apart as the silence, show no habit.
        """
        if self.commits.last_ms is None or not self.commits.longest_gap_ms:
            return False
        since_ms = self.gone_by_ms - self.commits.last_ms
        return since_ms > max(CLOSED_WITHIN_MS + self._leeway_ms, self.commits.longest_gap_ms)

    @property
    def _leeway_ms(self) -> int:
        return 0 if self.is_exact else REJOIN_MS

    @property
    def may_have_a_shorter_session(self) -> bool:
        """Its session timeout is not known, and it was silent for longer than between two heartbeats or commits."""
        usual_ms = max(2 * self.commits.longest_gap_ms, LONGEST_HEARTBEAT_MS)
        return self.session_timeout_ms < 0 and self.silence_ms > usual_ms

    @property
    def fits_expiry(self) -> bool:
        """Whether the silence is as long as that of a member whose session ran out, and not longer."""
        longest_ms = max(self.session_ms // 3, LONGEST_HEARTBEAT_MS) + max(
            self.commits.longest_gap_ms, COMMIT_INTERVAL_MS
        )
        return self.session_ms <= self.silence_ms <= self.session_ms + longest_ms + self._leeway_ms

    @property
    def fits_poll_timeout(self) -> bool:
        """Likewise of a member that did not poll in time."""
        longest_ms = max(self.commits.longest_gap_ms, COMMIT_INTERVAL_MS) + LONGEST_HEARTBEAT_MS
        return self.is_poll_timeout_possible and (
            self.silence_ms <= self.rebalance_timeout_ms + longest_ms + self._leeway_ms
        )

    @property
    def is_poll_timeout_possible(self) -> bool:
        return not self.is_static and self.silence_ms >= self.rebalance_timeout_ms - 2 * COMMIT_INTERVAL_MS

    @property
    def is_expiry_possible(self) -> bool:
        """A commit restarts a session, so one within the session timeout excludes that it ran out.

        Of the newer protocol the timeout is not known, so only a commit just before it went excludes it.
        """
        if self.session_timeout_ms >= 0:
            return self.silence_ms >= self.session_timeout_ms
        return self.silence_ms > CLOSED_WITHIN_MS


def judge(e: Evidence) -> Verdict:
    """How a member went: one end where one alone fits, else all that do. The first rule that applies holds."""
    since_ms = e.unrevoked_since_ms
    if since_ms is not None and abs(e.gone_by_ms - since_ms - e.rebalance_timeout_ms) <= FENCED_WITHIN_MS:
        return Verdict(EndCause.REBALANCE_TIMEOUT)
    if e.is_away:
        return Verdict(EndCause.SESSION_EXPIRED)
    if e.went_with_others:
        return Verdict(EndCause.ADMIN_REMOVED)
    if e.is_static:
        return _static(e)
    if e.is_exact and e.commits.last_ms is not None and e.gone_by_ms - e.commits.last_ms <= CLOSED_WITHIN_MS:
        return Verdict(EndCause.MEMBER_LEFT)
    if e.went_without_a_word:
        fitting = [
            end
            for end, fits in (
                (EndCause.SESSION_EXPIRED, e.is_expiry_possible and e.fits_expiry),
                (EndCause.POLL_TIMEOUT, e.fits_poll_timeout),
            )
            if fits
        ]
        if len(fitting) == 1:
            return Verdict(fitting[0])
        if fitting or e.may_have_a_shorter_session:
            return _open(e)
    if e.silence_ms < e.session_ms and not e.is_poll_timeout_possible:
        return Verdict(EndCause.MEMBER_LEFT)
    return _open(e)


def _static(e: Evidence) -> Verdict:
    """A static member does not say that it goes, unless it is told to; an administrator can remove it."""
    if e.silence_ms >= e.session_ms:
        return Verdict(EndCause.SESSION_EXPIRED)
    if e.session_timeout_ms >= 0:
        return Verdict(EndCause.UNKNOWN, candidates=(EndCause.ADMIN_REMOVED, EndCause.MEMBER_LEFT))
    return Verdict(
        EndCause.UNKNOWN, candidates=(EndCause.SESSION_EXPIRED, EndCause.ADMIN_REMOVED, EndCause.MEMBER_LEFT)
    )


def _open(e: Evidence) -> Verdict:
    """All that fits. A member that left may have had nothing to commit."""
    ends = [EndCause.MEMBER_LEFT]
    if e.is_poll_timeout_possible:
        ends.append(EndCause.POLL_TIMEOUT)
    if e.is_expiry_possible:
        ends.append(EndCause.SESSION_EXPIRED)
    if len(ends) == 1:
        return Verdict(EndCause.MEMBER_LEFT)
    return Verdict(EndCause.UNKNOWN, candidates=tuple(ends))


def returning(verdict: Verdict, e: Evidence) -> tuple[EndCause, ...]:
    """What of an open verdict still fits if the same member id comes back: it was not closed."""
    left = [end for end in verdict.candidates if end is not EndCause.MEMBER_LEFT]
    if len(left) > 1 and not e.fits_expiry:
        left = [end for end in left if end is not EndCause.SESSION_EXPIRED]
    return tuple(left)
