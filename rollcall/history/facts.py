"""One group's facts from the effects table, in order, each with the effect in its row.

Knows the columns of `rollcall.schemas.tables.EFFECTS` and which facts stay true after their moment. Must not know where
rows come from.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effect_rows import effect_in
from rollcall.schemas.effects import Effect, HeartbeatsTaken

log = logging.getLogger("rollcall.why")
COLUMNS = (
    "seq",
    "effect",
    "at_ms",
    "api",
    "error_code",
    "received_at_ms",
    "generation_id",
    "member_id",
    "client_id",
    "cause",
    "request_id",
    "detail",
)
_OF_A_FACT = COLUMNS[:-1]
REBALANCES = (
    EffectName.REBALANCE_STARTED,
    EffectName.REBALANCE_ENDED,
    EffectName.CAUSE_FOUND,
    EffectName.GROUP_REMOVED,
)
"""The facts about rebalances: needed of the whole history."""
MEMBERSHIPS = (EffectName.MEMBER_JOINED, EffectName.MEMBER_UPDATED, EffectName.MEMBER_REMOVED)
"""The facts about membership, timeouts and topics: they hold until the next of their kind."""
GROUP_TYPES = (EffectName.GROUP_TYPE_CHANGED, EffectName.GROUP_FOUND)
"""The facts about the group's protocol: they hold until the next of them."""
HOLDINGS = (EffectName.ASSIGNED, EffectName.JOIN_RECEIVED)
"""The facts that show, with a member's end, who owns which partition: needed since the latest completed generation."""
ACTIONS = (
    EffectName.REPLY,
    EffectName.HEARTBEATS_TAKEN,
    EffectName.SYNC_RECEIVED,
    EffectName.REQUEST_PARKED,
    EffectName.JOIN_PHASE_ENDED,
    EffectName.OFFSETS_COMMITTED,
    EffectName.STATE_CHANGED,
    EffectName.MEMBER_PROGRESSED,
    EffectName.GROUP_OBSERVED,
)
"""The facts of what happened in a span of time: needed of that span alone. A run of heartbeats stands where it ended,
and is looked for up to LONGEST_RUN_MS later.
"""
BEGIN_ANEW = (EffectName.GROUP_OBSERVED, EffectName.GROUP_TYPE_CHANGED)
"""The facts by which sessions begin anew without a request: they come before all else of their millisecond."""
OF_REQUESTS = (EffectName.REPLY, EffectName.HEARTBEATS_TAKEN, EffectName.REQUEST_PARKED)
"""The facts that only requests lead to."""

NEWER_ID_LENGTH = 36
"""The longest member id of the newer protocol; commits of its members do not restart their sessions."""
TAKEN = ("NONE", "REBALANCE_IN_PROGRESS")


@dataclass(frozen=True)
class Fact:
    """One row of effects. Empty text or -1 where a column is null."""

    at_ms: int
    seq: int
    effect: str
    api: str = ""
    error_code: str = ""
    received_at_ms: int = -1
    generation_id: int = -1
    member_id: str = ""
    client_id: str = ""
    cause: str = ""
    request_id: str = ""
    """The request that it answers or comes of, or its printed line or record. Only evidence reads it."""
    content: Effect | None = None
    """The effect in its detail; None if the columns have everything, as for an answer or a heartbeat of a run."""

    @property
    def is_sign_of_life(self) -> bool:
        """Whether it shows a request that restarted its member's session timer at this moment."""
        match self.effect:
            case EffectName.MEMBER_JOINED | EffectName.HEARTBEATS_TAKEN:
                return True
            case EffectName.OFFSETS_COMMITTED:
                return self.generation_id >= 0 and len(self.member_id) > NEWER_ID_LENGTH
            case EffectName.REPLY if self.api == "OffsetCommit":
                return self.error_code == "OFFSET_METADATA_TOO_LARGE" and self.generation_id >= 0
            case EffectName.REPLY if self.api == "ConsumerGroupHeartbeat":
                return self.error_code == "NONE" and self.generation_id >= 0
            case EffectName.REPLY:
                return self.api == "Heartbeat" and self.error_code in TAKEN
            case _:
                return False

    @property
    def is_answer(self) -> bool:
        """Whether it answers a JoinGroup or SyncGroup that was accepted."""
        return self.effect == EffectName.REPLY and self.api in ("JoinGroup", "SyncGroup") and self.error_code in TAKEN


def facts_of(rows: Iterable[Mapping[str, Any]]) -> list[Fact]:
    """Rows of the effects table, of one group, as facts in their order. A row may have more columns; seq is needed.

    A run of heartbeats becomes a fact for each, at its own moment. A row whose detail cannot be read is left out, which
    is logged.
    """
    found: list[Fact] = []
    for row in rows:
        fact = Fact(**{name: row[name] for name in _OF_A_FACT if row.get(name) is not None})
        try:
            content = effect_in(fact.effect, row.get("detail"))
        except (ValueError, RecursionError) as error:
            text = "the row %s with seq %d at %d ms cannot be read and is left out: %s"
            log.warning(text, fact.effect, fact.seq, fact.at_ms, error)
            continue
        if isinstance(content, HeartbeatsTaken):
            for one in content.taken:
                at_ms = (content.from_ms + beat for beat in one.beats)
                found += (replace(fact, at_ms=ms, member_id=one.member_id, client_id=one.client_id) for ms in at_ms)
        else:
            found.append(replace(fact, content=content))
    found.sort(key=in_order)
    return found


def in_order(fact: Fact) -> tuple[int, int, bool]:
    """The key that brings facts into their order; a heartbeat of a run comes last in its millisecond."""
    return fact.at_ms, fact.seq, fact.effect == EffectName.HEARTBEATS_TAKEN


def effects_in(facts: Iterable[Fact]) -> Iterator[Effect]:
    """The effects of facts that have one."""
    return (fact.content for fact in facts if fact.content is not None)
