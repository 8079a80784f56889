"""The rebalances of a group only by its clients' lines: each once, and why it began by what all of them show.

Those to one generation are one. A leave of the newer protocol learns no number: it is laid to the epoch that follows
the member's, if their times allow it. Knows what each client's lines say. Must not know how lines are worded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rollcall.inputs.printed.absence import could_stand
from rollcall.inputs.printed.groups.causes import by_difference
from rollcall.inputs.printed.groups.leaders import say_what_leaders_show, with_members
from rollcall.inputs.printed.groups.own_epochs import OwnHistory, is_newer_line
from rollcall.inputs.printed.groups.own_generations import learnt_of_others
from rollcall.inputs.printed.groups.own_part import LEFT, LONGEST_MS, NOT_BACK
from rollcall.inputs.printed.groups.reasons import Reason, cause_of
from rollcall.inputs.printed.lines.entries import DATED
from rollcall.inputs.printed.logged_facts import FactKind
from rollcall.inputs.printed.logged_rebalances import (
    Holder,
    LoggedRebalance,
    candidate,
    client_id_of,
    inferred,
)
from rollcall.inputs.tolerances import AT_ONCE_MS, CLOCKS_WITHIN_MS
from rollcall.schemas import makers
from rollcall.schemas.causes import GONE_FROM_A_GENERATION, LEFT_WITHOUT_A_WORD, Cause, CauseCandidate, CauseKind

ABSENT = "the next generation's leader did not find it among the members"
_WENT = Reason(CauseKind.UNKNOWN, candidates=GONE_FROM_A_GENERATION)
"""Why a member may be gone if nothing else is known about it."""
_SILENT = Reason(CauseKind.SESSION_EXPIRED, candidates=(CauseKind.SESSION_EXPIRED, *LEFT_WITHOUT_A_WORD))
"""Why a member may be gone whose log ends: a line that it leaves may be missing."""


def rebalances_between(clients: Sequence[OwnHistory]) -> list[LoggedRebalance]:
    """Return the group's rebalances, in order."""
    found = _in_order(_matched(clients))
    _name_the_absent(found)
    for one in found if len(clients) > 1 else ():
        _name_who_came(one)
        _name_who_is_silent(one, clients)
    _name_who_came_or_went(found)
    say_what_leaders_show(found)
    return found


# ---------------------------------------------------------------- each once


def _matched(clients: Sequence[OwnHistory]) -> list[LoggedRebalance]:
    found: list[LoggedRebalance] = []
    numbered: dict[int | None, LoggedRebalance] = {}
    own_ones = [one for own in clients for one in own.rebalances]
    joined_ms = {(one.generation_id, one.clock): one.joined_at_ms for one in own_ones if one.joined_at_ms}
    for one in own_ones:
        joined_at_ms = joined_ms.get((one.generation_id, one.clock))
        if one.joined_at_ms is None and not _may_be_before(one.began_at_ms, joined_at_ms):
            one.from_generation_id = one.generation_id = None  # A line is missing by which it joined a later one.
        if one.generation_id in numbered:
            _join(numbered[one.generation_id], one)
            continue
        found.append(one)
        if one.generation_id is not None:
            numbered[one.generation_id] = one
    for one in numbered.values():
        asked_ms = [asked.at_ms for asked, _ in one.came if asked.at_ms is not None and is_newer_line(asked)]
        if asked_ms and not _may_be_before(min(asked_ms), one.joined_at_ms):
            # A member had the epoch before the one that is said to have brought it asked to join.
            one.cause, one.came = Cause(kind=CauseKind.UNKNOWN), []
    return [one for one in found if not _is_laid(one, numbered)]


def _in_order(found: list[LoggedRebalance]) -> list[LoggedRebalance]:
    """By generation; one that has no number comes after the one that it follows."""
    if all(one.to_generation_id is not None for one in found):
        return sorted(found, key=lambda one: one.generation_id or (one.from_generation_id or 0) + 0.5)
    times = [_known(one.began_at_ms, one.joined_at_ms, one.ended_at_ms) for one in found]
    order = sorted(range(len(found)), key=lambda place: min(times[place])) if all(times) else range(len(found))
    return [found[place] for place in order]


def _known(*times_ms: int | None) -> list[int]:
    return [ms for ms in times_ms if ms is not None]


# ---------------------------------------------------------------- what two clients say of one


def _join(kept: LoggedRebalance, other: LoggedRebalance) -> None:
    """Lays what another client says of a rebalance beside what is known."""
    if other.clock in DATED and kept.clock not in DATED:
        kept.clock, kept.is_whole_seconds = other.clock, other.is_whole_seconds
        kept.began_at_ms, kept.joined_at_ms, kept.ended_at_ms = other.began_at_ms, other.joined_at_ms, other.ended_at_ms
    elif other.clock in DATED or kept.clock not in DATED:
        kept.began_at_ms = min(_known(kept.began_at_ms, other.began_at_ms), default=None)
        kept.joined_at_ms = min(_known(kept.joined_at_ms, other.joined_at_ms), default=None)
        kept.ended_at_ms = max(_known(kept.ended_at_ms, other.ended_at_ms), default=None)
    kept.cause = _of_both(kept.cause, other.cause)
    if other.outcome == "completed":
        kept.outcome = other.outcome
    if other.held_by is not None and (kept.held_by is None or other.held_by.why == NOT_BACK):
        kept.held_by = other.held_by
    kept.facts = [*kept.facts, *other.facts]
    kept.came += other.came


def _of_both(one: Cause, other: Cause) -> Cause:
    """Where two clients each say that they set it off, the first of them did: which one, their clocks do not show."""
    if one.is_open:
        return other
    if other.is_open:
        return one
    if (one.member_id or one.client_id) == (other.member_id or other.client_id):
        return other if one.kind is CauseKind.UNKNOWN else one
    return makers.cause_among((*_that_fit(one), *_that_fit(other)))


def _that_fit(cause: Cause) -> tuple[CauseCandidate, ...]:
    alone = CauseCandidate(kind=cause.kind, member_id=cause.member_id, client_id=cause.client_id)
    return cause.candidates or (alone,)


# ---------------------------------------------------------------- leaves of the newer protocol


def _is_laid(leave: LoggedRebalance, numbered: dict[int | None, LoggedRebalance]) -> bool:
    """Whether a leave is the cause of the epoch that follows its member's, and is laid to that.

    That they belong together is inferred: the member may have been behind its group.
    """
    epoch = leave.from_generation_id
    if (
        epoch is None
        or leave.generation_id is not None
        or leave.outcome != LEFT
        or not any(map(is_newer_line, leave.facts))
    ):
        return False
    after, joined = numbered.get(epoch + 1), numbered.get(epoch + 2)
    if after is not None and after.cause.is_open and _may_be_before(leave.began_at_ms, after.joined_at_ms):
        after.cause = leave.cause
        after.cause.is_inferred = True
        after.facts = [*after.facts, *leave.facts]
        return True
    brought = None if joined is None or joined.cause.kind is not CauseKind.MEMBER_JOINED else joined.cause.member_id
    if after is None and brought == leave.cause.member_id:
        # Its own next join brought the epoch after the next: that leaves one epoch for the leave.
        leave.generation_id, leave.cause.is_inferred = epoch + 1, True
        numbered[epoch + 1] = leave
    return False


def _may_be_before(first_ms: int | None, then_ms: int | None) -> bool:
    return first_ms is None or then_ms is None or first_ms <= then_ms + CLOCKS_WITHIN_MS


# ---------------------------------------------------------------- why it began, and who held it


def _name_who_came(rebalance: LoggedRebalance) -> None:
    """A client that was no member and asked to join before any member learnt of the rebalance: it fits as the cause."""
    came = [(asked.at_ms, joined) for asked, joined in rebalance.came if asked.at_ms is not None]
    if not rebalance.cause.is_open or not came:
        return
    learnt_ms = [fact.at_ms for fact in rebalance.facts if learnt_of_others(fact) and fact.at_ms is not None]
    first_ms, joined = min(came, key=lambda one: one[0])
    if not learnt_ms or first_ms <= min(learnt_ms):
        rebalance.cause = inferred(CauseKind.MEMBER_JOINED, joined.member_id, joined.client_id)


def _name_who_is_silent(rebalance: LoggedRebalance, clients: Sequence[OwnHistory]) -> None:
    """A member of the generation before whose log ends before the rebalance, without a leave: that it expired fits.

    Where other logs end with the rebalance, its own may lack what others have of that.
    """
    began_ms, joined_ms = rebalance.began_at_ms, rebalance.joined_at_ms
    if not rebalance.cause.is_open or began_ms is None or joined_ms is None or rebalance.generation_id is None:
        return
    if max(own.facts[-1].at_ms or 0 for own in clients) - joined_ms < AT_ONCE_MS:
        return
    silent = [
        joined
        for own in clients
        if (joined := own.last_join) is not None
        and joined.generation_id == rebalance.generation_id - 1
        and (own.facts[-1].at_ms or 0) < began_ms
        and could_stand(own.facts[-1], FactKind.LEAVE_SENT)
    ]
    if len(silent) == 1:
        rebalance.cause = cause_of(_SILENT._replace(member_id=silent[0].member_id), silent[0].client_id)
    elif silent:
        fits = [candidate(_SILENT.kind, one.member_id, one.client_id) for one in silent]
        rebalance.cause = makers.cause_among(fits)


def _name_who_came_or_went(rebalances: Sequence[LoggedRebalance]) -> None:
    """Where nothing else says the cause: the one member by which a leader's list differs from the one before."""
    before, earlier = LoggedRebalance("", generation_id=0), list[str]()
    for one, found in with_members(rebalances):
        is_next = one.generation_id is not None and one.generation_id - 1 == before.generation_id
        if one.cause.is_open and is_next and found and (earlier or before.generation_id == 0):
            cause = by_difference({*earlier}, {*found}, _WENT)
            if _is_anew(earlier, found):
                cause = inferred(CauseKind.MEMBER_JOINED, found[0])
            # If others held it, they may have begun it too, and gone on without the one that went.
            if one.held_by is None or not cause.candidates:
                one.cause = cause
        before, earlier = one, found


def _is_anew(earlier: Sequence[str], found: Sequence[str]) -> bool:
    """Whether the only member is the client that was it before, under a new member id."""
    client_ids = {client_id_of(each) for each in (*earlier, *found)}
    return len(earlier) == len(found) == 1 and earlier != found and len(client_ids) == 1 and client_ids != {""}


def _name_the_absent(rebalances: Sequence[LoggedRebalance]) -> None:
    """Who held the others, if only one member of the previous generation was not back in time."""
    for one, absent in absent_members(rebalances):
        held = one.held_by
        if held is None or held.member_id or (held.length_ms or 0) > LONGEST_MS:
            continue
        if len(absent) == 1 and absent[0] != one.cause.member_id:
            one.held_by = Holder(held.length_ms, absent[0], True, ABSENT, tuple(absent))


def absent_members(rebalances: Sequence[LoggedRebalance]) -> Iterator[tuple[LoggedRebalance, list[str]]]:
    """Members of a generation that the leader of the next one did not find."""
    for (before, earlier), (one, found) in pairwise(with_members(rebalances)):
        if one.generation_id is None or before.generation_id != one.generation_id - 1 or not found:
            continue
        back = {client_id_of(member_id) for member_id in found} - {""}
        absent = [each for each in earlier if each not in found and client_id_of(each) not in back]
        if absent:
            yield one, absent
