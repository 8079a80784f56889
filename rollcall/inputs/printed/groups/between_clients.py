"""Why a group's rebalances began and who held them, as the lines of its clients show it together.

Knows rebalances of clients, and facts of each client in order. Must not know how lines are worded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rollcall.inputs.printed.absence import could_stand
from rollcall.inputs.printed.groups.causes import by_difference
from rollcall.inputs.printed.groups.leaders import with_members
from rollcall.inputs.printed.groups.own_epochs import OwnHistory
from rollcall.inputs.printed.groups.own_generations import learnt_of_others
from rollcall.inputs.printed.groups.own_part import LONGEST_MS
from rollcall.inputs.printed.groups.reasons import LEFT_WITHOUT_A_WORD, Reason
from rollcall.inputs.printed.groups.session_findings import AT_ONCE_MS
from rollcall.inputs.printed.logged_facts import FactKind
from rollcall.inputs.printed.logged_rebalances import (
    Holder,
    LoggedRebalance,
    candidate,
    client_id_of,
    concluded,
    is_open,
)
from rollcall.schemas.causes import Cause, CauseKind

ABSENT = "the next generation's leader did not find it among the members"
_WENT = Reason(
    CauseKind.UNKNOWN,
    candidates=(*LEFT_WITHOUT_A_WORD, CauseKind.SESSION_EXPIRED, CauseKind.SYNC_TIMEOUT, CauseKind.ADMIN_REMOVED),
)
"""Why a member may be gone of which nothing else is known."""


def name_who_came(rebalance: LoggedRebalance) -> None:
    """A client that was no member and asked to join before any member learnt of the rebalance: it fits as the cause."""
    came = [(asked.at_ms, joined) for asked, joined in rebalance.came if asked.at_ms is not None]
    if not is_open(rebalance.cause) or not came:
        return
    learnt_ms = [fact.at_ms for fact in rebalance.facts if learnt_of_others(fact) and fact.at_ms is not None]
    first_ms, joined = min(came, key=lambda one: one[0])
    if not learnt_ms or first_ms <= min(learnt_ms):
        rebalance.cause = concluded(CauseKind.MEMBER_JOINED, joined.member_id, joined.client_id)


def name_who_is_silent(rebalance: LoggedRebalance, clients: Sequence[OwnHistory]) -> None:
    """A member of the generation before whose log ends before the rebalance, without a leave: that it expired fits.

    Where other logs end with the rebalance, its own may lack what others have of that.
    """
    began_ms, joined_ms = rebalance.began_at_ms, rebalance.joined_at_ms
    if not is_open(rebalance.cause) or began_ms is None or joined_ms is None or rebalance.generation_id is None:
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
        rebalance.cause = concluded(CauseKind.SESSION_EXPIRED, silent[0].member_id, silent[0].client_id)
    elif silent:
        fits = tuple(candidate(CauseKind.SESSION_EXPIRED, one.member_id, one.client_id) for one in silent)
        rebalance.cause = Cause(kind=CauseKind.SESSION_EXPIRED, is_inferred=True, candidates=fits)


def name_who_came_or_went(rebalances: Sequence[LoggedRebalance]) -> None:
    """Where nothing else says the cause: the one member by which a leader's list differs from the one before."""
    before, earlier = LoggedRebalance("", generation_id=0), list[str]()
    for one, found in with_members(rebalances):
        is_next = one.generation_id is not None and one.generation_id - 1 == before.generation_id
        if is_open(one.cause) and is_next and found and (earlier or before.generation_id == 0):
            cause = by_difference({*earlier}, {*found}, _WENT)
            if _is_anew(earlier, found):
                cause = concluded(CauseKind.MEMBER_JOINED, found[0])
            # If others held it, they may have begun it too, and gone on without the one that went.
            if one.held_by is None or not cause.candidates:
                one.cause = cause
        before, earlier = one, found


def _is_anew(earlier: Sequence[str], found: Sequence[str]) -> bool:
    """Whether the only member is the client that was it before, under a new member id."""
    client_ids = {client_id_of(each) for each in (*earlier, *found)}
    return len(earlier) == len(found) == 1 and earlier != found and len(client_ids) == 1 and client_ids != {""}


def name_the_absent(rebalances: Sequence[LoggedRebalance]) -> None:
    """Who held the others, if one member alone of the generation before was not back in time."""
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
