"""A logged rebalance as effects: what its lines have of it, with its members' names.

They are made once all lines are read, of clients too: only then is its cause known. Knows one rebalance, and the
members that it names. Must not know when lines begin or end one.
"""

from __future__ import annotations

from msgspec.structs import replace

from rollcall.inputs.printed.groups.logged_members import Changes, Member
from rollcall.inputs.printed.logged_rebalances import LoggedRebalance
from rollcall.schemas.causes import EXPIRED, LEFT, Cause, EndCause
from rollcall.schemas.effects import MemberWait, RebalanceEnded, RebalanceStarted


def started(one: LoggedRebalance, state: str, culprit: Member) -> RebalanceStarted | None:
    """Return the effect of its beginning in a state of the group; None: no line has its number."""
    if one.to_generation_id is None:
        return None
    return RebalanceStarted(
        at_ms=one.known_from_ms,
        from_generation_id=one.to_generation_id - 1,
        from_state=state,
        cause=_with_names(one.cause, culprit),
        members_before=one.members_before,
        join_timeout_ms=-1,
    )


def ended(
    one: LoggedRebalance, at_ms: int, outcome: str, culprit: Member, holder: Member, changes: Changes
) -> RebalanceEnded | None:
    """Return the effect of its end, or of its last line. changes: who came and went until its generation was formed."""
    if one.to_generation_id is None:
        return None
    before, after = one.members_before, one.members_after
    came = len(changes.came) - len(changes.gone)
    if outcome == "completed" and before is not None and after is not None and before + came != after:
        before = None  # Some came or went without a line.
    waits = _waits(one, holder)
    return RebalanceEnded(
        at_ms=at_ms,
        from_generation_id=one.to_generation_id - 1,
        to_generation_id=one.to_generation_id,
        started_at_ms=one.known_from_ms if one.is_begun else None,
        known_from_ms=None if one.is_begun else one.known_from_ms,
        cause=_with_names(one.cause, culprit),
        outcome=outcome,
        members_before=before,
        members_after=after,
        joined=changes.joined,
        left=changes.names(*LEFT),
        expired=changes.names(*EXPIRED),
        gone=tuple(changes.names(EndCause.UNKNOWN)),
        slowest_member_id=waits[0].member_id if waits else None,
        slowest_client_id=waits[0].client_id or None if waits else None,
        slowest_wait_ms=waits[0].held_others_ms if waits else None,
        waits=waits,
    )


def _waits(one: LoggedRebalance, holder: Member) -> list[MemberWait]:
    """Return who kept the others waiting, if lines name one that did."""
    held = one.held_by
    if held is None or not held.member_id or held.length_ms is None or held.is_inferred or held.candidates:
        return []
    return [MemberWait(**holder._asdict(), joined_at_ms=None, synced_at_ms=None, held_others_ms=held.length_ms)]


def _with_names(cause: Cause, culprit: Member) -> Cause:
    """Return a cause with the culprit's client id and host where they are known."""
    if not cause.member_id:
        return cause
    client_id, client_host = cause.client_id or culprit.client_id, cause.client_host or culprit.client_host
    return replace(cause, client_id=client_id, client_host=client_host)
