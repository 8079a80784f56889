"""Why a group's rebalances began, by what their coordinator prints: its reasons, and the lines around them.

The line before a new epoch says who joined, left or was fenced. A changed subscription or topic has no line of its own
at the usual level: then only the hash of the topics' metadata is a sign. Knows one group's lines in order. Must not
know how lines are worded.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence, Set
from itertools import takewhile

from rollcall.inputs.printed.groups.reasons import DOWNGRADED, Reason, cause_of, gone_by
from rollcall.inputs.printed.logged_facts import REMOVED_EPOCH, FactKind, LoggedFact, between_ms
from rollcall.inputs.printed.logged_rebalances import LoggedRebalance, client_id_of, inferred
from rollcall.inputs.tolerances import AT_ONCE_MS, BACK_AFTER_LEAVE_MS, TOGETHER_MS
from rollcall.schemas.causes import GONE_FROM_AN_EPOCH, LEFT_WITHOUT_A_WORD, Cause, CauseKind, left_without_a_word

BY_A_MEMBER = REMOVED_EPOCH | {FactKind.MEMBER_JOINED_EPOCH, FactKind.PATTERNS_SCANNED}
_COMES_BACK = (FactKind.MEMBER_ID_GIVEN, FactKind.MEMBER_ADDED, FactKind.STATIC_MEMBER_REPLACED)
_BROUGHT_BY = (FactKind.MEMBER_ADDED, FactKind.MEMBER_EXPIRED)
_MISSING = Reason(CauseKind.MEMBER_LEFT, candidates=GONE_FROM_AN_EPOCH)
"""Why a member may be missing in a target assignment."""
_WITHOUT_A_LINE = (CauseKind.SUBSCRIPTION_CHANGED, CauseKind.MEMBER_JOINED, *GONE_FROM_AN_EPOCH)
"""Why an epoch began whose topics are the same: a subscription has a line only at DEBUG, or a line is missing."""
_OF_TOPICS = (CauseKind.SUBSCRIPTION_CHANGED, CauseKind.METADATA_CHANGED)


class Causes:
    """The causes of one group's rebalances.

    log_ends_ms: the time up to which all lines are read. is_elsewhere: whether other groups' topics changed at a time.
    """

    def __init__(
        self, lines: Sequence[LoggedFact], log_ends_ms: float | None, is_elsewhere: Callable[[int], bool]
    ) -> None:
        self._lines, self._log_ends_ms, self._is_elsewhere = lines, log_ends_ms, is_elsewhere
        self._came: dict[str, list[tuple[int, str]]] = {}
        """By client id: where it came, and under which member id."""
        self._silent: list[tuple[int, LoggedRebalance]] = []
        """Rebalances by a member that left without a word, and where each begins."""
        self._joins = _last_of(lines, FactKind.MEMBER_JOINED_EPOCH)
        self._seen = _last_of(lines, FactKind.MEMBER_PROGRESSED)
        self._known_hash = ""
        """Of the topics' metadata."""

    def take(self, place: int, line: LoggedFact) -> None:
        """Take a line, which may show who came."""
        if line.kind in _COMES_BACK:
            self._come(place, line.member_id)

    def _come(self, place: int, member_id: str) -> None:
        if member_id:
            self._came.setdefault(client_id_of(member_id), []).append((place, member_id))

    def of(self, place: int, reason: Reason | None, one: LoggedRebalance, removed: Sequence[LoggedFact]) -> Cause:
        """Return that of a rebalance which begins at a place. removed: who went since the one before began."""
        if removed and removed[0].kind in REMOVED_EPOCH:
            return self.of_member(place - 1)
        if reason is None:
            return self._of_the_line_before(place)
        before = self._lines[place - 1].member_id if place else ""
        if reason.member_id and before.startswith(reason.member_id):
            reason = reason._replace(member_id=before)  # Where a line is cut within the id, the one before it has it.
        if reason.kind is CauseKind.MEMBER_JOINED:
            self._come(place, reason.member_id)
        elif reason.kind is CauseKind.SYNC_TIMEOUT and reason.member_ids:
            reason = reason._replace(member_id=reason.member_ids[0])
        elif reason.candidates == LEFT_WITHOUT_A_WORD:
            reason = _leave(reason, removed)
            if reason.candidates:
                self._silent.append((place, one))
        return cause_of(reason)

    def _of_the_line_before(self, place: int) -> Cause:
        """Who came or expired just before a line that gives no reason, as those of Redpanda and Kafka 2.0 do not."""
        before, line = self._lines[max(place - 1, 0)], self._lines[place]
        after_ms = between_ms(before, line)
        is_it = not line.reason and before.kind in _BROUGHT_BY and after_ms is not None and 0 <= after_ms <= TOGETHER_MS
        kind = CauseKind.MEMBER_JOINED if before.kind is FactKind.MEMBER_ADDED else gone_by(before).kind
        return inferred(kind, before.member_id) if is_it else Cause(kind=CauseKind.UNKNOWN)

    def removed(self, place: int, gone: list[LoggedFact]) -> list[LoggedFact]:
        """Return the lines of who went before a rebalance that begins at a place.

        The reason of a downgrade names nobody: it was the member whose end is in the line before.
        """
        before, line = self._lines[max(place - 1, 0)], self._lines[place]
        if DOWNGRADED not in line.reason:
            return gone
        return [before] if before.kind in REMOVED_EPOCH and is_at_once(before, line) else []

    def settle(self) -> None:
        """Take the end of the lines: who left without a word and did not come back has closed."""
        for place, one in self._silent:
            if not self._is_back(place, one.cause.member_id):
                one.cause.kind = CauseKind.MEMBER_LEFT

    def _is_back(self, place: int, member_id: str) -> bool:
        """Whether its client id joined again, or the lines end too soon to say that it did not."""
        client_id = client_id_of(member_id)
        began_ms = self._lines[place].at_ms
        if not client_id or began_ms is None or self._log_ends_ms is None:
            return True
        if self._log_ends_ms - began_ms < BACK_AFTER_LEAVE_MS or not self._came:
            return True  # Before Kafka 3.0 a broker prints at DEBUG alone who joins while a rebalance runs.
        later = takewhile(lambda one: one[0] >= place, reversed(self._came.get(client_id, [])))
        return any(other != member_id for _, other in later)

    # ------------------------------------------------------------ epochs

    def of_member(self, place: int) -> Cause:
        """Return that of the epoch which a member's line at a place brings."""
        line = self._lines[place]
        if line.kind is FactKind.PATTERNS_SCANNED:
            return Cause(kind=CauseKind.PATTERN_RESOLVED, is_inferred=True)
        if line.kind is FactKind.MEMBER_JOINED_EPOCH:
            who = Reason(CauseKind.MEMBER_JOINED, member_id=line.member_id, instance_id=line.instance_id)
            return cause_of(who)
        cause = cause_of(gone_by(line))
        if cause.candidates:  # An id lives as long as its consumer.
            cause.kind = left_without_a_word(is_back=self._joins.get(line.member_id, -1) > place)
        return cause

    def of_epoch(self, place: int, since: Sequence[int], members: Container[str]) -> tuple[Cause, list[LoggedFact]]:
        """Return that of an epoch, and the lines that say it. since: where the lines are that may have brought it."""
        bump = self._lines[place]
        known_hash, self._known_hash = self._known_hash, bump.reason or self._known_hash
        lines = {one: self._lines[one] for one in since}
        replaced = {line.member_id: line for line in lines.values() if _is_replacement(line)}
        doers = [one for one, line in lines.items() if line.kind in BY_A_MEMBER and not _is_replacement(line)]
        if doers:
            return self.of_member(doers[-1]), [lines[doers[-1]]]
        subscribed = [one for one in lines.values() if one.kind is FactKind.MEMBER_SUBSCRIBED]
        if subscribed:
            who = subscribed[-1].member_id
            return _by_subscribing(subscribed[-1], replaced.get(who), is_member=who in members)
        if replaced:
            return cause_of(Reason(CauseKind.UNKNOWN, candidates=(CauseKind.STATIC_MEMBER_REPLACED, *_OF_TOPICS))), []
        if not bump.reason or not known_hash:
            return Cause(kind=CauseKind.UNKNOWN), []
        if bump.reason == known_hash:
            return cause_of(Reason(CauseKind.SUBSCRIPTION_CHANGED, candidates=_WITHOUT_A_LINE)), []
        if bump.at_ms is not None and self._is_elsewhere(bump.at_ms):
            return Cause(kind=CauseKind.METADATA_CHANGED, is_inferred=True), []
        return cause_of(Reason(CauseKind.UNKNOWN, candidates=_OF_TOPICS)), []

    def of_targets(self, place: int, before: Set[str], now: Set[str]) -> Cause:
        """Return who came or went, where the members of the target at a place and of the one before differ by one."""
        cause = by_difference(before, now, _MISSING) if before and now else Cause(kind=CauseKind.UNKNOWN)
        is_there = bool(cause.candidates) and self._seen.get(cause.member_id, -1) >= place
        return Cause(kind=CauseKind.UNKNOWN) if is_there else cause


def by_difference(before: Set[str], now: Set[str], gone: Reason) -> Cause:
    """Return who came or went, where the members of two neighbours differ by one. gone: what fits if it went."""
    came, went = now - before, before - now
    if len(came) + len(went) != 1:
        return Cause(kind=CauseKind.UNKNOWN)
    return inferred(CauseKind.MEMBER_JOINED, min(came)) if came else cause_of(gone._replace(member_id=min(went)))


def is_at_once(one: LoggedFact, after: LoggedFact) -> bool:
    """Whether one change brought both lines, in this order."""
    gap_ms = between_ms(one, after)
    return gap_ms is not None and 0 <= gap_ms <= AT_ONCE_MS


def _last_of(lines: Sequence[LoggedFact], kind: FactKind) -> dict[str, int]:
    return {line.member_id: place for place, line in enumerate(lines) if line.kind is kind}


def _is_replacement(line: LoggedFact) -> bool:
    """Whether a static member came back under another id, which brings an epoch only by other topics."""
    return line.kind is FactKind.MEMBER_JOINED_EPOCH and bool(line.other_member_id)


def _by_subscribing(line: LoggedFact, came: LoggedFact | None, *, is_member: bool) -> tuple[Cause, list[LoggedFact]]:
    """Return a cause by a member's line. came: the one by which it came back. is_member: lines have it before."""
    if came is not None:
        who = Reason(CauseKind.STATIC_MEMBER_REPLACED, member_id=came.member_id, instance_id=came.instance_id)
        return cause_of(who), [came, line]
    if is_member:
        return Cause(kind=CauseKind.SUBSCRIPTION_CHANGED, member_id=line.member_id), [line]
    fits = (CauseKind.MEMBER_JOINED, CauseKind.SUBSCRIPTION_CHANGED)
    return cause_of(Reason(CauseKind.UNKNOWN, member_id=line.member_id, candidates=fits)), [line]


def _leave(reason: Reason, removed: Sequence[LoggedFact]) -> Reason:
    """A leave whose words stand in the lines before it, as Kafka 4 prints them; they also name who left."""
    named = {*reason.member_ids, reason.member_id} - {""}
    leaves = [one for one in removed if one.kind is FactKind.MEMBER_LEFT and (not named or one.member_id in named)]
    if leaves:
        return gone_by(leaves[0])
    return reason._replace(member_id=reason.member_id or next(iter(reason.member_ids), ""))
