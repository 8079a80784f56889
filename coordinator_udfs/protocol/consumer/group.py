"""What a group remembers under the newer protocol: epochs, members, what they own and what they are to own.

It stands in `Group.consumer`. The group's epoch is `Group.generation_id`: a conversion carries it over, and what both
kinds share (offsets, deadlines, the rebalance under way) stays in `Group`. Fields that begin with an underscore are
indexes, kept in step here and nowhere else, never stored.

Knows no request and makes no decision of the protocol. Source: Kafka's ConsumerGroup and ConsumerGroupMember.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from copy import copy

import msgspec

from rollcall.coordinator_udfs.protocol.consumer.states import ConsumerGroupState, MemberState, MemberTimer
from rollcall.coordinator_udfs.protocol.java_maps import MemberTable
from rollcall.coordinator_udfs.protocol.members import (
    HeldBytes,
    size_of_names,
    size_of_protocols,
    size_of_text,
    size_of_topics,
)

Owned = dict[str, dict[int, int]]
"""Topic to partition to the assignment epoch: the target's epoch when the member got it. Never changed in place."""
Target = dict[str, tuple[int, ...]]
"""Topic to partitions, both in rising order."""

FIRST_EPOCH = 1
AWAY_EPOCH = -2
"""The epoch of a static member that left and means to return."""
NEW_EPOCH = 0
NO_EPOCH = -1


class ClassicMember(msgspec.Struct):
    """The fields of a member that uses the classic protocol: timeout, and metadata by protocol name."""

    session_timeout_ms: int
    protocols: dict[str, bytes]

    @property
    def protocol_name(self) -> str:
        """The first of its own list, which every answer to it names."""
        return next(iter(self.protocols))

    @property
    def metadata(self) -> bytes:
        """The subscription in use."""
        return next(iter(self.protocols.values()))


class ArmedTimer(msgspec.Struct):
    """A timer of a member other than its session's."""

    deadline_ms: int
    start: int
    """Its number among the group's timers, in the order in which they were started."""
    length_ms: int
    member_epoch: int = NO_EPOCH
    """The member's when it was armed."""


class ConsumerMember(msgspec.Struct):
    member_id: str
    client_id: str
    client_host: str
    joined_at_ms: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    topics: tuple[str, ...] = ()
    """The names it subscribes to, sorted."""
    pattern: str = ""
    """Its regular expression, "" for none."""
    server_assignor: str | None = None
    member_epoch: int = NEW_EPOCH
    previous_epoch: int = NO_EPOCH
    state: MemberState = MemberState.STABLE
    assigned: Owned = {}
    """What it may use."""
    pending_revocation: Owned = {}
    """What it must give up and owns until it says so."""
    target: Target | None = None
    """None before the first assignment that knows it."""
    classic: ClassicMember | None = None
    """Set for a member that uses the classic protocol."""
    session_deadline_ms: int | None = None
    session_length_ms: int = 0
    session_start: int = 0
    timers: dict[MemberTimer, ArmedTimer] = {}
    last_seen_at_ms: int = 0
    """When its last request came; it and `session_start` are as for a classic group's member."""
    has_unsubscribed: bool = False
    """It has once subscribed, and later to nothing."""

    @property
    def name(self) -> str:
        """How the history names it: the client id, or the instance id where there is none."""
        return self.client_id or self.instance_id or self.member_id

    @property
    def group_instance_id(self) -> str | None:
        """Its instance id, by the name that a classic group's member has for it."""
        return self.instance_id

    @property
    def is_subscribed(self) -> bool:
        """It names topics or an expression."""
        return bool(self.topics or self.pattern)

    @property
    def is_away(self) -> bool:
        """A static member that left and means to return."""
        return self.member_epoch == AWAY_EPOCH

    def is_reconciled_to(self, epoch: int) -> bool:
        """It has reached this epoch and has all that the epoch's target gives it."""
        return self.state is MemberState.STABLE and self.member_epoch == epoch

    def owned(self) -> dict[str, list[int]]:
        """All it owns, what it is to give up included; topics and partitions sorted."""
        topics = sorted({*self.assigned, *self.pending_revocation})
        found = {t: sorted({*self.assigned.get(t, ()), *self.pending_revocation.get(t, ())}) for t in topics}
        return {topic: partitions for topic, partitions in found.items() if partitions}


class ConsumerFields(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What a consumer group has and its stored document has too, in the same shape."""

    target_epoch: int = FIRST_EPOCH
    state: ConsumerGroupState = ConsumerGroupState.EMPTY
    """The one last reported; it is derived from the rest (`lifecycle`)."""
    target_at_ms: int | None = None
    """When the last target assignment was computed, for `target_epoch`; None before the first."""
    topics: dict[str, int] = {}
    """The subscribed topics that existed at the last look, with their partition counts; a look that differs raises the
    epoch.
    """
    missing: tuple[str, ...] = ()
    """The subscribed topics that did not exist then."""
    patterns: dict[str, tuple[str, ...]] = {}
    """The resolved regular expressions and the topics each stands for."""
    resolved_at_ms: int | None = None
    """When all of them were resolved."""
    resolved_version: int = 0
    """The version of the topics then."""
    resolved_names: str = ""
    """A fingerprint of the names of all topics then; "" if a recording gave what the expressions match."""
    cluster: dict[str, int] | None = None
    """The topics that exist with their partition counts, from requests; None: from the settings. Never changed in
    place.
    """
    topic_ids: dict[str, str] = {}
    """Their ids by name, as far as requests said them: an assignor of Kafka's takes topics in an order of ids."""
    cluster_version: int = 0
    """Changes whenever a topic is new in it."""


class _NamedTopics:
    """The topics that members name, by topic with the number of these members.

    A member's leaving costs by its own topics, not by those of all the others.
    """

    __slots__ = ("_by_member", "_counts")

    def __init__(self, named: Iterable[tuple[str, tuple[str, ...]]]) -> None:
        """named: by member id."""
        self._by_member = dict(named)
        self._counts: Counter[str] = Counter()
        for topics in self._by_member.values():
            self._counts.update(topics)

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of members by topic, never 0."""
        return self._counts

    def put(self, member_id: str, topics: tuple[str, ...]) -> None:
        """This member names these topics from now on, each once."""
        if self._by_member.get(member_id) is topics:
            return
        self.drop(member_id)
        self._by_member[member_id] = topics
        self._counts.update(topics)

    def drop(self, member_id: str) -> None:
        """Removes this member, if it is there."""
        for topic in self._by_member.pop(member_id, ()):
            self._counts[topic] -= 1
            if not self._counts[topic]:
                del self._counts[topic]


class ConsumerGroup(ConsumerFields):
    members: dict[str, ConsumerMember] = {}
    table: MemberTable = msgspec.field(default_factory=MemberTable)
    """Gives the order in which Kafka's own hash table would walk the members."""
    _static: dict[str, str] = {}
    _pattern_users: Counter[str] = msgspec.field(default_factory=Counter)
    _owners: dict[str, dict[int, str]] = {}
    _looked_at: Mapping[str, int] | None = None
    _held: HeldBytes | None = None
    _named: _NamedTopics | None = None

    # ------------------------------------------------------------ questions

    def static_member_id(self, instance_id: str | None) -> str | None:
        """The member id an instance id stands for, None if it stands for none."""
        return None if instance_id is None else self._static.get(instance_id)

    def owner_of(self, topic: str, partition: int) -> str | None:
        """The member that has the partition, to use it or to give it up; None if it is free."""
        return self._owners.get(topic, {}).get(partition)

    def has_seen(self, topics: Mapping[str, int] | None) -> bool:
        """Whether the topics looked for last are unchanged among these. A mapping that was compared once is
        recognised."""
        if self._looked_at is topics:
            return True
        there = topics or {}
        if {name: there[name] for name in (*self.topics, *self.missing) if name in there} != self.topics:
            return False
        self._looked_at = topics
        return True

    def learn_cluster(self, topics: Mapping[str, int], ids: Mapping[str, str]) -> None:
        """Takes note of the topics that there are, and of ids of them."""
        if not ids.items() <= self.topic_ids.items():
            self.topic_ids = {**self.topic_ids, **ids}
        if topics == self.cluster:
            return
        if self.cluster is not None and topics.keys() - self.cluster.keys():
            self.cluster_version += 1
        self.cluster = dict(topics)

    @property
    def patterns_in_use(self) -> Mapping[str, int]:
        """The regular expressions that members subscribe to, with the number of these."""
        return self._pattern_users

    @property
    def held_bytes(self) -> int:
        """What its members take, their partitions apart; see `protocol.members`."""
        if self._held is None:
            self._held = HeldBytes((member_id, size_of_consumer(m)) for member_id, m in self.members.items())
        return self._held.total

    @property
    def named_topics(self) -> Mapping[str, int]:
        """The topics that members name, with the number of these."""
        if self._named is None:
            self._named = _NamedTopics((member_id, member.topics) for member_id, member in self.members.items())
        return self._named.counts

    # ------------------------------------------------------------ members

    def note_changed(self, member: ConsumerMember) -> None:
        """A member's fields have changed."""
        if self._held is not None:
            self._held.put(member.member_id, size_of_consumer(member))
        if self._named is not None:
            self._named.put(member.member_id, member.topics)

    def add(self, member: ConsumerMember) -> None:
        """Adds a member, which owns nothing yet."""
        self.members[member.member_id] = member
        self.note_changed(member)
        self._count_pattern(member.pattern, 1)
        if member.instance_id is not None:
            self._static[member.instance_id] = member.member_id

    def remove(self, member_id: str) -> ConsumerMember:
        """Removes a member; its partitions are free."""
        member = self.members.pop(member_id)
        if self._held is not None:
            self._held.drop(member_id)
        if self._named is not None:
            self._named.drop(member_id)
        self.table.remove(member_id)
        self._count_pattern(member.pattern, -1)
        self._free(member)
        if member.instance_id is not None and self._static.get(member.instance_id) == member_id:
            del self._static[member.instance_id]
        return member

    def name_static(self, member: ConsumerMember, instance_id: str) -> None:
        """Gives a member an instance id: it turns out to be static."""
        if member.instance_id is not None and self._static.get(member.instance_id) == member.member_id:
            del self._static[member.instance_id]
        member.instance_id = instance_id
        self._static[instance_id] = member.member_id

    def set_pattern(self, member: ConsumerMember, pattern: str) -> None:
        """A member subscribes to another regular expression, "" for none."""
        self._count_pattern(member.pattern, -1)
        member.pattern = pattern
        self._count_pattern(pattern, 1)

    def _count_pattern(self, pattern: str, by: int) -> None:
        if not pattern:
            return
        self._pattern_users[pattern] += by
        if not self._pattern_users[pattern]:
            del self._pattern_users[pattern]

    def own(self, member: ConsumerMember, assigned: Owned, pending_revocation: Owned) -> None:
        """Gives a member these partitions in place of those it had. Raises if another member owns one: that would be
        our defect."""
        self._free(member)
        member.assigned, member.pending_revocation = assigned, pending_revocation
        self._claim(member)

    def _claim(self, member: ConsumerMember) -> None:
        for owned in (member.assigned, member.pending_revocation):
            for topic, partitions in owned.items():
                owners = self._owners.setdefault(topic, {})
                for partition in partitions:
                    if owners.setdefault(partition, member.member_id) != member.member_id:
                        raise AssertionError(f"{topic}-{partition} is {owners[partition]}'s, not {member.member_id}'s")

    def _free(self, member: ConsumerMember) -> None:
        for owned in (member.assigned, member.pending_revocation):
            for topic, partitions in owned.items():
                owners = self._owners[topic]
                for partition in partitions:
                    owners.pop(partition, None)
                if not owners:
                    del self._owners[topic]

    def note_looked_at(self, topics: Mapping[str, int] | None) -> None:
        """The subscribed topics are known as they are among these."""
        self._looked_at = topics

    # ------------------------------------------------------------ copies

    def restore(self, members: Iterable[ConsumerMember]) -> None:
        """Fills a group just read from storage with its members, in join order, indexes included."""
        for member in members:
            self.add(member)
            self._claim(member)

    def copy(self) -> ConsumerGroup:
        """An independent copy; only what never changes is shared."""
        other = copy(self)
        other.members = {member_id: copy(member) for member_id, member in self.members.items()}
        for member in other.members.values():
            member.timers = member.timers.copy()
        other.patterns, other.topics = self.patterns.copy(), self.topics.copy()
        other.table = self.table.copy()
        other._static, other._held, other._named = self._static.copy(), None, None
        other._pattern_users = self._pattern_users.copy()
        other._owners = {topic: owners.copy() for topic, owners in self._owners.items()}
        return other


def size_of_consumer(member: ConsumerMember) -> int:
    """Of a consumer group's member, its partitions apart."""
    names = size_of_names(member.member_id, member.client_id, member.client_host, member.instance_id)
    texts = (member.pattern, member.rack_id or "", member.server_assignor or "")
    classic = 0 if member.classic is None else size_of_protocols(member.classic.protocols)
    return names + sum(map(size_of_text, texts)) + size_of_topics(member.topics) + classic
