"""Facts of a group `g` by a log or by the topic, as tests write them by hand, and which of them a history has."""

from __future__ import annotations

from typing import Any

from rollcall.coordinator_udfs.protocol.consumer.states import GroupType
from rollcall.schemas.consumer_effects import GroupTypeChanged
from rollcall.schemas.effects import (
    Effect,
    GroupCreated,
    GroupObserved,
    JoinPhaseEnded,
    MemberJoined,
    MemberRemoved,
    RebalanceEnded,
    RebalanceStarted,
)
from tests.offsets_topic.beside import Both
from tests.written_effects import effect


def joined(at_ms: int, member_id: str, **more: Any) -> MemberJoined:
    return effect(MemberJoined, at_ms, member_id=member_id, client_id=member_id, **more)


def gone(at_ms: int, member_id: str, generation: int) -> MemberRemoved:
    return effect(MemberRemoved, at_ms, member_id=member_id, client_id=member_id, generation_id=generation)


def began(at_ms: int, to: int, members_before: int = 1) -> RebalanceStarted:
    start = {"from_generation_id": to - 1, "from_state": "Stable", "members_before": members_before}
    return effect(RebalanceStarted, at_ms, **start)


def ended(at_ms: int, to: int, members: list[str], *, is_logged: bool) -> list[Effect]:
    """The end of the join phase, and of the rebalance."""
    end = {"from_generation_id": to - 1, "to_generation_id": to, "members_before": 1, "members_after": len(members)}
    return [
        effect(JoinPhaseEnded, at_ms, generation_id=to, leader_id=members[0], member_ids=members),
        effect(RebalanceEnded, at_ms, started_at_ms=at_ms - 5 if is_logged else None, **end),
    ]


def changed(
    at_ms: int, from_type: GroupType | None, to_type: GroupType, generation: int, why: str = "seen"
) -> GroupTypeChanged:
    return GroupTypeChanged(
        at_ms=at_ms, from_type=from_type, to_type=to_type, why=why, generation_id=generation, client_id="a"
    )


def observed(at_ms: int, generation: int, *member_ids: str, is_away: bool = False) -> GroupObserved:
    return GroupObserved(
        at_ms=at_ms,
        why="seen",
        is_away=is_away,
        is_loaded=False,
        generation_id=generation,
        member_ids=list(member_ids),
    )


def reported_of(both: Both, kind: str) -> list[tuple[int, str]]:
    """(at_ms, whose fact) of each fact of a kind."""
    return [
        (fact.at_ms, "log" if fact in both.log["g"] else "topic") for fact in both.history("g") if fact.effect == kind
    ]


LOG_OF_ONE: list[Effect] = [
    GroupCreated(at_ms=1_000),
    joined(1_000, "a"),
    began(1_000, 1, 0),
    *ended(4_000, 1, ["a"], is_logged=True),
]
