"""A group's facts by one input, cut into eras: a generation, from the rebalance that led to it to the next one.

Knows which facts begin an era, and what both inputs know of one. Must not know which input is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from rollcall.coordinator_udfs.protocol.consumer.states import GroupType
from rollcall.history.facts import Fact
from rollcall.history.members import Membership, Memberships
from rollcall.schemas.causes import CauseKind
from rollcall.schemas.consumer_effects import GroupTypeChanged
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effects import (
    GroupFound,
    GroupObserved,
    JoinPhaseEnded,
    MemberJoined,
    MemberRemoved,
    RebalanceEnded,
    RebalanceStarted,
)

NO_GROUP = -1
OF_GENERATIONS = frozenset({EffectName.REBALANCE_STARTED, EffectName.JOIN_PHASE_ENDED, EffectName.REBALANCE_ENDED})
"""Facts that name the generation that a rebalance leads to."""
OF_GROUPS = OF_GENERATIONS | {
    EffectName.GROUP_CREATED,
    EffectName.GROUP_REMOVED,
    EffectName.GROUP_OBSERVED,
    EffectName.GROUP_FOUND,
    EffectName.GROUP_TYPE_CHANGED,
    EffectName.STATE_CHANGED,
    EffectName.MEMBER_JOINED,
    EffectName.MEMBER_UPDATED,
    EffectName.MEMBER_REMOVED,
    EffectName.MEMBER_SUBSCRIBED,
    EffectName.MEMBER_LEFT_FOR_NOW,
    EffectName.MEMBER_PROGRESSED,
    EffectName.ASSIGNED,
    EffectName.CAUSE_FOUND,
    EffectName.TOPICS_SEEN,
    EffectName.PATTERNS_RESOLVED,
    EffectName.TARGET_ASSIGNED,
    EffectName.OFFSETS_REMOVED,
}
"""Facts that both inputs may have, to be taken from one only; commits are separate, and the rest only a log has."""


class Reached(msgspec.Struct):
    """The state that an input's facts have reached."""

    generation: int = NO_GROUP
    """The group's generation or epoch."""
    is_consumer: bool = False
    is_gap: bool = False
    members: dict[str, Membership] = {}
    """Who is a member."""


@dataclass(slots=True)
class Era:
    """A generation by one input, or a time without a group, or (is_gap) one for which the log has only inferences."""

    number: int
    """0: the group is created, or begun anew as one of the other type when it was Empty."""
    is_consumer: bool
    began_ms: int
    members_before: frozenset[str] = frozenset()
    is_gap: bool = False
    is_found: bool = False
    is_over: bool = True
    """Whether the rebalance that led to it has ended."""
    at_ms: int = 0
    """When its generation was formed, so that both inputs can name it."""
    ended_ms: int = 0
    """When that rebalance ended, if it has."""
    details: dict[str, str] = field(default_factory=dict)
    """What both inputs know of a generation besides: leader, members, how its rebalance ended."""
    forming: list[Fact] = field(default_factory=list)
    """The facts of the rebalance."""
    tail: list[Fact] = field(default_factory=list)
    """What happened afterwards in this generation."""

    @property
    def is_superseded(self) -> bool:
        return isinstance(self.forming[-1].content, RebalanceEnded) and self.forming[-1].content.outcome == "superseded"

    @property
    def has_beginning(self) -> bool:
        """Whether its first moment is known."""
        return any(fact.effect in (EffectName.REBALANCE_STARTED, EffectName.GROUP_CREATED) for fact in self.forming)

    @property
    def is_cause_known(self) -> bool:
        """Whether the cause of its rebalance is known."""
        causes = [fact.content.cause.kind for fact in self.forming if isinstance(fact.content, RebalanceStarted)]
        return bool(causes) and causes[0] != CauseKind.UNKNOWN


def eras_of(facts: Iterable[Fact], reached: Reached) -> list[Era]:
    """The eras of facts in order of time. The first era continues from `reached`, which is updated."""
    eras = [Era(reached.generation, reached.is_consumer, -1, is_gap=reached.is_gap)]
    for fact in facts:
        era = eras[-1]
        begun = _begun_by(fact, era, reached)
        if begun is not None:
            if fact.effect in OF_GENERATIONS:
                begun.forming = _taken_back(era, fact.at_ms)
                begun.is_gap = era.is_gap and era.began_ms == fact.at_ms
            begun.members_before = frozenset(_members_before(begun.forming, reached.members))
            if fact.effect == EffectName.JOIN_PHASE_ENDED:
                # Of those that left as the group became classic again: the topic has them before what follows.
                downgrades = {one.at_ms for one in era.tail if is_to_classic(one)}
                gone = (one for one in era.tail if one.effect == EffectName.MEMBER_REMOVED and one.at_ms in downgrades)
                begun.members_before |= {one.member_id or "" for one in gone}
            eras.append(begun)
            era = begun
        if fact.effect in OF_GENERATIONS:
            _take_generation(fact, era, reached)
        is_forming = begun is not None or not era.is_over or fact.effect == EffectName.REBALANCE_ENDED
        (era.forming if is_forming and era is not eras[0] else era.tail).append(fact)
        take_members(fact, reached)
        if isinstance(fact.content, GroupTypeChanged):
            reached.is_consumer, reached.generation = (
                fact.content.is_to_consumer,
                fact.content.generation_id,
            )
        elif fact.effect == EffectName.GROUP_REMOVED:
            reached.generation = NO_GROUP
            eras.append(Era(NO_GROUP, False, fact.at_ms, at_ms=fact.at_ms))
    reached.is_gap = eras[-1].is_gap
    return eras


def _taken_back(era: Era, at_ms: int) -> list[Fact]:
    """Takes the facts of the request that began the next era out of an era."""
    facts = era.tail or era.forming
    end = len(facts)
    if facts is era.forming and end and facts[-1].effect == EffectName.REBALANCE_ENDED and facts[-1].at_ms == at_ms:
        # If the next epoch of a consumer group supersedes one, the log has its end after the newcomers.
        end -= era.is_superseded
    start = end
    while start and facts[start - 1].at_ms == at_ms and facts[start - 1].effect not in OF_GENERATIONS:
        start -= 1
    if facts is era.forming and end == len(facts):
        return []
    taken = facts[start:end]
    del facts[start:end]
    return taken


def is_conversion(fact: Fact) -> bool:
    """Whether a group becomes one of another type."""
    return isinstance(fact.content, GroupTypeChanged) and fact.content.from_type is not None


def is_to_classic(fact: Fact) -> bool:
    """Whether the group becomes a classic one."""
    return isinstance(fact.content, GroupTypeChanged) and fact.content.to_type == GroupType.CLASSIC


def _begun_by(fact: Fact, era: Era, reached: Reached) -> Era | None:
    """The era that a fact begins."""
    match fact.content:
        # A consumer group whose broker was away is unchanged, unless the topic has an epoch of that time.
        case GroupObserved(is_away=is_away, is_loaded=is_loaded, member_ids=seen) if seen or (
            (is_away or is_loaded) and not reached.is_consumer
        ):
            return Era(NO_GROUP, reached.is_consumer, fact.at_ms, is_gap=True, at_ms=fact.at_ms)
        case GroupFound(generation_id=generation, group_type=group_type):
            reached.generation, reached.is_consumer = generation, group_type == GroupType.CONSUMER
            return Era(generation, reached.is_consumer, fact.at_ms, is_found=True, at_ms=fact.at_ms)
    if fact.effect == EffectName.GROUP_CREATED:
        reached.generation, reached.is_consumer = 0, False
        return Era(0, False, fact.at_ms, at_ms=fact.at_ms)
    if isinstance(fact.content, GroupTypeChanged) and fact.content.why == "replaced":
        return Era(0, fact.content.is_to_consumer, fact.at_ms, at_ms=fact.at_ms)
    if fact.effect not in OF_GENERATIONS or not (leads_to(fact) > reached.generation or era.is_gap):
        return None
    # A classic group may rebalance again before a generation has its assignment: the topic has only the last one.
    if era.is_over or era.is_gap or reached.is_consumer:
        return Era(leads_to(fact), reached.is_consumer, fact.at_ms, is_over=False, at_ms=fact.at_ms)
    return None


def _take_generation(fact: Fact, era: Era, reached: Reached) -> None:
    reached.generation = max(reached.generation, leads_to(fact))
    if era.is_over or leads_to(fact) < era.number:
        return
    era.number = leads_to(fact)
    match fact.content:
        case JoinPhaseEnded(leader_id=leader_id, member_ids=member_ids):
            era.at_ms = fact.at_ms
            era.details["members"] = ", ".join([f"led by {leader_id}", *sorted(member_ids)])
        case RebalanceEnded(outcome=outcome) if era.is_consumer or outcome != "superseded":
            era.is_over, era.ended_ms = True, fact.at_ms
            era.details["number of members"] = str(fact.content.members_after)
            if not era.is_consumer:
                era.at_ms = fact.at_ms if outcome == "empty" else era.at_ms
                era.details["outcome"] = outcome
        case _:
            pass


def leads_to(fact: Fact) -> int:
    """The generation of the rebalance that a fact is about."""
    match fact.content:
        case RebalanceStarted(from_generation_id=generation):
            return generation + 1
        case JoinPhaseEnded(generation_id=generation) | RebalanceEnded(to_generation_id=generation):
            return generation
        case _:
            raise ValueError(f"{fact.effect} leads to no generation")


def take_members(fact: Fact, reached: Reached) -> None:
    """Updates who is a member."""
    if fact.effect in (EffectName.GROUP_CREATED, EffectName.GROUP_REMOVED, EffectName.GROUP_FOUND):
        reached.members.clear()
    elif isinstance(fact.content, MemberJoined | MemberRemoved):
        memberships = Memberships()
        memberships.current = reached.members
        memberships.take(fact.content)


def _members_before(facts: Sequence[Fact], members: Iterable[str]) -> set[str]:
    """Who was a member before these facts, which are taken already."""
    before = set(members)
    for fact in reversed(facts):
        match fact.content:
            case MemberJoined(member_id=member_id):
                before.discard(member_id)
            case MemberRemoved(member_id=member_id):
                before.add(member_id)
            case _:
                pass
    return before
