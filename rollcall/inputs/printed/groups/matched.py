"""The rebalances of several clients as those of their group: each once, with what all of them say of it.

Those to one generation are one. A leave of the newer protocol learns no number: it is laid to the epoch that follows
the member's, if their times allow it. Knows rebalances of each client in order. Must not know how lines are worded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from rollcall.inputs.printed.clocks import CLOCKS_MS
from rollcall.inputs.printed.groups.own_epochs import is_newer_line
from rollcall.inputs.printed.groups.own_part import LEFT, NOT_BACK
from rollcall.inputs.printed.lines.entries import DATED
from rollcall.inputs.printed.logged_rebalances import LoggedRebalance, is_open
from rollcall.schemas.causes import Cause, CauseCandidate, CauseKind


def matched(clients: Iterable[Sequence[LoggedRebalance]]) -> list[LoggedRebalance]:
    """Return the group's rebalances, in order."""
    found: list[LoggedRebalance] = []
    numbered: dict[int | None, LoggedRebalance] = {}
    for one in chain.from_iterable(clients):
        if one.generation_id in numbered:
            _join(numbered[one.generation_id], one)
            continue
        found.append(one)
        if one.generation_id is not None:
            numbered[one.generation_id] = one
    for one in numbered.values():
        if _was_there_before(one):
            one.cause, one.came = Cause(kind=CauseKind.UNKNOWN), []
    return _in_order([one for one in found if not _is_laid(one, numbered)])


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
    if is_open(one):
        return other
    if is_open(other):
        return one
    if (one.member_id or one.client_id) == (other.member_id or other.client_id):
        return other if one.kind is CauseKind.UNKNOWN else one
    fits = (*_that_fit(one), *_that_fit(other))
    kinds = {each.kind for each in fits}
    return Cause(kind=kinds.pop() if len(kinds) == 1 else CauseKind.UNKNOWN, is_inferred=True, candidates=fits)


def _that_fit(cause: Cause) -> tuple[CauseCandidate, ...]:
    alone = CauseCandidate(kind=cause.kind, member_id=cause.member_id, client_id=cause.client_id)
    return cause.candidates or (alone,)


# ---------------------------------------------------------------- leaves of the newer protocol


def _is_laid(leave: LoggedRebalance, numbered: dict[int | None, LoggedRebalance]) -> bool:
    """Whether a leave is the cause of the epoch that follows its member's, and is laid to that.

    That they belong together is concluded: the member may have been behind its group.
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
    if after is not None and is_open(after.cause) and _may_be_before(leave.began_at_ms, after.joined_at_ms):
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


def _was_there_before(one: LoggedRebalance) -> bool:
    """Whether a member had the epoch before the one that is said to have brought it asked to join."""
    asked_ms = [asked.at_ms for asked, _ in one.came if asked.at_ms is not None and is_newer_line(asked)]
    return bool(asked_ms) and not _may_be_before(min(asked_ms), one.joined_at_ms)


def _may_be_before(first_ms: int | None, then_ms: int | None) -> bool:
    return first_ms is None or then_ms is None or first_ms <= then_ms + CLOCKS_MS
