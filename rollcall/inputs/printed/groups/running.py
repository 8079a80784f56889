"""A group as its coordinator's lines have it so far, and the rebalance that runs in it.

A rebalance becomes effects once all lines are read, of clients too: only then is its cause known. Knows one group's
lines, and its clients'. Must not know which line begins or ends a rebalance.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import partial

from msgspec.structs import replace

from rollcall.inputs.printed.groups.holders import holder_of
from rollcall.inputs.printed.groups.logged_effects import Written, made
from rollcall.inputs.printed.groups.logged_members import Changes, Member, Members, explain_departure
from rollcall.inputs.printed.groups.owners import Owners
from rollcall.inputs.printed.groups.standing import UNKNOWN_STATE, Standing
from rollcall.inputs.printed.logged_facts import FactKind, LoggedFact, is_dated
from rollcall.inputs.printed.logged_rebalances import LoggedRebalance
from rollcall.schemas.causes import EXPIRED, LEFT, Cause, EndCause
from rollcall.schemas.effects import UNKNOWN_END, MemberWait, RebalanceEnded, RebalanceStarted
from rollcall.schemas.shown_effects import ShownEffect


class Running:
    """One group. clients: each one's lines."""

    def __init__(self, lines: Sequence[LoggedFact], clients: Sequence[Sequence[LoggedFact]]) -> None:
        self.written = Written(at_ms=next((line.at_ms or 0 for line in lines if is_dated(line)), 0))
        self.members = Members.of_clients(self.written, (line for own in clients for line in own))
        given = [line.generation_id or 0 for line in lines if line.kind is FactKind.ASSIGNMENT_RECEIVED]
        self.owners = Owners(self.written, self.members, clients, given)
        self.standing = Standing(self.written, self.members)
        self.rebalances: list[LoggedRebalance] = []
        """All so far, in order."""
        self.one: LoggedRebalance | None = None
        """The one that runs."""
        self.changes = Changes()
        """Who came and went until its generation was formed."""

    def effects(
        self, rests_on: Set[int], rebalances: Sequence[LoggedRebalance], *, are_leaves_said: bool
    ) -> list[ShownEffect]:
        """Return the effects that rest on lines and rebalances with these ids, in order.

        are_leaves_said: its own line says of a leave what is certain, though not which rebalance that set off.
        """
        causes = {id(line): one.cause for one in rebalances for line in one.facts}
        for line_id, removed in self.members.left.items():
            is_open = removed.end_cause is EndCause.UNKNOWN and not removed.candidates
            if line_id in causes and (is_open or not are_leaves_said):
                explain_departure(removed, causes[line_id])
        return made(one for one in self.written.effects if id(one.of) in rests_on)

    def begin(self, one: LoggedRebalance, *, is_beginning: bool) -> None:
        """It runs from now on. is_beginning: it begins now; otherwise its beginning is not in the lines."""
        if all(other is not one for other in self.rebalances[-1:]):
            self.rebalances.append(one)
        self.one, self.changes = one, Changes()
        one.known_from_ms, one.is_begun = self.written.at_ms, is_beginning
        follows = one.to_generation_id is not None and self.written.generation_id == one.to_generation_id - 1
        one.members_before = self.standing.count if follows else None
        if is_beginning:
            state, culprit = self.standing.state or UNKNOWN_STATE, self.members.named(one.cause.member_id)
            self.written.emit_later(one.known_from_ms, partial(_started, one, state, culprit), one)

    def end(self, outcome: str) -> None:
        """It ended, or the lines have no more about it."""
        one = self.one
        if one is None:
            return
        one.outcome = "" if outcome == UNKNOWN_END else outcome
        one.held_by = one.held_by or holder_of(one)  # Clients and doubts may have changed it since the walk.
        self.one = None
        at_ms = one.known_from_ms if outcome == UNKNOWN_END else self.written.at_ms
        self.report_end(one, at_ms, outcome)
        if outcome in ("completed", "empty"):
            self.members.store(one.members_after)

    def report_end(self, one: LoggedRebalance, at_ms: int, outcome: str) -> None:
        """Say who set it off and who held it, as they are known by now, and how many members there are after it."""
        held, named = one.held_by, self.members.named
        culprit, holder = named(one.cause.member_id), named("" if held is None else held.member_id)
        self.written.emit_later(at_ms, partial(_ended, one, at_ms, outcome, culprit, holder, self.changes), one)
        self.standing.count = one.members_after


def _started(one: LoggedRebalance, state: str, culprit: Member) -> RebalanceStarted | None:
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


def _ended(
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
