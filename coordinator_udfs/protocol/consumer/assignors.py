"""The assignors of consumer groups: range and uniform.

Range: each topic's partitions in runs of neighbours, made anew each time. Uniform, if all members subscribe to the
same: balanced within one, and sticky. Otherwise it is sticky, and balanced as far as subscriptions allow. As in Kafka,
members with overlapping subscriptions may end one apart each; sizes count all of a member's partitions.
Source: Kafka's server-side RangeAssignor, UniformHomogeneousAssignmentBuilder, UniformHeterogeneousAssignmentBuilder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from rollcall.coordinator_udfs.protocol.java_maps import set_order, topic_set_order, uuid_of
from rollcall.schemas.consumer_protocol import java_string_order

Plan = dict[str, dict[str, list[int]]]
"""By member id: the partitions of each topic; who gets nothing has an empty entry."""
MOST_ROUNDS = 16


class MemberSpec(NamedTuple):
    """A member as an assignor sees it."""

    member_id: str
    instance_id: str | None
    topics: frozenset[str]
    """Those it subscribes to that exist."""
    target: Mapping[str, Sequence[int]]
    """What it was to own so far."""


def assign_by_range(members: Sequence[MemberSpec], topics: Mapping[str, int]) -> Plan:
    """Of a topic's p partitions and n members, the first p mod n members get one more than the others.

    Static members come first, by instance id, then dynamic ones, by member id; texts in Java's order.
    """
    plan: Plan = {member.member_id: {} for member in members}
    subscribers: dict[str, list[str]] = {topic: [] for topic in topics}
    for member in sorted(members, key=_place):
        for topic in member.topics:
            subscribers[topic].append(member.member_id)
    for topic, member_ids in subscribers.items():
        least, extra = divmod(topics[topic], len(member_ids) or 1)
        start = 0
        for place, member_id in enumerate(member_ids):
            end = start + least + (place < extra)
            if end > start:
                plan[member_id][topic] = list(range(start, end))
            start = end
    return plan


def _place(member: MemberSpec) -> tuple[bool, bytes]:
    name = member.member_id if member.instance_id is None else member.instance_id
    return member.instance_id is None, java_string_order(name)


def assign_uniformly(
    members: Sequence[MemberSpec], topics: Mapping[str, int], ids: Mapping[str, str] | None = None
) -> Plan:
    """Each member keeps what it may of its old target, up to its quota; the rest is handed out in order.

    members: in the order in which they choose. ids: by topic; topics go in the order of Kafka's set of them, or in that
    of their names. Free partitions go by number.
    """
    subscribed = _in_order(members[0].topics, ids) if members else []
    total = sum(topics[topic] for topic in subscribed)
    least, extra = divmod(total, len(members)) if members else (0, 0)
    held = {(t, p) for member in members for t, partitions in member.target.items() for p in partitions}
    free = [(topic, p) for topic in subscribed for p in range(topics[topic]) if (topic, p) not in held]
    plan: Plan = {}
    unfilled: list[tuple[str, int]] = []
    for place, member in enumerate(members):
        may_have_extra = extra > 0
        quota = least + may_have_extra
        kept, quota = _keep(member, quota, topics, ids, free)
        plan[member.member_id] = kept
        if quota > 0 and may_have_extra and len(members) - place > extra:
            quota -= 1
            may_have_extra = False
        if quota > 0:
            unfilled.append((member.member_id, quota))
        if may_have_extra:
            extra -= 1
    remaining = iter(free)
    for member_id, quota in unfilled:
        for topic, partition in islice(remaining, quota):
            plan[member_id].setdefault(topic, []).append(partition)
    return plan


def _keep(
    member: MemberSpec,
    quota: int,
    topics: Mapping[str, int],
    ids: Mapping[str, str] | None,
    free: list[tuple[str, int]],
) -> tuple[dict[str, list[int]], int]:
    """What a member keeps of its old target, and how much of its quota is left; what is too much becomes free."""
    kept: dict[str, list[int]] = {}
    for topic in _in_order(member.target.keys() & member.topics, ids):
        partitions = [p for p in member.target[topic] if p < topics[topic]]
        if len(partitions) > quota:
            partitions = set_order(partitions)
            free += [(topic, p) for p in partitions[quota:]]
            partitions = partitions[:quota]
        if partitions:
            kept[topic] = partitions
            quota -= len(partitions)
    return kept, quota


def _in_order(topics: Iterable[str], ids: Mapping[str, str] | None) -> list[str]:
    return topic_set_order(topics, ids) if ids else sorted(topics)


def assign_mixed(
    members: Sequence[MemberSpec], topics: Mapping[str, int], ids: Mapping[str, str] | None = None
) -> Plan:
    """Everybody keeps what it still subscribes to; what is free goes to the least loaded; then the topics are balanced.

    members: their order decides between members of equal load. Topics with the most partitions per subscriber come
    first, then those with fewer subscribers, then in the order of their ids, by topic, or of their names.
    """
    mixed = _Mixed(members, topics, ids)
    order = sorted(mixed.subscribers, key=mixed.place_of)
    for topic in order:
        mixed.fill(topic)
    shared = [topic for topic in order if len(mixed.subscribers[topic]) > 1]
    for _ in range(MOST_ROUNDS):
        if not sum([mixed.balance(topic) for topic in shared]):
            break
    return mixed.plan()


class _Mixed:
    """The assignment being built. Members are numbered by their place."""

    def __init__(self, members: Sequence[MemberSpec], topics: Mapping[str, int], ids: Mapping[str, str] | None) -> None:
        self.members, self.topics, self.ids = members, topics, ids
        self.owned: list[dict[str, set[int]]] = []
        self.subscribers: dict[str, list[int]] = {}
        for place, member in enumerate(members):
            kept = {
                topic: {p for p in partitions if p < topics[topic]}
                for topic, partitions in member.target.items()
                if topic in member.topics
            }
            self.owned.append(kept)
            for topic in member.topics:
                self.subscribers.setdefault(topic, []).append(place)
        self.sizes = [sum(map(len, kept.values())) for kept in self.owned]

    def place_of(self, topic: str) -> tuple[float, int, tuple[int, int], str]:
        subscribers = len(self.subscribers[topic])
        by_id = uuid_of(self.ids[topic]) if self.ids else (0, 0)
        return -self.topics[topic] / subscribers, subscribers, by_id, topic

    def fill(self, topic: str) -> None:
        """Gives free partitions, in rising order, one each to the least loaded members, until these reach the next
        level."""
        subscribers = self.subscribers[topic]
        held: set[int] = set().union(*(self.owned[place].get(topic, ()) for place in subscribers))
        order = sorted(subscribers, key=lambda place: (self.sizes[place], place))
        level, end, following = self.sizes[order[0]], 0, 0
        for partition in (p for p in range(self.topics[topic]) if p not in held):
            if following == end:
                level += end > 0
                while end < len(order) and self.sizes[order[end]] == level:
                    end += 1
                following = 0
            self._give(topic, partition, order[following])
            following += 1

    def balance(self, topic: str) -> int:
        """Takes from the most loaded and gives to the least loaded, while they are two or more apart; how many moved.

        A partition that was given here is not moved again.
        """
        subscribers = self.subscribers[topic]
        loads = [self.sizes[place] for place in subscribers]
        if max(loads) - min(loads) <= 1:
            return 0
        order = sorted(subscribers, key=lambda place: (self.sizes[place], place))
        givable = {place: sorted(self.owned[place].get(topic, ())) for place in subscribers}
        givers = _Givers(order, self.sizes)
        receiver_end, following, moved = 0, 0, 0
        level = self.sizes[order[0]]
        while (giver := givers.next()) is not None:
            if following == receiver_end:
                level += receiver_end > 0
                while receiver_end < len(order) and self.sizes[order[receiver_end]] == level:
                    receiver_end += 1
                following = 0
            if self.sizes[giver] - level <= 1:
                break
            if not givable[giver]:
                givers.put_aside(giver)
                continue
            partition = givable[giver].pop()
            self.owned[giver][topic].discard(partition)
            self.sizes[giver] -= 1
            self._give(topic, partition, order[following])
            following += 1
            moved += 1
        return moved

    def _give(self, topic: str, partition: int, place: int) -> None:
        self.owned[place].setdefault(topic, set()).add(partition)
        self.sizes[place] += 1

    def plan(self) -> Plan:
        return {
            member.member_id: {topic: sorted(partitions) for topic, partitions in owned.items() if partitions}
            for member, owned in zip(self.members, self.owned, strict=True)
        }


class _Givers:
    """Which member gives next: the most loaded ones, from last to first; then those one level lower as well, and so
    on."""

    def __init__(self, order: list[int], sizes: list[int]) -> None:
        self.sizes = sizes
        self._lower = order.copy()
        self._level = 0
        self._all: list[int] = []
        self._left: list[int] = []

    def next(self) -> int | None:
        """The next member to give, None if nobody is left who has anything of the topic."""
        if not self._left:
            if self._all:
                self._level -= 1
            elif self._lower:
                self._level = self.sizes[self._lower[-1]]
            else:
                return None
            while self._lower and self.sizes[self._lower[-1]] == self._level:
                self._all.append(self._lower.pop())
            self._left = self._all[::-1]
        return self._left.pop()

    def put_aside(self, place: int) -> None:
        """The member returned last has nothing of the topic to give."""
        self._all.remove(place)
