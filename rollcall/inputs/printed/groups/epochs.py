"""The epochs of a group of the newer protocols, by its coordinator's lines: each is a rebalance.

A line says that an epoch was bumped; where it is missing, a target or a member shows the number. A member that goes
bumps the epoch without a line in share and streams groups, and in consumer groups of brokers before 4.1. Knows one
group's lines in order, and what runs. Must not know how lines are worded.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.inputs.printed.groups.causes import BY_A_MEMBER, Causes, is_at_once
from rollcall.inputs.printed.groups.logged_members import members_in
from rollcall.inputs.printed.groups.running import Running
from rollcall.inputs.printed.groups.standing import FIRST_EPOCH, UNKNOWN_STATE
from rollcall.inputs.printed.logged_facts import REMOVED_EPOCH, FactKind, LoggedFact, between_ms
from rollcall.inputs.printed.logged_rebalances import Holder, LoggedRebalance, rebalance_of
from rollcall.inputs.tolerances import AT_ONCE_MS, TOGETHER_MS
from rollcall.schemas.causes import Cause, CauseKind, EndCause
from rollcall.schemas.effects import UNKNOWN_END

_OF_AN_EPOCH = frozenset((FactKind.TARGET_COMPUTED, FactKind.MEMBER_PROGRESSED, FactKind.MEMBER_SUBSCRIBED))
_SHOWS_A_MEMBER = _OF_AN_EPOCH | REMOVED_EPOCH
_MAY_BRING_ONE = _OF_AN_EPOCH | BY_A_MEMBER
_OF_A_MEMBER = BY_A_MEMBER | {FactKind.MEMBER_SUBSCRIBED}
_MAKES_CLASSIC = (FactKind.GROUP_CONVERTED, FactKind.REBALANCE_BEGAN)
_BEGINS_ANEW = (FactKind.GROUP_CONVERTED, FactKind.GROUP_DIED, FactKind.GROUPS_DELETED)


class Epochs:
    """One group, whose lines are taken in order. names_goers: a member that leaves has a line."""

    def __init__(self, lines: Sequence[LoggedFact], causes: Causes, running: Running, *, names_goers: bool) -> None:
        self._lines, self._causes, self._running, self._names_goers = lines, causes, running, names_goers
        self._members, self._standing = running.members, running.standing
        has_hashes = any(line.reason for line in lines if line.kind is FactKind.EPOCH_BUMPED)
        self._bumps_silently = not (names_goers and has_hashes)
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._latest: LoggedRebalance | None = None
        self._highest = -1
        self._since: list[int] = []
        """Where the lines about members are that may bring the next epoch."""
        self._subscribed = set[str]()
        """Who subscribed before the latest epoch, and has not gone since."""
        self._target: tuple[int, Set[str]] = 0, frozenset()
        """The latest target's epoch, and its members as far as its line has them."""
        self._not_seen = set[str]()
        """Known members not seen since lines were missing: they may have left and come back."""
        self._reached: dict[str, int] = {}
        """By member, the epoch in which it has all that it is to have."""

    def take(self, place: int, line: LoggedFact) -> None:
        """Take a line that only groups of the newer protocols have."""
        is_new = (-1 if line.generation_id is None else line.generation_id) > self._highest
        who = line.member_id
        is_shown = line.kind in _SHOWS_A_MEMBER and not self._members.has_gone(who)
        if (who and is_shown and who not in self._members.current) or not self._names_goers:
            self._standing.is_whole = False
        match line.kind:
            case FactKind.MEMBER_JOINED_EPOCH:
                # Who is a member brings no epoch by joining, unless it may have gone without a line.
                if not self._names_goers or line.other_member_id or line.member_id not in self._members.current:
                    self._since.append(place)
                self._members.join(line, is_inferred=False)
                self._reached.pop(line.member_id, None)
            case FactKind.PATTERNS_SCANNED | FactKind.MEMBER_SUBSCRIBED:
                self._since.append(place)
            case kind if kind in REMOVED_EPOCH:
                self._remove(place, line)
            case FactKind.EPOCH_BUMPED:
                self._bump(place, line)
            case FactKind.TARGET_COMPUTED:
                if is_new:
                    self._bump(place, line)
                if self._latest is not None and line.generation_id == self._latest.generation_id:
                    self._aim(line)
            case FactKind.MEMBER_PROGRESSED:
                # A new group has the epoch before the first one without a bump.
                if is_new and (line.generation_id or 0) >= FIRST_EPOCH:
                    self._miss_lines()
                    self._leave_unnumbered(self._since)
                    self._begin(replace(rebalance_of(line), generation_id=line.generation_id, facts=[line]))
                self._progress(line)

    def end(self) -> None:
        """No epoch follows: those of the members that were removed since the latest one have no number."""
        self._leave_unnumbered(self._since)
        self._begin_anew()

    def _remove(self, place: int, line: LoggedFact) -> None:
        self._members.leave(line)
        self._subscribed.discard(line.member_id)
        one = self._running.one
        if one is not None and line.kind is FactKind.MEMBER_TOO_SLOW_EPOCH and line.length_ms is not None:
            why = "it had not given its partitions up when its rebalance timeout had passed"
            one.held_by = Holder(line.length_ms, line.member_id, False, why)
            one.facts.append(line)
        after = self._lines[place + 1] if place + 1 < len(self._lines) else line
        if after.kind in _MAKES_CLASSIC and is_at_once(line, after):
            self._since = []
        elif self._bumps_silently:
            epoch = None if self._latest is None else self._latest.generation_id
            cause = self._causes.of_member(place)
            self._begin(_bumped(line, epoch + 1 if epoch else None, cause, [line]), is_beginning=True)
        else:
            self._since.append(place)

    def _bump(self, place: int, line: LoggedFact) -> None:
        """An epoch has a line of its own, or only its target has one."""
        is_target, one, epoch = line.kind is FactKind.TARGET_COMPUTED, self._latest, line.generation_id
        if one is not None and self._is_of_removal(one, line):
            one.from_generation_id, one.generation_id = (epoch or 0) - 1, epoch or 0
            one.cause.is_inferred |= is_target  # It is the next one that is computed, unless lines are missing.
            one.facts.append(line)
        else:
            cause, lines = self._cause_of(place, line)
            is_unexplained = cause.kind is CauseKind.SUBSCRIPTION_CHANGED and not lines
            if is_target or is_unexplained or not self._follows(line):
                self._miss_lines()
            self._leave_unnumbered([one for one in self._since if self._lines[one] not in lines])
            one = _bumped(line, epoch, cause, [*lines, line])
            if is_target and not line.partitions:
                one.began_at_ms = None  # It may have been computed later than the epoch was bumped.
        self._begin(one, is_beginning=not is_target)

    def _is_of_removal(self, one: LoggedRebalance, shown: LoggedFact) -> bool:
        """Whether a line shows the epoch of the removal before it."""
        is_since = any(self._lines[place].kind in BY_A_MEMBER for place in self._since)
        if one.facts[-1].kind not in REMOVED_EPOCH or is_since:
            return False
        if one.generation_id is None:
            return shown.kind is FactKind.TARGET_COMPUTED or is_at_once(one.facts[-1], shown)
        return one.generation_id == shown.generation_id

    def _cause_of(self, place: int, line: LoggedFact) -> tuple[Cause, list[LoggedFact]]:
        """Why an epoch began that a line shows first, and the lines that say it."""
        is_target, (before_epoch, before) = line.kind is FactKind.TARGET_COMPUTED, self._target
        follows = self._follows(line)
        is_unprinted = is_target and follows and self._bumps_silently  # The target may come long after its bump.
        since = [one for one in self._since if is_unprinted or _may_bring(self._lines[one], line, follows=follows)]
        members = (self._members.current.keys() | self._subscribed) - self._not_seen if follows else frozenset[str]()
        cause, lines = self._causes.of_epoch(place, since, members)
        if lines or (self._names_goers and not is_target):
            return cause, lines
        is_next = line.generation_id == before_epoch + 1
        return self._causes.of_targets(place, before if is_next else frozenset(), members_in(line)), []

    def _follows(self, line: LoggedFact) -> bool:
        """Whether a line's epoch is the one after the latest, so that none between has lost its lines."""
        latest = self._running.written.generation_id
        return latest is not None and line.generation_id == latest + 1

    def _miss_lines(self) -> None:
        """Lines are missing before the latest one, maybe of members that came or went."""
        self._standing.is_whole = False
        self._not_seen = self._members.current.keys() | self._subscribed

    def _leave_unnumbered(self, places: Sequence[int]) -> None:
        """No line has the epochs of the members that were removed at these places."""
        for place in places:
            if self._lines[place].kind in REMOVED_EPOCH:
                line = self._lines[place]
                self._running.rebalances.append(_bumped(line, None, self._causes.of_member(place), [line]))

    def _aim(self, line: LoggedFact) -> None:
        """The target of the latest epoch may name its members: where others are known, lines are missing."""
        one, members, current = self._running.one, members_in(line), self._members.current
        self._target = line.generation_id or 0, members
        if one is None or not members or members == current.keys():
            return
        self._standing.is_whole = False
        one.members = one.members_after = None
        for member_id in [one for one in current if one not in members]:
            self._members.remove(member_id, EndCause.UNKNOWN)
        for member_id in sorted(members):
            self._members.known(member_id)
        self._running.changes.gone += self._members.form().gone

    def _begin(self, one: LoggedRebalance, *, is_beginning: bool = False) -> None:
        """An epoch runs from now on, if it has a number. is_beginning: it begins now, or is known from now."""
        running, since = self._running, (self._lines[place] for place in self._since)
        self._subscribed.update(line.member_id for line in since if line.kind is FactKind.MEMBER_SUBSCRIBED)
        self._not_seen = self._not_seen - {line.member_id for line in one.facts}
        self._latest, self._since = one, []
        if one.generation_id is None:
            running.rebalances.append(one)
        if one.generation_id is None or running.one is one:
            return
        self._highest = max(self._highest, one.generation_id)
        running.end(UNKNOWN_END)
        is_join = is_beginning and one.cause.kind is CauseKind.MEMBER_JOINED
        if is_join and not any(line.may_be_forged for line in one.facts):
            self._members.add_culprit(one.cause)
        running.begin(one, is_beginning=is_beginning)
        running.written.generation_id = one.generation_id
        running.changes = self._members.form()
        if not is_beginning:
            return
        running.owners.begin_epoch()
        one.members = one.members_after = len(self._members.current) if self._standing.is_whole else None
        self._members.store(one.members_after)
        self._standing.move(GroupState.EMPTY.value if one.members_after == 0 else UNKNOWN_STATE)
        if one.members_after == 0:
            one.ended_at_ms = one.facts[-1].at_ms
            running.end("empty")

    def _progress(self, line: LoggedFact) -> None:
        """At DEBUG a broker prints what state each member is in: so it shows when all have reached the epoch."""
        if line.member_id:
            self._members.known(line.member_id, line)
        one, epoch, (of_epoch, target) = self._running.one, self._standing.generation_id, self._target
        known = self._members.current.keys() if self._standing.is_whole else ()
        awaited = (target if of_epoch == epoch else ()) or known
        if line.state.upper() != "STABLE" or line.generation_id is None:
            self._reached.pop(line.member_id, None)
        elif self._reached.get(line.member_id) != line.generation_id:
            self._reached[line.member_id] = line.generation_id
            if one is not None and line.generation_id == epoch and line.member_id in awaited:
                one.facts += [line] if line is not one.facts[-1] else []
        if not awaited or any(self._reached.get(member_id) != epoch for member_id in awaited):
            return
        if one is not None:
            one.ended_at_ms = line.at_ms
        elif self._standing.state == GroupState.EMPTY.value:  # In the epoch of a new group they are there by now.
            self._standing.count = len(awaited)
            self._members.form()
        else:
            return
        self._standing.move(GroupState.STABLE.value)
        self._running.end("completed")


def _bumped(line: LoggedFact, epoch: int | None, cause: Cause, lines: list[LoggedFact]) -> LoggedRebalance:
    return replace(
        rebalance_of(line),
        from_generation_id=None if epoch is None else epoch - 1,
        generation_id=epoch,
        began_at_ms=lines[0].at_ms if is_at_once(lines[0], line) else line.at_ms,
        cause=cause,
        facts=lines,
    )


def _may_bring(line: LoggedFact, bump: LoggedFact, *, follows: bool) -> bool:
    """Whether a line may say why an epoch was bumped. What a member did long before does not: that had its own bump.

    follows: no epoch lies between the bump and the one before. Otherwise a scan long before may have brought that one.
    """
    gap_ms = between_ms(line, bump)
    if gap_ms is None or (follows and line.kind is FactKind.PATTERNS_SCANNED):
        return True
    return 0 <= gap_ms <= (AT_ONCE_MS if follows else TOGETHER_MS)


# ---------------------------------------------------------------- before the lines are taken


def stored_lines(facts: Sequence[LoggedFact]) -> list[LoggedFact]:
    """One group's lines without those of an epoch that comes again: what was not stored had no effect."""
    if not any(fact.kind is FactKind.EPOCH_BUMPED for fact in facts):
        return [*facts]
    left_out = set[int]()
    latest: list[int] = []
    since: list[int] = []
    for place, fact in enumerate(facts):
        if fact.kind in _BEGINS_ANEW:
            latest, since = [], []
        elif fact.kind is FactKind.EPOCH_BUMPED:
            if latest and _comes_again([facts[one] for one in latest], [*(facts[one] for one in since), fact]):
                left_out.update(latest, (one for one in since if facts[one].kind not in BY_A_MEMBER))
            latest, since = [*(one for one in since if facts[one].kind in BY_A_MEMBER), place], []
        elif fact.kind in _MAY_BRING_ONE:
            since.append(place)
    return [fact for place, fact in enumerate(facts) if place not in left_out]


def _comes_again(before: Sequence[LoggedFact], now: Sequence[LoggedFact]) -> bool:
    """Whether a bump repeats the one before it. A group that begins anew has the first epoch by another member."""
    epoch = now[-1].generation_id
    if epoch is None or before[-1].generation_id != epoch:
        return False
    doers = [[(one.kind, one.member_id) for one in lines if one.kind in BY_A_MEMBER] for lines in (before, now)]
    return epoch > FIRST_EPOCH or (doers[0][-1:] == doers[1][-1:] != [])


def topics_changed_ms(facts: Sequence[LoggedFact]) -> list[int]:
    """When a group's epoch was bumped by another hash of its topics, without a line about a member before it."""
    found: list[int] = []
    is_by_a_member, known_hash = True, ""
    for fact in facts:
        if fact.kind in _OF_A_MEMBER:
            is_by_a_member = True
        elif fact.kind is FactKind.EPOCH_BUMPED:
            if not is_by_a_member and fact.reason != known_hash and fact.at_ms is not None:
                found.append(fact.at_ms)
            is_by_a_member, known_hash = False, fact.reason
    return found
