"""Each member's part in a rebalance: when it was told, rejoined, synced and went on, and how long the others waited for
it.

Knows the facts of one rebalance's time. Must not know partitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from schemas.effect_names import EffectName
from why.facts import Fact
from why.members import Membership, Names, host_of
from why.rebalances import Rebalance


@dataclass(frozen=True)
class Part:
    """A member's part; times are ms since the epoch, None for what did not happen or is not known."""

    name: str
    member_id: str
    host: str
    is_member: bool
    """False for a client that was only told a member id."""
    is_new: bool
    told_at_ms: int | None
    """When an answer told it REBALANCE_IN_PROGRESS."""
    joined_at_ms: int | None
    """When its JoinGroup came; in a consumer group, when it had let go of all that the epoch took from it."""
    synced_at_ms: int | None
    """When its SyncGroup came; in a consumer group, when it had all that the epoch gives it."""
    back_at_ms: int | None
    """When its SyncGroup was answered, so that it could go on."""
    held_others_ms: int | None
    end_cause: str | None
    """Why it was removed, where that was before the rebalance ended."""


def parts_of(
    facts: Sequence[Fact], rebalance: Rebalance, around: Iterable[Membership], end_ms: int, names: Names
) -> list[Part]:
    """The parts of all clients that were members during it or that it waited for, in order of their JoinGroups."""
    memberships = {one.member_id: one for one in around if one.is_member_in(rebalance.started_at_ms, end_ms)}
    waits = {wait.member_id: wait for wait in rebalance.waits}
    moments = _moments(facts, rebalance, end_ms)
    parts: list[Part] = []
    for member_id in dict.fromkeys([*memberships, *waits]):
        one, wait = memberships.get(member_id), waits.get(member_id)
        told = moments.get(member_id, {})
        ended_ms = None if one is None else one.ended_at_ms
        host = one.client_host if one is not None else wait.client_host if wait is not None else ""
        parts.append(
            Part(
                name=names.of(member_id, wait.client_id if wait is not None else ""),
                member_id=member_id,
                host=host_of(host),
                is_member=one is not None,
                is_new=one is not None and one.joined_at_ms >= rebalance.started_at_ms,
                told_at_ms=told.get("told"),
                joined_at_ms=told.get("joined") if wait is None else wait.joined_at_ms,
                synced_at_ms=told.get("synced", None if wait is None else wait.synced_at_ms),
                back_at_ms=told.get("back"),
                held_others_ms=None if wait is None else wait.held_others_ms,
                end_cause=one.end_cause if one is not None and ended_ms is not None and ended_ms <= end_ms else None,
            )
        )
    return sorted(parts, key=lambda part: (part.joined_at_ms is None, part.joined_at_ms or 0))


def _moments(facts: Iterable[Fact], rebalance: Rebalance, end_ms: int) -> dict[str, dict[str, int]]:
    """By member: when it was told, when its latest JoinGroup and SyncGroup came, and when the latter was answered.

    A SyncGroup may come after the rebalance is over: the group goes on as soon as the leader's assignment is there.
    """
    to_generation_id = rebalance.to_generation_id or rebalance.from_generation_id + 1
    found: dict[str, dict[str, int]] = {}
    for fact in facts:
        if fact.at_ms < rebalance.started_at_ms:
            continue
        own = found.setdefault(fact.member_id, {})
        match fact.effect:
            case EffectName.JOIN_RECEIVED if fact.at_ms <= end_ms:
                own["joined"] = fact.at_ms
            case EffectName.SYNC_RECEIVED if fact.generation_id == to_generation_id:
                own.setdefault("synced", fact.at_ms)
            case EffectName.REPLY if fact.error_code == "REBALANCE_IN_PROGRESS" and fact.at_ms <= end_ms:
                own.setdefault("told", fact.at_ms)
            case EffectName.REPLY if fact.api == "SyncGroup" and fact.error_code == "NONE":
                if fact.generation_id == to_generation_id:
                    own.setdefault("back", fact.at_ms)
            case _:
                pass
    return found
