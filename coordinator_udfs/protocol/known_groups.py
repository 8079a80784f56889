"""Groups as of the last commit, from their facts: their states and types, and who is a member. For programs that follow
a home: the gateway, and what `rollcall run` shows. Must not know a table, a request or a clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from rollcall.coordinator_udfs.protocol.consumer.states import GroupType
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.schemas.consumer_effects import GroupConfigsChanged, GroupTypeChanged, MemberSubscribed
from rollcall.schemas.effect_names import LASTING, EffectName
from rollcall.schemas.effect_rows import effect_in
from rollcall.schemas.effects import (
    Effect,
    GroupFound,
    MemberJoined,
    MemberRemoved,
    MemberUpdated,
    RebalanceStarted,
    StateChanged,
)

UNKNOWN = "Unknown"
"""Kafka's name for a state that is not known."""


class KnownMember(NamedTuple):
    client_id: str
    group_instance_id: str | None
    session_timeout_ms: int
    rebalance_timeout_ms: int
    is_classic: bool = True
    """Whether it speaks the classic protocol."""


@dataclass(slots=True)
class KnownGroup:
    """A group as of the last commit."""

    group_id: str
    state: str = GroupState.EMPTY
    group_type: GroupType | None = GroupType.CLASSIC
    """None: not known."""
    generation_id: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    members: dict[str, KnownMember] = field(default_factory=dict)
    _static: dict[str, str] = field(default_factory=dict)
    _shortest_ms: int | None = None

    @property
    def is_known(self) -> bool:
        return True

    @property
    def is_classic(self) -> bool:
        return self.group_type is GroupType.CLASSIC

    @property
    def is_consumer(self) -> bool:
        return self.group_type is GroupType.CONSUMER

    def is_supported_by_all(self, protocol_name: str, /) -> bool:
        """Whether all members certainly support a protocol: known only for the selected one."""
        return protocol_name == self.protocol_name

    @property
    def shortest_session_timeout_ms(self) -> int:
        """The shortest of its members' session timeouts; 0 without any."""
        if self._shortest_ms is None:
            self._shortest_ms = min((one.session_timeout_ms for one in self.members.values()), default=0)
        return self._shortest_ms

    def static_member_id(self, group_instance_id: str | None, /) -> str | None:
        """The member id of an instance id; None if no member has it."""
        return None if group_instance_id is None else self._static.get(group_instance_id)

    def put(self, member_id: str, member: KnownMember) -> None:
        """Adds a member, or replaces it."""
        self.members[member_id] = member
        if member.group_instance_id is not None:
            self._static[member.group_instance_id] = member_id
        self._shortest_ms = None

    def remove(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        instance_id = None if member is None else member.group_instance_id
        if instance_id is not None and self._static.get(instance_id) == member_id:
            del self._static[instance_id]
        self._shortest_ms = None


class KnownGroups:
    """Every group by its id, from facts in the order in which they happened."""

    def __init__(self) -> None:
        self._groups: dict[str, KnownGroup] = {}
        self.get = self._groups.get
        """The group of an id; None: there is none."""
        self._configured: dict[str, None] = {}

    @property
    def by_id(self) -> Mapping[str, KnownGroup]:
        """The groups that exist."""
        return self._groups

    def __iter__(self) -> Iterator[KnownGroup]:
        return iter(list(self._groups.values()))

    def configured(self) -> list[str]:
        """The groups for which something is set, whether they exist or not."""
        return list(self._configured)

    def apply(self, group_id: str, name: str, detail: str | None) -> Effect | None:
        """Applies the fact of one row of the effects table; returns it if it was read from the detail.

        Raises ValueError or RecursionError: the detail cannot be read. The group's state is unknown from then on.
        """
        match name:
            case EffectName.GROUP_CREATED:
                self._groups[group_id] = KnownGroup(group_id)
                return None
            case EffectName.GROUP_REMOVED:
                self._groups.pop(group_id, None)
                return None
        try:
            effect = effect_in(name, detail)
        except (ValueError, RecursionError):
            if name in LASTING and name != EffectName.GROUP_CONFIGS_CHANGED:
                self._groups[group_id] = KnownGroup(group_id, UNKNOWN, group_type=None)
            raise
        if isinstance(effect, GroupConfigsChanged):
            self._configured.pop(group_id, None)
            if effect.configs:
                self._configured[group_id] = None
        elif effect is not None:
            self._apply(group_id, effect)
        return effect

    def _apply(self, group_id: str, effect: Effect) -> None:
        match effect:
            case StateChanged():
                group = self._group(group_id)
                group.state, group.generation_id = effect.to_state, effect.generation_id
                group.protocol_type, group.protocol_name = effect.protocol_type, effect.protocol_name
            case RebalanceStarted():
                group = self._group(group_id)
                # A consumer group whose members all follow at once stays Stable, in the next epoch.
                if group.is_consumer:
                    group.generation_id = effect.from_generation_id + 1
            case GroupFound(group_type=kind) | GroupTypeChanged(to_type=kind):
                group = self._group(group_id)
                group.group_type, group.generation_id = GroupType(kind), effect.generation_id
                for member_id, each in group.members.items():
                    group.members[member_id] = each._replace(is_classic=True)
            case MemberJoined():
                timeouts_ms = effect.session_timeout_ms, effect.rebalance_timeout_ms
                joined = KnownMember(effect.client_id, effect.group_instance_id, *timeouts_ms)
                self._group(group_id).put(effect.member_id, joined)
            case MemberUpdated():
                group = self._group(group_id)
                if (member := group.members.get(effect.member_id)) is not None:
                    session_ms, rebalance_ms = effect.session_timeout_ms, effect.rebalance_timeout_ms
                    member = member._replace(session_timeout_ms=session_ms, rebalance_timeout_ms=rebalance_ms)
                    group.put(effect.member_id, member)
            case MemberSubscribed():
                group = self._group(group_id)
                if (member := group.members.get(effect.member_id)) is not None:
                    is_classic = effect.member_type == GroupType.CLASSIC
                    group.put(effect.member_id, member._replace(is_classic=is_classic))
            case MemberRemoved():
                self._group(group_id).remove(effect.member_id)

    def _group(self, group_id: str) -> KnownGroup:
        return self._groups.setdefault(group_id, KnownGroup(group_id))
