"""The stored offsets of a group that a request log tells, and so the topic need not.

Knows the rule for commits of docs/offsets-topic.md under "Beside a request log". Must not know members.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import NamedTuple

import msgspec

from offsets_topic.beside_log.facts import Difference, Fact
from offsets_topic.beside_log.topic_members import SLACK_MS
from schemas.effect_names import EffectName

LATE_MS = 5_000
"""How much later than the topic a log may tell of a commit, at a broker that is busy."""
EARLY_MS = 60_000
"""How much earlier: a commit of a transaction counts from when that is over."""


class Logged(NamedTuple):
    """An offset that the log tells."""

    at_ms: int
    metadata: str


class Decided(NamedTuple):
    """What became of commits of the topic's."""

    kept: list[Fact]
    """Those that the log does not tell."""
    left_out: list[Fact]
    """Those that it tells."""
    compared: int
    differences: list[Difference]


class LoggedCommits(msgspec.Struct):
    """What a log tells of a group's stored offsets, as far back as commits of the topic may still need it."""

    heard: list[tuple[int, int]] = []
    """From when to when the log had the group's requests."""
    since_ms: int | None = None
    """From when on it has them now."""
    offsets: dict[str, Logged] = {}
    """Where an offset was committed last."""
    waiting: list[tuple[int, int, Fact]] = []
    """Facts in the order in which they are held against each other: when that is, whether it is the topic's."""

    def take(self, log: Iterable[Fact], topic: Iterable[Fact]) -> None:
        """Any facts of the log's, and what the topic tells of offsets."""
        steps = [(fact.at_ms, 0, fact) for fact in log]
        steps += [(fact.at_ms + LATE_MS, 1, fact) for fact in topic]
        self.waiting = sorted(self.waiting + steps, key=itemgetter(0, 1))

    def settle(self, until_ms: int, log_until_ms: int | None = None) -> Decided:
        """Decides what can be decided when both have told all up to a moment. log_until_ms: the log is over there."""
        kept: list[Fact] = []
        left_out: list[Fact] = []
        compared, differences = 0, list[Difference]()
        passed = 0
        for when_ms, is_topic, fact in self.waiting:
            if when_ms > until_ms:
                break
            passed += 1
            if not is_topic:
                self._note(fact)
                continue
            is_heard = self._is_heard(fact.at_ms, log_until_ms)
            both = self._told_by_both(fact) if is_heard else []
            compared += len(both)
            differences += [one for one in both if one.log != one.topic]
            is_commit = fact.effect == EffectName.OFFSETS_COMMITTED
            (left_out if both or (is_heard and not is_commit) else kept).append(fact)
        del self.waiting[:passed]
        self._forget(until_ms)
        return Decided(kept, left_out, compared, differences)

    def _note(self, fact: Fact) -> None:
        if fact.effect == EffectName.GROUP_OBSERVED and fact.told["is_away"]:
            if self.since_ms is not None:
                self.heard.append((self.since_ms - SLACK_MS, fact.at_ms))
            self.since_ms = None
        elif self.since_ms is None:
            self.since_ms = fact.at_ms
        if fact.effect == EffectName.OFFSETS_COMMITTED:
            self.offsets.update((key, Logged(fact.at_ms, metadata)) for key, metadata in offsets_of(fact))

    def _is_heard(self, at_ms: int, log_until_ms: int | None) -> bool:
        if self.since_ms is not None and self.since_ms - SLACK_MS <= at_ms:
            return log_until_ms is None or at_ms <= log_until_ms + SLACK_MS
        return any(start <= at_ms <= end for start, end in self.heard)

    def _told_by_both(self, fact: Fact) -> list[Difference]:
        """The metadata of each offset that the log tells as well."""
        if fact.effect != EffectName.OFFSETS_COMMITTED:
            return []
        told = ((key, metadata, self.offsets.get(key)) for key, metadata in offsets_of(fact))
        return [
            Difference(fact.at_ms, f"metadata of offset {key}", found.metadata, metadata)
            for key, metadata, found in told
            if found is not None and found.at_ms >= fact.at_ms - EARLY_MS
        ]

    def _forget(self, until_ms: int) -> None:
        before_ms = until_ms - EARLY_MS - LATE_MS
        self.heard = [one for one in self.heard if one[1] >= before_ms]
        if self.offsets and next(iter(self.offsets.values())).at_ms < before_ms:
            self.offsets = {key: one for key, one in self.offsets.items() if one.at_ms >= before_ms}


def offsets_of(fact: Fact) -> list[tuple[str, str]]:
    """Each offset of a commit, and its metadata."""
    return [
        (f"{one['committed_offset']} of {one['topic']}-{one['partition']}", one["metadata"])
        for one in fact.told["offsets"]
    ]
