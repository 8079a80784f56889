"""Which groups there are and in which state, kept up by their events. Knows events; knows no table and no request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import assert_never

import msgspec

from coordinator_udfs.protocol.consumer.states import GroupType
from gateway.backend import Known
from gateway.tables.effects_table import Fact
from gateway.tables.membership import UNKNOWN
from schemas.effect_names import EffectName

_EMPTY = "Empty"


class _Change(msgspec.Struct):
    to_state: str
    protocol_type: str | None = None


class _TypeChange(msgspec.Struct):
    to_type: str


_type_change = msgspec.json.Decoder(_TypeChange)
_change = msgspec.json.Decoder(_Change)


class Directory:
    """Groups by id, kept up by facts in the order they happened."""

    def __init__(self) -> None:
        self._groups: dict[str, Known] = {}

    def doubt(self, group_id: str) -> None:
        """A fact of the group cannot be read: it is there, in a state that is not known."""
        _, protocol_type, _, kind = self._groups.get(group_id, ("", "", "", GroupType.CLASSIC))
        self._groups[group_id] = (group_id, protocol_type, UNKNOWN, kind)

    def learn(self, fact: Fact) -> None:
        match fact.effect:
            case EffectName.GROUP_CREATED:
                self._groups[fact.group_id] = (fact.group_id, "", _EMPTY, GroupType.CLASSIC)
            case EffectName.GROUP_REMOVED:
                self._groups.pop(fact.group_id, None)
            case EffectName.STATE_CHANGED:
                change = _change.decode(fact.detail or "{}")
                kind = self._groups[fact.group_id][3] if fact.group_id in self._groups else GroupType.CLASSIC
                self._groups[fact.group_id] = (fact.group_id, change.protocol_type or "", change.to_state, kind)
            case EffectName.GROUP_TYPE_CHANGED:
                _, protocol_type, state, _ = self._groups.get(fact.group_id, ("", "", _EMPTY, ""))
                to_type = _type_change.decode(fact.detail or "{}").to_type
                self._groups[fact.group_id] = (fact.group_id, protocol_type, state, to_type)
            case EffectName.REQUEST_PARKED | EffectName.REQUEST_DROPPED | EffectName.REBALANCE_STARTED:
                pass
            case EffectName.MEMBER_JOINED | EffectName.MEMBER_UPDATED | EffectName.MEMBER_REMOVED:
                pass
            case _:
                assert_never(fact.effect)

    def __iter__(self) -> Iterator[Known]:
        return iter(list(self._groups.values()))

    def by_state(self) -> Counter[str]:
        """How many groups are in each state."""
        return Counter(state for _, _, state, _ in list(self._groups.values()))
