"""The uniform assignor where members subscribe to different topics: sticky, and balanced as far as subscriptions allow.

As in Kafka, members with overlapping subscriptions may end one apart each. Sizes count all of a member's
partitions. Source: UniformHeterogeneousAssignmentBuilder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rollcall.coordinator_udfs.protocol.consumer.range_assignor import MemberSpec, Plan
from rollcall.coordinator_udfs.protocol.java_maps import uuid_of

MOST_ROUNDS = 16


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
