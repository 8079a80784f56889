"""Which lines of a broker a client's text may have written, although every single line is whole.

A broker prints the ids and the reason of a client as they are. In a text layout an id with line breaks can end the
broker's line as a broker does, hold whole lines, and begin a line that the broker's own rest ends. Three things give it
away. The broker ends each new member id itself, and the whole text is the member's id, so that no other line names the
id that the first or the last of these lines shows, and one that prints the text again has the ends of two messages. And
members leave that a group did not have. Knows facts in order, and what was inferred from them. Must not know files,
wordings or layouts.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from rollcall.inputs.printed.groups.reasons import Reason, read_reason
from rollcall.inputs.printed.lines.forged_lines import Span, within
from rollcall.inputs.printed.logged_facts import BROKER, GOES, NEW_IDS, REMOVED_EPOCH, FactKind, LoggedFact
from rollcall.inputs.printed.logged_rebalances import LoggedGroup, candidate
from rollcall.schemas.causes import Cause, CauseKind

MOST_FORGED = 1_600
"""Lines about groups that the ids and the reason of one request hold: 98 kB, of 60 characters each."""
_ROUNDS = 8
_ENDS = GOES | REMOVED_EPOCH | {FactKind.MEMBERS_NOT_BACK}
_FORGETS = (
    *(FactKind.GROUP_EMPTIED, FactKind.GROUP_TAKEN_OVER, FactKind.GROUP_UNLOADED, FactKind.GROUP_DIED),
    FactKind.GROUP_CONVERTED,
)
_Place = tuple[int, FactKind]


def with_forgeable(facts: Sequence[LoggedFact], *, is_ongoing: bool = False) -> Sequence[LoggedFact]:
    """Return the facts, marked where a client's text may have written their lines.

    facts: of all files, in order. is_ongoing: of a file that grows; one that ended may lack what follows its last line.
    """
    places = forgeable_places(facts, is_ongoing=is_ongoing)
    if not places:
        return facts
    return [fact._replace(may_be_forged=True) if place in places else fact for place, fact in enumerate(facts)]


def doubt_forgeable(group: LoggedGroup) -> None:
    """Make inferred what rests on such lines; who is to blame is a candidate."""
    for one in group.rebalances:
        if not any(fact.may_be_forged for fact in one.facts):
            continue
        cause = one.cause
        fits = cause.candidates
        if cause.member_id and not fits:
            fits = (candidate(cause.kind, cause.member_id, cause.client_id),)
        one.cause = Cause(kind=cause.kind, is_inferred=True, candidates=fits)
        one.held_by = None if one.held_by is None else one.held_by._replace(is_inferred=True)
    group.findings = [
        finding._replace(is_inferred=finding.is_inferred or any(fact.may_be_forged for fact in finding.facts))
        for finding in group.findings
    ]


def without_forged(group: LoggedGroup) -> LoggedGroup:
    """Return a group of lines without what a client may have written: beside what is recorded it shows nothing."""
    if not any(fact.may_be_forged for fact in group.facts):
        return group
    return replace(
        group,
        facts=[fact for fact in group.facts if not fact.may_be_forged],
        rebalances=[one for one in group.rebalances if not any(fact.may_be_forged for fact in one.facts)],
    )


def forgeable_places(facts: Sequence[LoggedFact], *, is_ongoing: bool = False) -> set[int]:
    """Return the places of the facts that a client's text may have written."""
    of_files: defaultdict[str, list[int]] = defaultdict(list)
    for place, fact in enumerate(facts):
        if fact.dialect == BROKER and not fact.is_escaped:
            of_files[fact.file].append(place)
    found = {place for place, fact in enumerate(facts) if fact.may_be_forged}
    for _ in range(_ROUNDS):
        before = len(found)
        named = _NamedMembers(facts, found)
        for places in of_files.values():
            spans = [
                *_by_new_ids(places if is_ongoing else places[:-1], facts, named),
                *_around_odd(places, facts, named),
            ]
            found.update(places[index] for index in within(spans, len(places)))
        if len(found) == before:
            return found
    first, last = min(found), max(found)
    return found | {place for places in of_files.values() for place in places if first <= place <= last}


def _by_new_ids(places: Sequence[int], facts: Sequence[LoggedFact], named: _NamedMembers) -> Iterator[Span]:
    """From a line with a new id that no other line names to the last such line that one text can have written."""
    openers: defaultdict[FactKind, deque[int]] = defaultdict(deque)
    """The lines with a new id that may still be such a first one."""
    for index, place in enumerate(places):
        fact = facts[place]
        if fact.kind not in NEW_IDS or fact.is_static:
            continue  # An instance id can have no line breaks.
        before = openers[fact.kind]
        if not named.is_proven(fact, place, place, by_count=True):
            while before and before[0] < index - MOST_FORGED:
                before.popleft()
            for first in before:
                if not named.is_proven(facts[places[first]], places[first], place):
                    yield first, index + 1
                    break
        if not named.is_named_before(fact, place):
            before.append(index)


def _around_odd(places: Sequence[int], facts: Sequence[LoggedFact], named: _NamedMembers) -> Iterator[Span]:
    """Around a line of two messages, and around the leave of a member that the group did not have."""
    for index, place in enumerate(places):
        if place in named.strangers or facts[place].kind is FactKind.TWO_MESSAGES:
            yield max(0, index - MOST_FORGED), min(len(places), index + MOST_FORGED)


class _NamedMembers:
    """Where lines name each member id of a group; those that a client may have written do not count."""

    def __init__(self, facts: Sequence[LoggedFact], forgeable: Collection[int]) -> None:
        self._places: defaultdict[str, defaultdict[str, list[_Place]]] = defaultdict(lambda: defaultdict(list))
        rosters: defaultdict[str, _Roster] = defaultdict(_Roster)
        self.strangers: set[int] = set()
        """Where lines remove a member that the group did not have."""
        for place, fact in enumerate(facts):
            if fact.dialect != BROKER or not fact.group_id or place in forgeable:
                continue
            reason = read_reason(fact.reason) if fact.kind is FactKind.REBALANCE_BEGAN else None
            ids = {fact.member_id, fact.other_member_id, *fact.member_ids}
            ids |= set() if reason is None else {reason.member_id, *reason.member_ids}
            ids.discard("")
            roster = rosters[fact.group_id]
            if fact.kind in _ENDS and roster.is_whole and not roster.is_joining and not roster.members.keys() >= ids:
                self.strangers.add(place)
            roster.take(fact, reason, ids)
            if fact.kind is FactKind.JOIN_PHASE_ENDED and roster.is_whole:
                ids = {*roster.members}
            named = self._places[fact.group_id]
            for member_id in ids:
                known = named[member_id]
                if len(known) > 1 and known[-1][1] is known[-2][1] is fact.kind:
                    known.pop()
                known.append((place, fact.kind))

    def is_proven(self, fact: LoggedFact, first: int, last: int, *, by_count: bool = False) -> bool:
        """Whether a line of another kind, outside of these places, names the new id of a fact.

        by_count: or the size of a generation shows that its member was there.
        """
        known = self._places[fact.group_id][fact.member_id]
        others = (FactKind.JOIN_PHASE_ENDED, fact.kind) if not by_count else (fact.kind,)
        return any(kind not in others for place, kind in known if not first <= place <= last)

    def is_named_before(self, fact: LoggedFact, place: int) -> bool:
        """Whether a line of another kind before a place names the new id of a fact."""
        known = self._places[fact.group_id][fact.member_id]
        return bool(known) and known[0][0] < place and known[0][1] is not fact.kind


class _Roster:
    """The members of a group, as far as lines name them."""

    def __init__(self) -> None:
        self.members: dict[str, None] = {}
        self.is_whole = False
        """Whether these are all."""
        self.is_joining = False
        """Whether another one may come."""

    def take(self, fact: LoggedFact, reason: Reason | None, ids: Collection[str]) -> None:
        match fact.kind:
            case FactKind.STATIC_MEMBER_REPLACED if not fact.other_member_id:
                self.members.pop(fact.member_id, None)
                self.is_whole = False
            case FactKind.STATIC_MEMBER_REPLACED:
                self.members.pop(fact.member_id, None)
                self.members[fact.other_member_id] = None
            case FactKind.MEMBER_JOINED_EPOCH:
                self.members.pop(fact.other_member_id, None)
                self.members[fact.member_id] = None
            case FactKind.MEMBER_ADDED:
                self.members[fact.member_id] = None
            case FactKind.REBALANCE_BEGAN:
                self.is_joining = True
                if reason is not None and reason.kind is CauseKind.MEMBER_JOINED:
                    self.members[reason.member_id] = None
            case FactKind.JOIN_PHASE_ENDED:
                self.is_whole, self.is_joining = len(self.members) == fact.members, False
            case kind if kind in _FORGETS:
                self.members, self.is_whole, self.is_joining = {}, False, False
            case kind if kind in _ENDS:
                for member_id in ids:
                    self.members.pop(member_id, None)
            case _:
                pass
