"""The sticky algorithm for a group whose members all subscribe to the same topics.

What it knows: the two quotas, which members are below them, and how the rest is assigned. What it must not know:
generations and conflicting claims (settled before), differing subscriptions.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from rollcall.answers.clients.assignors.common import partitions_of
from rollcall.schemas.consumer_protocol import TopicPartition, java_string_order


def assign_constrained(
    counts: Mapping[str, int], owned: Mapping[str, Sequence[TopicPartition]]
) -> dict[str, list[TopicPartition]]:
    """Every member's partitions: what it keeps by (partition, topic), then what it is newly given.

    `counts` has the topics in Java's order, `owned` every member once, each partition under one member at most.
    Source: AbstractStickyAssignor.ConstrainedAssignmentBuilder.
    """
    if not owned:
        return {}
    quotas = _Quotas(sum(counts.values()), owned)
    topic_order = {topic: index for index, topic in enumerate(counts)}
    for member_id, partitions in owned.items():
        quotas.keep(member_id, sorted(partitions, key=lambda each: (each.partition, topic_order[each.topic])))
    taken = {partition for partitions in quotas.assignment.values() for partition in partitions}
    unassigned = [partition for partition in partitions_of(counts) if partition not in taken]
    quotas.deal(unassigned)
    return quotas.assignment


class _Quotas:
    """The assignment being built. Every member ends with the least or the most; `_extras` of them with the most.

    `_under` are the members below the least, `_exact` those at the least that may still get the one extra.
    """

    def __init__(self, total: int, members: Iterable[str]) -> None:
        self.assignment: dict[str, list[TopicPartition]] = {member_id: [] for member_id in members}
        self._least, self._extras = divmod(total, len(self.assignment))
        self._most = self._least + (1 if self._extras else 0)
        self._over = 0
        self._under: deque[str] = deque()
        self._exact: deque[str] = deque()

    def keep(self, member_id: str, partitions: Sequence[TopicPartition]) -> None:
        """Lets a member keep its own partitions, best first, up to its quota; the first members may keep the most."""
        if len(partitions) < self._least:
            self.assignment[member_id] += partitions
            self._under.append(member_id)
        elif len(partitions) >= self._most and self._over < self._extras:
            self.assignment[member_id] += partitions[: self._most]
            self._count_extra()
        else:
            self.assignment[member_id] += partitions[: self._least]
            self._offer_extra(member_id)

    def deal(self, partitions: Iterable[TopicPartition]) -> None:
        """Deals round robin to the members under the least, then one each to those at it."""
        self._under = deque(sorted(self._under, key=java_string_order))
        self._exact = deque(sorted(self._exact, key=java_string_order))
        for partition in partitions:
            is_under = bool(self._under)
            member_id = (self._under or self._exact).popleft()
            self.assignment[member_id].append(partition)
            if not is_under:
                self._count_extra()
            elif len(self.assignment[member_id]) < self._least:
                self._under.append(member_id)
            else:
                self._offer_extra(member_id)

    def _offer_extra(self, member_id: str) -> None:
        if self._over < self._extras:
            self._exact.append(member_id)

    def _count_extra(self) -> None:
        self._over += 1
        if self._over == self._extras:
            self._exact.clear()
