"""How many members of a consumer group name each topic, kept up to date as members join, leave and change topics. A
member's leaving then costs by its own topics, not by those of all the others. Knows no regular expression.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

Names = tuple[str, ...]


class NamedTopics:
    """The topics that members name, by topic with the number of these members."""

    __slots__ = ("_by_member", "_counts")

    def __init__(self, named: Iterable[tuple[str, Names]]) -> None:
        """named: by member id."""
        self._by_member = dict(named)
        self._counts: Counter[str] = Counter()
        for topics in self._by_member.values():
            self._counts.update(topics)

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of members by topic, never 0."""
        return self._counts

    def put(self, member_id: str, topics: Names) -> None:
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
