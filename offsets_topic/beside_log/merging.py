"""One group's history from a request log and the topic: what the log tells exactly holds, the topic tells the rest.

Knows the rules of docs/offsets-topic.md under "Beside a request log". Must not know where facts come from or go to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from offsets_topic.beside_log.facts import MEMBERSHIP, Difference, Fact, generations_of
from offsets_topic.beside_log.stretches import SLACK_MS, Stretch, TopicMembers, exact_stretches
from schemas.effect_names import EffectName

_Said = tuple[Any, ...]


class Merged(NamedTuple):
    """Which facts make the history of a group, by their places in what was given."""

    log_left_out: list[int]
    """What the log tells without having seen it, and the topic tells by its records."""
    topic_kept: list[int]
    compared: int
    """How many facts both tell."""
    differences: list[Difference]


def merge(log: Sequence[Fact], topic: Sequence[Fact], log_until_ms: int, topic_until_ms: int) -> Merged:
    """The facts of one group from both inputs, each in order of at_ms and seq; those of the kinds that both tell.

    log_until_ms, topic_until_ms: the last moment that each input tells of, ms since the epoch.
    """
    generations = generations_of(topic)
    members = [(fact, generation) for fact, generation in zip(topic, generations, strict=True) if _is_of_members(fact)]
    known = TopicMembers([fact for fact, _ in members], [generation for _, generation in members])
    of_members = [fact for fact, _ in members]
    stretches, differences = exact_stretches(log, of_members, known, log_until_ms, topic_until_ms)
    tells_from_ms = members[0][0].at_ms - SLACK_MS if members else log_until_ms + 1
    left_out, unsure = _concluded(log, stretches, tells_from_ms, topic_until_ms)
    commits = _LoggedCommits(log, log_until_ms)
    kept: list[int] = []
    both: list[int] = []
    for place, (fact, generation) in enumerate(zip(topic, generations, strict=True)):
        is_in_log = (
            any(one.has_topic_fact(fact, generation) for one in stretches)
            if _is_of_members(fact)
            else commits.have(fact)
        )
        (both if is_in_log else kept).append(place)
    again_in_log, again_in_topic = _repetitions(log, left_out, unsure, topic, kept)
    compared, others = _compare(log, [topic[place] for place in both], stretches)
    return Merged(
        sorted(left_out | again_in_log),
        [place for place in kept if place not in again_in_topic],
        compared,
        [*differences, *others],
    )


def _concluded(
    log: Sequence[Fact], stretches: Sequence[Stretch], tells_from_ms: int, topic_until_ms: int
) -> tuple[set[int], set[int]]:
    """Places of what the log tells while it is not exact: in the time that the topic tells of, and after it."""
    before: set[int] = set()
    after: set[int] = set()
    for place, fact in enumerate(log):
        if not _is_of_members(fact) or fact.at_ms < tells_from_ms:
            continue
        if any(one.has_log_fact(fact.at_ms) for one in stretches):
            continue
        is_known = fact.effect in (EffectName.GROUP_CREATED, EffectName.GROUP_OBSERVED)
        (before if is_known or fact.at_ms <= topic_until_ms else after).add(place)
    return before, after


def _is_of_members(fact: Fact) -> bool:
    return fact.effect in MEMBERSHIP


class _LoggedCommits:
    """What a log tells of a group's stored offsets."""

    def __init__(self, log: Sequence[Fact], until_ms: int) -> None:
        self._heard: list[tuple[int, int]] = []
        """From when to when the log has the group's requests."""
        since_ms: int | None = None
        self._offsets: set[_Said] = set()
        for fact in log:
            if fact.effect == EffectName.GROUP_OBSERVED and fact.told["is_away"]:
                if since_ms is not None:
                    self._heard.append((since_ms - SLACK_MS, fact.at_ms))
                since_ms = None
            elif since_ms is None:
                since_ms = fact.at_ms
            if fact.effect == EffectName.OFFSETS_COMMITTED:
                self._offsets.update(_offsets_of(fact))
        if since_ms is not None:
            self._heard.append((since_ms - SLACK_MS, until_ms + SLACK_MS))

    def have(self, fact: Fact) -> bool:
        """Whether the log tells what this fact of the topic's tells; a commit whose line is lost it does not."""
        if not any(start <= fact.at_ms <= end for start, end in self._heard):
            return False
        return fact.effect != EffectName.OFFSETS_COMMITTED or not self._offsets.isdisjoint(_offsets_of(fact))


def _repetitions(
    log: Sequence[Fact], left_out: set[int], unsure: set[int], topic: Sequence[Fact], kept: Iterable[int]
) -> tuple[set[int], set[int]]:
    """The places of those facts of either input that say again who came or went, but for what the log is sure of.

    At a seam the one may have told it a moment before the other.
    """
    joined, removed = EffectName.MEMBER_JOINED, EffectName.MEMBER_REMOVED
    said = [(fact.at_ms, 0, fact.seq, place, fact) for place, fact in enumerate(log) if place not in left_out]
    said += [(topic[place].at_ms, 1, topic[place].seq, place, topic[place]) for place in kept]
    is_member: dict[str, bool] = {}
    again: tuple[set[int], set[int]] = (set(), set())
    for _, is_topic, _, place, fact in sorted(said, key=itemgetter(0, 1, 2)):
        if fact.effect not in (joined, removed):
            continue
        is_now, member_id = fact.effect == joined, fact.member_id or ""
        if is_member.get(member_id) is is_now and (is_topic or place in unsure):
            again[is_topic].add(place)
        is_member[member_id] = is_now
    return again


# ---------------------------------------------------------------- what both tell


def _compare(log: Sequence[Fact], both: Sequence[Fact], stretches: Sequence[Stretch]) -> tuple[int, list[Difference]]:
    """How many facts of the topic's the log tells too, and where they differ."""
    told: dict[_Said, Any] = {}
    for fact in log:
        told.update(_said(fact, stretches))
    compared, differences = 0, []
    for fact in both:
        for key, value in _said(fact, stretches).items():
            if key in told:
                compared += 1
                if told[key] != value:
                    differences.append(Difference(fact.at_ms, _shown(key), str(told[key]), str(value)))
    return compared, differences


def _said(fact: Fact, stretches: Sequence[Stretch]) -> Mapping[_Said, Any]:
    """What a fact says that the other input can say otherwise, by what it is about."""
    if fact.effect == EffectName.OFFSETS_COMMITTED:
        return _offsets_of(fact)
    if fact.effect not in (EffectName.JOIN_PHASE_ENDED, EffectName.REBALANCE_ENDED):
        return {}
    life = next((n for n, one in enumerate(stretches) if one.from_ms - SLACK_MS <= fact.at_ms <= one.to_ms), None)
    if life is None:
        return {}
    told, generation = fact.told, fact.generation_id
    if fact.effect == EffectName.REBALANCE_ENDED:
        return {("number of members", life, generation): told["members_after"]}
    return {
        ("leader", life, generation): told["leader_id"],
        ("members", life, generation): sorted(told["member_ids"]),
    }


def _offsets_of(fact: Fact) -> dict[_Said, str]:
    """The metadata of a commit's offsets."""
    return {
        ("offset", one["topic"], one["partition"], one["committed_offset"]): one["metadata"]
        for one in fact.told["offsets"]
    }


def _shown(key: _Said) -> str:
    match key:
        case ("offset", topic, partition, offset):
            return f"metadata of offset {offset} of {topic}-{partition}"
        case _:
            return f"{key[0]} of generation {key[2]}"
