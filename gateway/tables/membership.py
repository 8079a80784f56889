"""Who is in which group as of the last commit, kept up by facts.

Knows the facts that say who came, who went and in which state a group is. Must not know a request or a clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, assert_never

import msgspec

from coordinator_udfs.protocol.consumer.states import GroupType
from gateway.tables.effects_table import Fact
from schemas.consumer_effects import GroupTypeChanged
from schemas.effect_names import EffectName
from schemas.effect_rows import effect_in

_EMPTY = "Empty"
UNKNOWN = "Unknown"
"""Kafka's name for the state of a group of which it is not known."""


class KnownMember(NamedTuple):
    """What is known of a member."""

    group_instance_id: str | None
    session_timeout_ms: int


@dataclass(slots=True)
class Standing:
    """A group as of the last commit."""

    state: str = _EMPTY
    generation_id: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    members: dict[str, KnownMember] = field(default_factory=dict)
    is_classic: bool = True
    """False: it is a consumer group, or its type is not known."""
    _shortest_ms: int | None = None

    @property
    def shortest_session_timeout_ms(self) -> int:
        """The shortest of its members' session timeouts; 0 without any."""
        if self._shortest_ms is None:
            self._shortest_ms = min((one.session_timeout_ms for one in self.members.values()), default=0)
        return self._shortest_ms

    def set(self, member_id: str, member: KnownMember) -> None:
        self.members[member_id] = member
        self._shortest_ms = None

    def remove(self, member_id: str) -> None:
        self.members.pop(member_id, None)
        self._shortest_ms = None


class _Change(msgspec.Struct):
    to_state: str
    generation_id: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None


class _Terms(msgspec.Struct):
    session_timeout_ms: int
    group_instance_id: str | None = None


_change = msgspec.json.Decoder(_Change)
_terms = msgspec.json.Decoder(_Terms)


class Memberships:
    """Every group by its id, kept up by facts in the order in which they happened."""

    def __init__(self) -> None:
        self._groups: dict[str, Standing] = {}

    def of(self, group_id: str) -> Standing | None:
        """The group; None: there is none of this id."""
        return self._groups.get(group_id)

    def doubt(self, group_id: str) -> None:
        """A fact of the group cannot be read: nothing is known of it but what later facts tell."""
        self._groups[group_id] = Standing(UNKNOWN, is_classic=False)

    def learn(self, fact: Fact) -> None:
        match fact.effect:
            case EffectName.GROUP_CREATED:
                self._groups[fact.group_id] = Standing()
            case EffectName.GROUP_REMOVED:
                self._groups.pop(fact.group_id, None)
            case EffectName.STATE_CHANGED:
                change, group = _change.decode(fact.detail or "{}"), self._group(fact)
                group.state, group.generation_id = change.to_state, change.generation_id
                group.protocol_type, group.protocol_name = change.protocol_type, change.protocol_name
            case EffectName.MEMBER_JOINED:
                terms = _terms.decode(fact.detail or "{}")
                self._group(fact).set(
                    fact.member_id or "", KnownMember(terms.group_instance_id, terms.session_timeout_ms)
                )
            case EffectName.MEMBER_UPDATED:
                group, member_id, terms = self._group(fact), fact.member_id or "", _terms.decode(fact.detail or "{}")
                known = group.members.get(member_id)
                if known is not None:
                    group.set(member_id, known._replace(session_timeout_ms=terms.session_timeout_ms))
            case EffectName.MEMBER_REMOVED:
                self._group(fact).remove(fact.member_id or "")
            case EffectName.GROUP_TYPE_CHANGED:
                said = effect_in(fact.effect, fact.detail)
                self._group(fact).is_classic = isinstance(said, GroupTypeChanged) and said.to_type == GroupType.CLASSIC
            case EffectName.REQUEST_PARKED | EffectName.REQUEST_DROPPED | EffectName.REBALANCE_STARTED:
                pass
            case _:
                assert_never(fact.effect)

    def _group(self, fact: Fact) -> Standing:
        return self._groups.setdefault(fact.group_id, Standing())


# ---------------------------------------------------------------- what still holds of the past

_BOUNDS = (EffectName.GROUP_CREATED, EffectName.GROUP_REMOVED)
_COMINGS = (EffectName.MEMBER_JOINED, EffectName.MEMBER_REMOVED)
_OF_GROUPS = (*_BOUNDS, EffectName.STATE_CHANGED, EffectName.GROUP_TYPE_CHANGED)
_OF_MEMBERS = (*_COMINGS, EffectName.MEMBER_UPDATED)


_Key = tuple[str, str | None, bool, bool]
"""Group, member, whether the fact tells that one of them came or went, whether it tells of the group's type."""


def lasting(facts: Iterable[Fact]) -> list[Fact]:
    """Of facts of the past, in any order, those that say how things are now, in the order in which they happened."""
    last: dict[_Key, Fact] = {}
    for fact in facts:
        if fact.effect not in _OF_GROUPS and fact.effect not in _OF_MEMBERS:
            continue
        about = fact.member_id if fact.effect in _OF_MEMBERS else None
        is_coming = fact.effect in _BOUNDS or fact.effect in _COMINGS
        key = (fact.group_id, about, is_coming, fact.effect == EffectName.GROUP_TYPE_CHANGED)
        known = last.get(key)
        if known is None or _moment(known) < _moment(fact):
            last[key] = fact
    return sorted(_since_the_group_began(last), key=_moment)


def _since_the_group_began(last: dict[_Key, Fact]) -> Iterator[Fact]:
    for fact in last.values():
        bound = last.get((fact.group_id, None, True, False))
        if bound is not None and _moment(fact) < _moment(bound):
            continue
        yield fact


def _moment(fact: Fact) -> tuple[int, int]:
    return fact.at_ms, fact.seq
