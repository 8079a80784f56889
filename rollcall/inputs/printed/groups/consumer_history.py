"""The rebalances of a group of the newer protocols, from its coordinator's lines: each new epoch is one.

The line before a bump says who joined, left or was fenced. A changed subscription or topic has no line of its own at
the usual level: then only the hash of the topics' metadata is a sign. Knows one group's facts in order. Must not know
how lines are worded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import re2

from rollcall.inputs.printed.groups.logged_members import ENDS
from rollcall.inputs.printed.groups.reasons import Reason, cause_of, left_by
from rollcall.inputs.printed.logged_facts import REMOVED_EPOCH, FactKind, LoggedFact, between_ms
from rollcall.inputs.printed.logged_rebalances import Holder, LoggedRebalance, concluded, rebalance_of
from rollcall.schemas.causes import Cause, CauseKind

FIRST_EPOCH = 2
"""Of a new consumer group; brokers before 4.3 begin with 1."""
AT_ONCE_MS = 1_000
"""Groups whose metadata changes within this time of each other saw one topic change."""
_BY_A_MEMBER = (
    FactKind.MEMBER_JOINED_EPOCH,
    FactKind.MEMBER_LEFT_EPOCH,
    FactKind.MEMBER_EXPIRED_EPOCH,
    FactKind.MEMBER_TOO_SLOW_EPOCH,
    FactKind.MEMBER_NOT_SYNCED_EPOCH,
    FactKind.PATTERNS_SCANNED,
)
_OF_AN_EPOCH = (FactKind.TARGET_COMPUTED, FactKind.MEMBER_PROGRESSED, FactKind.MEMBER_SUBSCRIBED)
_BEGINS_ANEW = (FactKind.GROUP_CONVERTED, FactKind.GROUP_DIED, FactKind.GROUPS_DELETED)
SILENT_BUMPS = ("share", "streams")
_GOING = (
    CauseKind.MEMBER_LEFT,
    CauseKind.POLL_TIMEOUT,
    CauseKind.SESSION_EXPIRED,
    CauseKind.REBALANCE_TIMEOUT,
)
"""Why a member may be missing in a target assignment."""
_OF_A_MEMBER = re2.compile(r"(?:\A\{|, )(?P<member_id>[^{}=]+)=(?:(?:Member)?Assignment\(|\(active=)")
OF_TASKS = "=(active="
"""What the target of each member of a streams group begins with."""
_OF_TOPICS = (CauseKind.SUBSCRIPTION_CHANGED, CauseKind.METADATA_CHANGED)


def stored_lines(facts: Sequence[LoggedFact]) -> list[LoggedFact]:
    """One group's lines without those of an epoch that comes again: what was not stored had no effect."""
    left_out = set[int]()
    latest: list[int] = []
    since: list[int] = []
    for place, fact in enumerate(facts):
        if fact.kind in _BEGINS_ANEW:
            latest, since = [], []
        elif fact.kind is FactKind.EPOCH_BUMPED:
            if latest and _comes_again([facts[one] for one in latest], [*(facts[one] for one in since), fact]):
                left_out.update(latest, (one for one in since if facts[one].kind not in _BY_A_MEMBER))
            latest, since = [*(one for one in since if facts[one].kind in _BY_A_MEMBER), place], []
        elif fact.kind in (*_BY_A_MEMBER, *_OF_AN_EPOCH):
            since.append(place)
    return [fact for place, fact in enumerate(facts) if place not in left_out]


def _comes_again(before: Sequence[LoggedFact], now: Sequence[LoggedFact]) -> bool:
    """Whether a bump repeats the one before it. A group that begins anew has the first epoch by another member."""
    epoch = now[-1].generation_id
    if epoch is None or before[-1].generation_id != epoch:
        return False
    doers = [[(one.kind, one.member_id) for one in lines if one.kind in _BY_A_MEMBER] for lines in (before, now)]
    return epoch > FIRST_EPOCH or (doers[0][-1:] == doers[1][-1:] != [])


def epoch_bumps(
    facts: Sequence[LoggedFact], is_elsewhere: Callable[[int], bool], group_type: str = "consumer"
) -> list[LoggedRebalance]:
    """The bumps of one group, in order.

    is_elsewhere: whether other groups' topics changed at a time (`topics_changed_ms`). In share and streams groups, and
    in consumer groups of brokers before 4.1, a member that goes bumps the epoch without a line that says so.
    """
    found: list[LoggedRebalance] = []
    since: list[LoggedFact] = []
    known_hash = ""
    highest: int | None = None
    members: dict[str, int] = {}
    targets = _Targets(facts)
    to_come = Counter(fact.member_id for fact in facts if fact.kind is FactKind.MEMBER_JOINED_EPOCH)
    names_goers = group_type not in SILENT_BUMPS
    bumps_silently = not (names_goers and any(one.reason for one in facts if one.kind is FactKind.EPOCH_BUMPED))
    for place, fact in enumerate(facts):
        if fact.kind is FactKind.MEMBER_JOINED_EPOCH:
            to_come[fact.member_id] -= 1
        is_new = fact.kind in (FactKind.MEMBER_PROGRESSED, FactKind.TARGET_COMPUTED) and _is_new_epoch(fact, highest)
        if fact.kind is FactKind.MEMBER_PROGRESSED and is_new:
            found.append(replace(rebalance_of(fact), generation_id=fact.generation_id, facts=[fact]))
        if fact.kind in REMOVED_EPOCH and _makes_classic(facts, place):
            since = []
        elif bumps_silently and fact.kind in REMOVED_EPOCH:
            _hold_up(found, [fact])
            members.pop(fact.member_id, None)
            epoch = (found[-1].generation_id or 0) + 1 if found and found[-1].generation_id else None
            found.append(_bumped(fact, epoch, _by_a_member(fact, to_come), [fact]))
            since = []
        elif (is_new or fact.kind is FactKind.EPOCH_BUMPED) and _is_of_removal(found, since, fact):
            _number(found[-1], fact)
            since = []
        elif fact.kind is FactKind.EPOCH_BUMPED or (is_new and fact.kind is FactKind.TARGET_COMPUTED):
            _hold_up(found, since)
            is_hash_new, is_first = not known_hash or fact.reason != known_hash, not found
            bringing = _bringing(since, fact.generation_id or 0, members) if names_goers else since
            cause, lines = _cause(
                to_come,
                [one for one in bringing if _may_bring(one, fact)],
                fact,
                is_hash_new,
                is_elsewhere,
                is_first=is_first and since[:1] == facts[:1],
            )
            if not lines and (not names_goers or fact.kind is FactKind.TARGET_COMPUTED):
                cause = targets.cause_of(place)
            found += _unnumbered([one for one in since if one not in lines], to_come)
            found.append(_bumped(fact, fact.generation_id, cause, [*lines, fact]))
            if fact.kind is FactKind.TARGET_COMPUTED and not fact.partitions:
                found[-1].began_at_ms = None  # It may have been computed later than the epoch was bumped.
            since, known_hash = [], fact.reason or known_hash
        else:
            since.append(fact)
        targets.follow(found, fact)
        latest = found[-1].generation_id if found else None
        highest = max((each for each in (highest, latest) if each is not None), default=None)
    return [*found, *_unnumbered(since, to_come)]


def _unnumbered(since: Iterable[LoggedFact], to_come: Mapping[str, int]) -> list[LoggedRebalance]:
    """Return the rebalances by members that were removed, where no line has the epoch."""
    return [_bumped(one, None, _by_a_member(one, to_come), [one]) for one in since if one.kind in REMOVED_EPOCH]


def _is_of_removal(found: Sequence[LoggedRebalance], since: Iterable[LoggedFact], fact: LoggedFact) -> bool:
    """Return True if a line shows the epoch of the removal before it."""
    removal = found[-1] if found and found[-1].facts[-1].kind in REMOVED_EPOCH else None
    if removal is None or any(one.kind in _BY_A_MEMBER for one in since):
        return False
    if removal.generation_id is None:
        return fact.kind is FactKind.TARGET_COMPUTED or _is_at_once(removal.facts[-1], fact)
    return removal.generation_id == fact.generation_id


def _number(removal: LoggedRebalance, shown: LoggedFact) -> None:
    """The next target that is computed is that of the epoch, unless lines are missing."""
    epoch = shown.generation_id or 0
    removal.from_generation_id, removal.generation_id = epoch - 1, epoch
    removal.cause.is_inferred |= shown.kind is FactKind.TARGET_COMPUTED
    removal.facts.append(shown)


def _may_bring(one: LoggedFact, bump: LoggedFact) -> bool:
    """Return False for a removal long before a bump: its own bump has no line."""
    has_own = bump.kind is FactKind.EPOCH_BUMPED and one.kind in REMOVED_EPOCH and between_ms(one, bump) is not None
    return not has_own or _is_at_once(one, bump)


def _is_at_once(one: LoggedFact, after: LoggedFact) -> bool:
    gap_ms = between_ms(one, after)
    return gap_ms is not None and 0 <= gap_ms <= AT_ONCE_MS


def _makes_classic(facts: Sequence[LoggedFact], place: int) -> bool:
    """Return True if the removal at a place made the group classic, as the line after it says."""
    after = facts[place + 1 : place + 2]
    return any(
        one.kind in (FactKind.GROUP_CONVERTED, FactKind.REBALANCE_BEGAN) and _is_at_once(facts[place], one)
        for one in after
    )


class _Targets:
    """The target assignments that lines have with their members."""

    def __init__(self, facts: Sequence[LoggedFact]) -> None:
        self._facts = facts
        self._epoch = 0
        self._members = frozenset[str]()
        self._waiting: set[str] = set()
        self._seen = {one.member_id: place for place, one in enumerate(facts) if one.kind is FactKind.MEMBER_PROGRESSED}
        """By member, the place of its last line."""

    def cause_of(self, place: int) -> Cause:
        """Return who came or went, where the target at a place and the one before differ by one member."""
        before, now = self._members, members_in(self._facts[place])
        if not before or not now or self._facts[place].generation_id != self._epoch + 1:
            return Cause(kind=CauseKind.UNKNOWN)
        gone, came = before - now, now - before
        if len(came) == 1 and not gone:
            return concluded(CauseKind.MEMBER_JOINED, min(came))
        if len(gone) == 1 and not came and self._seen.get(min(gone), -1) < place:
            return cause_of(Reason(CauseKind.MEMBER_LEFT, member_id=min(gone), candidates=_GOING))
        return Cause(kind=CauseKind.UNKNOWN)

    def follow(self, found: Sequence[LoggedRebalance], fact: LoggedFact) -> None:
        """Take a line: the latest rebalance ends when all members of its target are stable in its epoch."""
        if not found or fact.generation_id is None or fact.generation_id != found[-1].generation_id:
            return
        if fact.kind is FactKind.TARGET_COMPUTED:
            self._epoch, self._members = fact.generation_id, members_in(fact)
            self._waiting = {*self._members}
        elif (
            fact.kind is FactKind.MEMBER_PROGRESSED
            and fact.member_id in self._waiting
            and fact.state.upper() == "STABLE"
        ):
            self._waiting.discard(fact.member_id)
            found[-1].facts.append(fact)
            if not self._waiting:
                found[-1].ended_at_ms, found[-1].outcome = fact.at_ms, "completed"


def members_in(target: LoggedFact) -> frozenset[str]:
    """Return the members of a target assignment as a line has them; empty if it has none."""
    return frozenset(one["member_id"] for one in _OF_A_MEMBER.finditer(target.partitions))


def downgraded_by(facts: Sequence[LoggedFact], place: int) -> tuple[Cause, LoggedFact] | None:
    """Whose end made a group classic, by the line just before the one that says that a member's end did; None: no line
    names it.
    """
    if not place or facts[place - 1].kind not in REMOVED_EPOCH:
        return None
    gone, downgrade = facts[place - 1], facts[place]
    if gone.at_ms is None or downgrade.at_ms is None or downgrade.at_ms - gone.at_ms > AT_ONCE_MS:
        return None
    to_come = Counter(each.member_id for each in facts[place:] if each.kind is FactKind.MEMBER_JOINED_EPOCH)
    return _by_a_member(gone, to_come), gone


def _bringing(since: Sequence[LoggedFact], epoch: int, members: dict[str, int]) -> list[LoggedFact]:
    """What may have brought an epoch: all but the joins of who was a member by an earlier epoch, which bring none.

    members: each member, and the epoch that its join brought. A bump to the same epoch repeats what was not stored.
    """
    found: list[LoggedFact] = []
    for fact in since:
        if fact.kind in REMOVED_EPOCH:
            members.pop(fact.member_id, None)
        if _is_replacement(fact):
            members[fact.member_id] = members.pop(fact.other_member_id, epoch)
            found.append(fact)
            continue
        is_member = fact.kind is FactKind.MEMBER_JOINED_EPOCH and members.setdefault(fact.member_id, epoch) < epoch
        if not is_member:
            found.append(fact)
    return found


def _bumped(fact: LoggedFact, epoch: int | None, cause: Cause, lines: list[LoggedFact]) -> LoggedRebalance:
    return replace(
        rebalance_of(fact),
        from_generation_id=None if epoch is None else epoch - 1,
        generation_id=epoch,
        began_at_ms=lines[0].at_ms if _is_at_once(lines[0], fact) else fact.at_ms,
        cause=cause,
        facts=lines,
    )


def _hold_up(found: Sequence[LoggedRebalance], since: Sequence[LoggedFact]) -> None:
    """A member that was removed for not giving partitions up held the epoch before for its whole rebalance timeout."""
    for one in since:
        if one.kind is FactKind.MEMBER_TOO_SLOW_EPOCH and found and one.length_ms is not None:
            why = "it had not given its partitions up when its rebalance timeout was over"
            found[-1].held_by = Holder(one.length_ms, one.member_id, False, why)
            found[-1].facts.append(one)


def _is_new_epoch(fact: LoggedFact, highest: int | None) -> bool:
    """Whether a member reached an epoch whose bump is not in the lines."""
    return fact.generation_id is not None and (highest is None or fact.generation_id > highest)


def topics_changed_ms(facts: Sequence[LoggedFact]) -> list[int]:
    """When a group's epoch was bumped by another hash of its topics, without a line about a member before it."""
    found: list[int] = []
    is_by_a_member, known_hash = True, ""
    for fact in facts:
        if fact.kind in (*_BY_A_MEMBER, FactKind.MEMBER_SUBSCRIBED):
            is_by_a_member = True
        elif fact.kind is FactKind.EPOCH_BUMPED:
            if not is_by_a_member and fact.reason != known_hash and fact.at_ms is not None:
                found.append(fact.at_ms)
            is_by_a_member, known_hash = False, fact.reason
    return found


def _cause(
    to_come: Mapping[str, int],
    since: Sequence[LoggedFact],
    bump: LoggedFact,
    is_hash_new: bool,
    is_elsewhere: Callable[[int], bool],
    *,
    is_first: bool,
) -> tuple[Cause, list[LoggedFact]]:
    doer = next((one for one in reversed(since) if one.kind in _BY_A_MEMBER and not _is_replacement(one)), None)
    if doer is not None:
        return _by_a_member(doer, to_come), [doer]
    replaced = {one.member_id: one for one in since if _is_replacement(one)}
    subscribed = [one for one in since if one.kind is FactKind.MEMBER_SUBSCRIBED]
    if subscribed:
        return _by_subscribing(subscribed[-1], replaced, is_first=is_first)
    if replaced:
        return cause_of(Reason(CauseKind.UNKNOWN, candidates=(CauseKind.STATIC_MEMBER_REPLACED, *_OF_TOPICS))), []
    if not bump.reason:
        return Cause(kind=CauseKind.UNKNOWN), []
    if not is_hash_new:
        return Cause(kind=CauseKind.SUBSCRIPTION_CHANGED, is_inferred=True), []
    at_ms = bump.at_ms
    if at_ms is not None and is_elsewhere(at_ms):
        return Cause(kind=CauseKind.METADATA_CHANGED, is_inferred=True), []
    return cause_of(Reason(CauseKind.UNKNOWN, candidates=_OF_TOPICS)), []


def _is_replacement(fact: LoggedFact) -> bool:
    """Whether a static member came back under another id, which brings an epoch only by other topics."""
    return fact.kind is FactKind.MEMBER_JOINED_EPOCH and bool(fact.other_member_id)


def _by_subscribing(
    line: LoggedFact, replaced: Mapping[str, LoggedFact], *, is_first: bool
) -> tuple[Cause, list[LoggedFact]]:
    """Return a cause by a member's line. is_first: nothing stands before it, where its join may have stood."""
    came = replaced.get(line.member_id)
    if came is None and is_first:
        fits = (CauseKind.MEMBER_JOINED, CauseKind.SUBSCRIPTION_CHANGED)
        return cause_of(Reason(CauseKind.UNKNOWN, member_id=line.member_id, candidates=fits)), [line]
    if came is None:
        return Cause(kind=CauseKind.SUBSCRIPTION_CHANGED, member_id=line.member_id), [line]
    who = Reason(CauseKind.STATIC_MEMBER_REPLACED, member_id=came.member_id, instance_id=came.instance_id)
    return cause_of(who), [came, line]


def _by_a_member(fact: LoggedFact, to_come: Mapping[str, int]) -> Cause:
    match fact.kind:
        case kind if kind in ENDS:
            cause = CauseKind(ENDS[kind].value)
        case FactKind.MEMBER_LEFT_EPOCH:
            said = left_by(fact)
            # An id lives as long as its consumer: one that joins again did not close, it had polled too late.
            silent = CauseKind.POLL_TIMEOUT if to_come[fact.member_id] > 0 else CauseKind.MEMBER_LEFT
            return cause_of(said if said.client_reason else said._replace(kind=silent))
        case FactKind.PATTERNS_SCANNED:
            return Cause(kind=CauseKind.PATTERN_RESOLVED, is_inferred=True)
        case _:
            cause = CauseKind.MEMBER_JOINED
    return cause_of(Reason(cause, member_id=fact.member_id, instance_id=fact.instance_id))
