"""Which groups there are and in which state, kept up by their events. Knows events; knows no table and no request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import assert_never

import msgspec

from gateway.backend import Known
from gateway.tables.effects_table import Fact
from schemas.effect_names import EffectName

_EMPTY = "Empty"


class _Change(msgspec.Struct):
    to_state: str
    protocol_type: str | None = None


_change = msgspec.json.Decoder(_Change)


class Directory:
    """Groups by id, kept up by facts in the order they happened."""

    def __init__(self) -> None:
        self._groups: dict[str, Known] = {}

    def learn(self, fact: Fact) -> None:
        match fact.effect:
            case EffectName.GROUP_CREATED:
                self._groups[fact.group_id] = (fact.group_id, "", _EMPTY)
            case EffectName.GROUP_REMOVED:
                self._groups.pop(fact.group_id, None)
            case EffectName.STATE_CHANGED:
                change = _change.decode(fact.detail or "{}")
                self._groups[fact.group_id] = (fact.group_id, change.protocol_type or "", change.to_state)
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
        return Counter(state for _, _, state in list(self._groups.values()))
