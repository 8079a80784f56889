"""A logged rebalance as an effect: what its lines have of it, with its members' names.

Knows one rebalance, and members by their ids. Must not know when lines begin or end one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from rollcall.inputs.printed.groups.logged_members import EXPIRED, LEFT, Changes, Members
from rollcall.inputs.printed.logged_rebalances import LoggedRebalance
from rollcall.schemas.causes import Cause, EndCause
from rollcall.schemas.effects import MemberWait, RebalanceEnded


@dataclass
class Running:
    """A rebalance that runs."""

    rebalance: LoggedRebalance
    generation_id: int
    known_from_ms: int
    began_ms: int | None
    """None: its beginning is not in the lines."""
    members_before: int | None = None
    members_after: int | None = None
    changes: Changes = field(default_factory=Changes)

    def ended(self, at_ms: int, outcome: str, members: Members) -> RebalanceEnded:
        """It is over, or the lines have no more of it."""
        before, after, changes = self.members_before, self.members_after, self.changes
        came = len(changes.came) - len(changes.gone)
        if outcome == "completed" and before is not None and after is not None and before + came != after:
            before = None  # Some came or went without a line.
        slowest = _slowest(self.rebalance, members)
        return RebalanceEnded(
            at_ms=at_ms,
            from_generation_id=self.generation_id - 1,
            to_generation_id=self.generation_id,
            started_at_ms=self.began_ms,
            known_from_ms=self.known_from_ms if self.began_ms is None else None,
            cause=cause_of(self.rebalance, members),
            outcome=outcome,
            members_before=before,
            members_after=after,
            joined=changes.joined,
            left=changes.names(*LEFT),
            expired=changes.names(*EXPIRED),
            gone=tuple(changes.names(EndCause.UNKNOWN)),
            slowest_member_id=None if slowest is None else slowest.member_id,
            slowest_client_id=None if slowest is None else slowest.client_id or None,
            slowest_wait_ms=None if slowest is None else slowest.held_others_ms,
            waits=[] if slowest is None else [slowest],
        )


def cause_of(rebalance: LoggedRebalance, members: Members) -> Cause:
    """Its cause, with the culprit's client id and host where they are known."""
    cause = rebalance.cause
    if not cause.member_id:
        return cause
    known = members.named(cause.member_id)
    client_id, client_host = cause.client_id or known.client_id, cause.client_host or known.client_host
    return msgspec.structs.replace(cause, client_id=client_id, client_host=client_host)


def _slowest(rebalance: LoggedRebalance, members: Members) -> MemberWait | None:
    """Who kept the others waiting, if lines name one that did."""
    held = rebalance.held_by
    if held is None or not held.member_id or held.length_ms is None or held.is_inferred or held.candidates:
        return None
    member = members.named(held.member_id)
    return MemberWait(**member._asdict(), joined_at_ms=None, synced_at_ms=None, held_others_ms=held.length_ms)
