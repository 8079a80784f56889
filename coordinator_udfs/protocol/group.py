"""A group: what is remembered between two requests and of a rebalance under way, and the counts kept in step with it.

A deadline is a field on its owner, so whoever removes the owner removes the deadline. Fields that begin with an
underscore are indexes, kept in step here and nowhere else, never stored. Knows no request and makes no decision of the
protocol. Source: Kafka's ClassicGroup.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from copy import copy
from typing import Protocol

import msgspec

from rollcall.coordinator_udfs.protocol.consumer.group import ConsumerGroup, ConsumerMember
from rollcall.coordinator_udfs.protocol.consumer.states import ConsumerGroupState, GroupType
from rollcall.coordinator_udfs.protocol.members import (
    HeldBytes,
    Member,
    ParkedJoin,
    PendingMember,
    held_by,
    size_of_classic,
    size_of_gone,
    size_of_pending,
)
from rollcall.coordinator_udfs.protocol.states import CAN_REBALANCE, GroupState
from rollcall.schemas.causes import LEFT, Cause, EndCause


class MemberPart(msgspec.Struct):
    """A member's part in the rebalance that is under way."""

    client_id: str
    client_host: str
    group_instance_id: str | None
    joined_at_ms: int | None = None
    synced_at_ms: int | None = None
    gone_at_ms: int | None = None
    """When the others stopped waiting for it although it had not joined."""
    held_others_ms: int = 0


class Rebalance(msgspec.Struct):
    """The rebalance that is under way, from its first sign until the group is Stable, Empty or rebalances anew."""

    cause: Cause
    started_at_ms: int
    from_generation_id: int
    members_before: int
    parts: dict[str, MemberPart] = {}
    """By member id."""
    joined: list[str] = []
    left: list[str] = []
    expired: list[str] = []
    gone: list[str] = []
    """These four hold the names of members that joined or went during the rebalance; `gone`: it is not known how."""
    last_progress_at_ms: int = 0
    join_phase_ended_at_ms: int | None = None
    """None while members are awaited."""
    gone_bytes: int = 0
    """Bytes kept here of members and ids that are gone; see `protocol.members`."""

    def note_gone(self, name: str, end_cause: EndCause) -> None:
        """Notes that a member has gone, by how it went; one that was replaced has not."""
        if end_cause in LEFT:
            self.left.append(name)
        elif end_cause is EndCause.UNKNOWN:
            self.gone.append(name)
        elif end_cause is not EndCause.STATIC_MEMBER_REPLACED:
            self.expired.append(name)

    def copy(self) -> Rebalance:
        other = copy(self)
        other.parts = {member_id: copy(part) for member_id, part in self.parts.items()}
        other.joined, other.left = self.joined.copy(), self.left.copy()
        other.expired, other.gone = self.expired.copy(), self.gone.copy()
        return other


class CommittedOffset(msgspec.Struct):
    committed_offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int | None = None
    """Only for commits that named their own retention."""


class Roster(Protocol):
    """Members by id and by instance id: the group itself if it is classic, otherwise its `consumer`."""

    @property
    def members(self) -> Mapping[str, object]: ...

    def static_member_id(self, group_instance_id: str | None, /) -> str | None: ...


class GroupView(Roster, Protocol):
    """What rules need that are also asked before a request is taken: a group known from its facts has it too."""

    @property
    def is_known(self) -> bool: ...

    @property
    def state(self) -> str: ...

    @property
    def generation_id(self) -> int: ...

    @property
    def protocol_type(self) -> str | None: ...

    def is_supported_by_all(self, protocol_name: str, /) -> bool: ...


class GroupFields(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What a group has and its stored document has too, in the same shape. Times in ms since the epoch."""

    state: GroupState = GroupState.EMPTY
    previous_state: GroupState = GroupState.DEAD
    state_timestamp_ms: int = 0
    generation_id: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader_id: str | None = None
    new_member_added: bool = False
    initial_delay_ms: int = 0
    initial_delay_left_ms: int | None = None
    join_deadline_ms: int | None = None
    sync_deadline_ms: int | None = None
    sweep_deadline_ms: int | None = None
    rebalance: Rebalance | None = None
    updated_at_ms: int = 0
    next_due_ms: int | None = None
    session_starts: int = 0
    held_at_most: int | None = None
    """An upper bound of `held_bytes`, which saves counting them; None: not known. See `protocol.group_room`."""
    configs: dict[str, str] = {}
    """What is set only for this group, also before it exists and after it is removed. Never changed in place."""


class Group(GroupFields):
    """One consumer group. `is_known` is False until it is created and again after it is removed.

    join_deadline_ms is the one join timer; while initial_delay_left_ms is set it is that of the initial rebalance.
    """

    group_id: str
    is_known: bool = False
    members: dict[str, Member] = {}
    pending: dict[str, PendingMember] = {}
    pending_sync: dict[str, None] = {}
    """Member ids whose SyncGroup is awaited; as in Kafka, an id stays that a returning static member has replaced."""
    subscribed_topics: frozenset[str] | None = None
    """None means unknown."""
    offsets: dict[tuple[str, int], CommittedOffset] = {}
    work: int = 0
    """What turns have cost beyond their requests and facts, in about microseconds, computed from sizes; not stored."""
    consumer: ConsumerGroup | None = None
    """Set in the newer protocol: generation_id is its epoch then, and the fields of the classic protocol are unused."""
    _awaiting_join: int = 0
    _support: Counter[str | None] = msgspec.field(default_factory=Counter)
    _static: dict[str, str] = {}
    _held: HeldBytes | None = None

    # ------------------------------------------------------------ questions

    @property
    def is_kept(self) -> bool:
        """Whether it must be stored: it is known, or something is set for it."""
        return self.is_known or bool(self.configs)

    @property
    def group_type(self) -> GroupType:
        return GroupType.CLASSIC if self.consumer is None else GroupType.CONSUMER

    @property
    def shown_state(self) -> GroupState | ConsumerGroupState:
        """The state as tools show it, for either kind of group."""
        return self.state if self.consumer is None else self.consumer.state

    @property
    def is_empty(self) -> bool:
        """It has no members, by the rules of its kind."""
        return self.state is GroupState.EMPTY if self.consumer is None else not self.consumer.members

    @property
    def roster(self) -> Roster:
        """Members by id and by instance id."""
        return self if self.consumer is None else self.consumer

    @property
    def can_rebalance(self) -> bool:
        return self.state in CAN_REBALANCE

    @property
    def awaiting_join_count(self) -> int:
        """How many members have a parked JoinGroup."""
        return self._awaiting_join

    @property
    def has_all_members_joined(self) -> bool:
        """Every member has a parked JoinGroup and no id given out is awaited."""
        return self._awaiting_join == len(self.members) and not self.pending

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest rebalance timeout of the current members, 0 without any."""
        members = self.members if self.consumer is None else self.consumer.members
        return max((m.rebalance_timeout_ms for m in members.values()), default=0)

    @property
    def held_bytes(self) -> int:
        """Bytes that its members take, also those that left in the rebalance under way; see `protocol.members`."""
        gone_bytes = 0 if self.rebalance is None else self.rebalance.gone_bytes
        if self.consumer is not None:
            return gone_bytes + self.consumer.held_bytes
        if self._held is None:
            self._held = held_by(self.members.values(), self.pending.values())
        return gone_bytes + self._held.total

    @property
    def has_known_timeouts(self) -> bool:
        """Whether every member's timeouts are known from its JoinGroup."""
        return all(member.has_known_timeouts for member in self.members.values())

    def static_member_id(self, group_instance_id: str | None) -> str | None:
        """The member id of an instance id; None if no member has it."""
        return None if group_instance_id is None else self._static.get(group_instance_id)

    def is_supported_by_all(self, protocol_name: str) -> bool:
        """Whether every member whose protocols are known supports this one."""
        return self._support[protocol_name] + self._support[None] == len(self.members)

    # ------------------------------------------------------------ members

    def add(self, member: Member, protocol_type: str) -> None:
        """Adds a member: the first one sets the protocol type, and becomes the leader if there is none."""
        if not self.members:
            self.protocol_type = protocol_type
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.take_back(member.member_id)
        self.members[member.member_id] = member
        self._index(member)

    def remove(self, member_id: str) -> Member | None:
        """Removes a member or an id given out; if it was the leader, the oldest remaining member becomes the leader."""
        self.take_back(member_id)
        self.pending_sync.pop(member_id, None)
        member = self.members.pop(member_id, None)
        if member is None:
            return None
        if self._held is not None:
            self._held.drop(member_id)
        self._support.subtract(member.supported)
        if member.group_instance_id is not None:
            self._static.pop(member.group_instance_id, None)
        if member.parked_join is not None:
            self._awaiting_join -= 1
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)
        return member

    def replace_static(self, old: Member, new_member_id: str) -> Member:
        """Gives a static member a new id, without its parked requests; Kafka leaves the old id in pending_sync."""
        new = Member(
            member_id=new_member_id,
            client_id=old.client_id,
            client_host=old.client_host,
            session_timeout_ms=old.session_timeout_ms,
            rebalance_timeout_ms=old.rebalance_timeout_ms,
            protocols=old.protocols,
            joined_at_ms=old.joined_at_ms,
            group_instance_id=old.group_instance_id,
            assignment=old.assignment,
            has_known_timeouts=old.has_known_timeouts,
        )
        led, awaits_sync = self.leader_id == old.member_id, old.member_id in self.pending_sync
        self.remove(old.member_id)
        if awaits_sync:
            self.pending_sync[old.member_id] = None
        self.members[new_member_id] = new
        self._index(new)
        if led:
            self.leader_id = new_member_id
        return new

    def name_static(self, member: Member, group_instance_id: str) -> None:
        """Records that a member is a static one."""
        member.group_instance_id = group_instance_id
        self._static[group_instance_id] = member.member_id
        self._note_size(member)

    def give_out(self, pending: PendingMember) -> None:
        """An id has been given out."""
        self.pending[pending.member_id] = pending
        if self._held is not None:
            self._held.put(pending.member_id, size_of_pending(pending))

    def take_back(self, member_id: str) -> PendingMember | None:
        """Stops waiting for an id given out; None if it is none."""
        pending = self.pending.pop(member_id, None)
        if pending is not None and self._held is not None:
            self._held.drop(member_id)
        return pending

    def assign(self, assignments: Mapping[str, bytes]) -> None:
        """Gives every member its assignment, by member id; empty bytes where it has none."""
        for member in self.members.values():
            member.assignment = assignments.get(member.member_id, b"")
        self._held = None

    def update(
        self, member: Member, protocols: dict[str, bytes], rebalance_timeout_ms: int, session_timeout_ms: int
    ) -> None:
        """Takes over a JoinGroup's fields into its member."""
        self.update_protocols(member, protocols)
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms
        member.has_known_timeouts = True

    def update_protocols(self, member: Member, protocols: dict[str, bytes]) -> None:
        """Replaces a member's protocols; its timeouts stay as they are, known or not."""
        self._support.subtract(member.supported)
        member.protocols = protocols
        self._support.update(member.supported)
        self._note_size(member)

    def park_join(self, member: Member, parked: ParkedJoin) -> ParkedJoin | None:
        """Parks a JoinGroup on its member; returns the parked one that it replaces."""
        replaced = member.parked_join
        if replaced is None:
            self._awaiting_join += 1
        member.parked_join = parked
        return replaced

    def take_parked_join(self, member: Member) -> ParkedJoin | None:
        """Takes the member's parked JoinGroup from it."""
        parked = member.parked_join
        if parked is not None:
            self._awaiting_join -= 1
        member.parked_join = None
        return parked

    def _note_size(self, member: Member) -> None:
        if self._held is not None:
            self._held.put(member.member_id, size_of_classic(member))

    def _index(self, member: Member) -> None:
        self._note_size(member)
        self._support.update(member.supported)
        if member.group_instance_id is not None:
            self._static[member.group_instance_id] = member.member_id
        if member.parked_join is not None:
            self._awaiting_join += 1

    def restore(self, members: Iterable[Member]) -> None:
        """Adds stored members, in join order, and builds the indexes."""
        for member in members:
            self.members[member.member_id] = member
            self._index(member)

    def copy(self) -> Group:
        """An independent copy; only what never changes is shared."""
        other = copy(self)
        other.members = {member_id: copy(member) for member_id, member in self.members.items()}
        other.pending, other.pending_sync = self.pending.copy(), self.pending_sync.copy()
        other.offsets, other._support = self.offsets.copy(), self._support.copy()
        other._static, other._held = self._static.copy(), None
        if self.rebalance is not None:
            other.rebalance = self.rebalance.copy()
        if self.consumer is not None:
            other.consumer = self.consumer.copy()
        return other

    def forget(self) -> None:
        """Makes the group unknown again; what is set for it stays."""
        fresh = Group(self.group_id, configs=self.configs)
        for name in self.__struct_fields__:
            setattr(self, name, getattr(fresh, name))

    # ------------------------------------------------------------ the rebalance's record

    def note_gone(self, member: Member | ConsumerMember, end_cause: EndCause) -> None:
        """Notes in the running rebalance that a member has gone."""
        if self.rebalance is not None:
            self.rebalance.gone_bytes += size_of_gone(member)
            self.rebalance.note_gone(member.name, end_cause)
