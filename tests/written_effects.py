"""Effects as a test writes them: it names the fields that matter to it, the others have a plain value.

Knows the shapes of effects; must not know who reports them.
"""

from __future__ import annotations

from typing import Any, TypeVar

from rollcall.schemas.causes import Cause, CauseKind, EndCause
from rollcall.schemas.effects import (
    Assigned,
    Effect,
    JoinPhaseEnded,
    JoinReceived,
    MemberJoined,
    MemberRemoved,
    RebalanceEnded,
    RebalanceStarted,
    StateChanged,
)

E = TypeVar("E", bound=Effect)
_CLIENT: dict[str, Any] = {"client_id": "app", "client_host": "/h", "group_instance_id": None}
_JOINED = Cause(kind=CauseKind.MEMBER_JOINED)
_PLAIN: dict[type[Effect], dict[str, Any]] = {
    MemberJoined: {**_CLIENT, "session_timeout_ms": 6_000, "rebalance_timeout_ms": 60_000, "topics": ["t"]},
    MemberRemoved: {**_CLIENT, "generation_id": 1, "end_cause": EndCause.MEMBER_LEFT},
    JoinReceived: {"client_id": "app", "from_generation_id": 0},
    JoinPhaseEnded: {"generation_id": 1, "protocol_name": "range", "leader_id": None},
    Assigned: {"client_id": "app", "group_instance_id": None, "generation_id": 1, "assignment": b""},
    StateChanged: {"generation_id": 1, "protocol_type": "consumer", "protocol_name": "range", "leader_id": "A"},
    RebalanceStarted: {
        "from_generation_id": 0,
        "from_state": "Empty",
        "cause": _JOINED,
        "members_before": 0,
        "join_timeout_ms": 60_000,
    },
    RebalanceEnded: {
        **{"from_generation_id": 0, "to_generation_id": 1, "cause": _JOINED, "outcome": "completed"},
        **{"members_before": 0, "members_after": 1, "joined": [], "left": [], "expired": [], "waits": []},
        **dict.fromkeys(("slowest_member_id", "slowest_client_id", "slowest_wait_ms")),
    },
}


def effect(kind: type[E], at_ms: int, **fields: Any) -> E:
    """An effect of this kind."""
    return kind(at_ms=at_ms, **{**_PLAIN[kind], **fields})
