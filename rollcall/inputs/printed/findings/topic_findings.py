"""Which change of a topic made a client join again, by the metadata that it prints.

Knows facts of one client. Must not know how lines are worded.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator, Sequence

from rollcall.history.words import count, some
from rollcall.inputs.printed.groups.reasons import cause_in_words
from rollcall.inputs.printed.logged_facts import FactKind, LoggedFact, between_ms
from rollcall.inputs.printed.logged_rebalances import Finding, suggested
from rollcall.inputs.printed.templates import counted
from rollcall.inputs.printed.wording import lasting
from rollcall.inputs.tolerances import AT_ONCE_MS
from rollcall.schemas.causes import CauseKind

_CACHED = re.compile(r"([\w.-]{1,249})=(\d{1,9}|\[(?:[^\[\]]|\[[^\[\]]*\])*\])")
"""A topic in a Java client's metadata with its number of partitions, or since Kafka 3.5 with the racks of each."""
_WITHOUT_BROKERS = (
    "as happens when a client can reach no broker and starts again from its bootstrap servers "
    "(metadata.recovery.strategy=rebootstrap)"
)


def topics_changed(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    """Yield what had changed in the metadata just before a client joined again for its topics' sake."""
    latest: dict[str, int] = {}
    changes: dict[str, tuple[int | None, LoggedFact]] = {}
    """By topic, since the latest rejoin: how many partitions it had before, and the line of the change."""
    there: dict[str, list[int]] = {}
    """The places of the lines that have each topic."""
    for place, fact in enumerate(facts):
        if fact.kind is FactKind.TOPIC_SEEN and counted(fact.to_state):
            there.setdefault(fact.partitions, []).append(place)
    for place, fact in enumerate(facts):
        if fact.kind is FactKind.TOPIC_SEEN and fact.partitions:
            topic, partitions = fact.partitions, counted(fact.to_state)
            before = latest.get(topic, counted(fact.state))
            if partitions is not None and partitions != before and (before is not None or not partitions):
                changes[topic] = before, fact
            if partitions is not None:
                latest[topic] = partitions
        elif fact.kind is FactKind.REJOIN_WANTED and cause_in_words(fact.reason) is CauseKind.METADATA_CHANGED:
            cached, is_java, now = fact.reason.partition(" at the beginning of the rebalance to ")
            if is_java and (what := _difference(_partition_counts(cached), _partition_counts(now))):
                yield suggested("topic_changed", f"{who} joined again because {what}.", (fact,))
            for topic, (before, changed) in changes.items():
                if (between_ms(changed, fact) or 0) <= AT_ONCE_MS:
                    places = there.get(topic, [])
                    later = bisect(places, place)
                    is_back = later < len(places) and not counted(changed.to_state)
                    back = facts[places[later]] if is_back else None
                    what = _what_changed(topic, before, changed, back)
                    lines = (changed, fact) if back is None else (changed, fact, back)
                    yield suggested("topic_changed", f"{who} joined again because {what}.", lines)
            changes = {}


def _partition_counts(cached: str) -> dict[str, int]:
    """The number of partitions of each topic in the client's metadata."""
    return {
        topic: int(partitions) if partitions.isdecimal() else partitions.count("NO_RACKS") + partitions.count("racks=")
        for topic, partitions in _CACHED.findall(cached)
    }


def _difference(before: dict[str, int], now: dict[str, int]) -> str:
    """Say how a client's metadata differs from before; empty if the numbers of partitions are the same."""
    if any(before.values()) and not any(now.values()):
        topics = some(topic for topic, partitions in before.items() if partitions)
        return f"its metadata had no partition of {topics} any more, {_WITHOUT_BROKERS}"
    counts = ((topic, before.get(topic, 0), now.get(topic, 0)) for topic in {**before, **now})
    return some(
        f"the topic {topic} had {count(has, 'partition')} in its metadata, and {had} before"
        for topic, had, has in counts
        if had != has
    )


def _what_changed(topic: str, before: int | None, changed: LoggedFact, back: LoggedFact | None) -> str:
    """Say what changed. back: the line that has the topic again."""
    partitions = counted(changed.to_state) or 0
    if partitions and not before:
        return f"the topic {topic} was in its metadata again, with {count(partitions, 'partition')}"
    if partitions:
        return f"the topic {topic} had {count(partitions, 'partition')} in its metadata, and {before} before"
    error = f" ({changed.error})" if changed.error else ""
    if back is None:
        return f"its metadata lacked the topic {topic}{error}, and no later line has that topic again"
    return f"its metadata lacked the topic {topic}{error}{lasting(' for {}', changed, back)}"
