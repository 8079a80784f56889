"""The true lag of groups, from what their producer and their consumers recorded themselves.

Pure. Knows records; must not know Kafka, nor what Rollcall reports. Moments are ms since the epoch.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

Place = tuple[str, int]
"""A topic and a partition."""


class Commit(NamedTuple):
    """An offset that a consumer committed: it counts from some moment between its request and the answer."""

    at_ms: int
    sent_ms: int
    offset: int


class Ends(Protocol):
    """Where logs ended."""

    def end(self, place: Place, at_ms: float) -> float: ...


@dataclass
class OwnRecords:
    """What was appended to each partition, and what each group committed."""

    appended: dict[Place, list[int]] = field(default_factory=lambda: defaultdict(list))
    """By offset, when the record was appended."""
    commits: dict[str, dict[Place, list[Commit]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )
    """By group and partition, in the order of time."""

    def add_appends(self, lines: Iterable[str]) -> None:
        """Lines of `paced_producer`: every record of a partition, from offset 0."""
        for topic, partition, offset, at_ms in sorted(_append(line) for line in lines):
            appends = self.appended[topic, partition]
            assert offset == len(appends), (topic, partition, offset, len(appends))
            appends.append(at_ms)

    def add_progress(self, group: str, progress: Iterable[dict[str, Any]]) -> None:
        """What workers said that they committed, as `workers.lines` has it."""
        for one in progress:
            for name, offset in one["offsets"].items():
                topic, _, partition = name.rpartition("/")
                commits = self.commits[group][topic, int(partition)]
                commits.append(Commit(one["at_ms"], one["sent_ms"], offset))
                commits.sort()

    def end(self, place: Place, at_ms: float) -> int:
        """Where the partition's log ended at a moment."""
        return bisect_right(self.appended[place], at_ms)

    def lag(self, group: str, at_ms: float, *, is_early: bool = False, ends: Ends | None = None) -> float:
        """How many records a group was behind at a moment, in all partitions that it had committed to.

        is_early: a commit counts from its request on, else from its answer on. ends: by these, else by what was
        appended.
        """
        found: float = 0
        for place, commits in self.commits[group].items():
            index = bisect_right(commits, at_ms, key=lambda one: one.sent_ms if is_early else one.at_ms)
            if index:
                found += max(0, (ends or self).end(place, at_ms) - commits[index - 1].offset)
        return found

    def highest_lag(self, group: str, from_ms: float, to_ms: float, ends: Ends | None = None) -> tuple[float, float]:
        """The highest lag of a group in a time: at least and at most, as commits count early or late.

        Lag only falls by a commit, so it is highest just before one or at the end. ends: as in `lag`.
        """
        commits = [one for of_place in self.commits[group].values() for one in of_place]
        early = {one.sent_ms - 1 for one in commits} | {from_ms, to_ms}
        late = {one.at_ms - 1 for one in commits} | {from_ms, to_ms}
        return (
            max(self.lag(group, at_ms, is_early=True, ends=ends) for at_ms in early if from_ms <= at_ms <= to_ms),
            max(self.lag(group, at_ms, ends=ends) for at_ms in late if from_ms <= at_ms <= to_ms),
        )

    def time_lag_ms(self, place: Place, read_to: int, at_ms: float) -> float:
        """How old the oldest record was that was not read at a moment, 0: all were."""
        appended = self.appended[place]
        return max(0.0, at_ms - appended[read_to]) if read_to < len(appended) else 0.0


def _append(line: str) -> tuple[str, int, int, int]:
    topic, partition, offset, at_ms = line.split()
    return topic, int(partition), int(offset), int(at_ms)
