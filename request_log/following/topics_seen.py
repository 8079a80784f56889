"""What recorded answers show of a cluster's topics: how many partitions there are, what regular expressions stand for.

No line says that a topic has grown or that the broker has resolved an expression. The answers that follow do: members
are given partitions that nobody had. What they show is told to the group with the heartbeat that needs it. Of several
things that fit one answer, the one is taken that fits most of the next ones.

Knows the model and what is read ahead; changes the request alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from coordinator_udfs.protocol.consumer.group import ConsumerGroup
from coordinator_udfs.protocol.consumer.patterns import matching, why_unreadable
from coordinator_udfs.protocol.group import Group
from request_log.following.group_model import GroupModel
from request_log.following.trial import Trial
from request_log.following.upcoming import Upcoming
from request_log.following.worked_on import LOOKED_AT, count_fitting
from request_log.recorded import LoggedRequest
from schemas.cluster_sizes import is_believable
from schemas.errors import Error
from schemas.messages import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse

SHOWN_WITHIN_MS = 15_000
"""Members are given what is new within a few heartbeats."""


class Seen(NamedTuple):
    """What a heartbeat may have found to be new."""

    topics: dict[str, int] | None
    patterns: dict[str, list[str]] | None


def fit_by_topics(model: GroupModel, upcoming: Upcoming, entry: LoggedRequest, at_ms: int) -> Trial | None:
    """The heartbeat tried with what is new by then; None if nothing that the recording shows makes it fit."""
    request = entry.request
    if not isinstance(request, ConsumerGroupHeartbeatRequest) or request.cluster_topics is not None:
        return None
    best: tuple[int, Seen] | None = None
    following = list(islice(upcoming.in_order(), LOOKED_AT))
    for seen in _candidates(model.group, entry, following, upcoming):
        request.cluster_topics, request.resolved_patterns = seen
        trial = model.try_request(entry, at_ms)
        if trial.fits:
            fitting = count_fitting(model, trial.group, following, at_ms)
            if best is None or fitting > best[0]:
                best = fitting, seen
    request.cluster_topics = request.resolved_patterns = None
    if best is None:
        return None
    request.cluster_topics, request.resolved_patterns = best[1]
    return model.try_request(entry, at_ms)


def _candidates(
    group: Group, entry: LoggedRequest, following: list[LoggedRequest], upcoming: Upcoming
) -> Iterator[Seen]:
    consumer = group.consumer
    known = (consumer.cluster if consumer is not None else None) or {}
    until_ms = entry.began_ms + SHOWN_WITHIN_MS
    ahead = [other for other in upcoming.in_order() if other.began_ms <= until_ms]
    sizes = [_shown([entry, *ahead]), _shown([entry])]
    for shown in sizes:
        grown = known | {topic: max(count, known.get(topic, 0)) for topic, count in shown.items()}
        if not is_believable(grown):
            continue
        is_new = grown != known or consumer is None
        if is_new:
            yield Seen(grown, None)
        patterns = _patterns_of(consumer, entry)
        if patterns:
            named = {topic for member in consumer.members.values() for topic in member.topics} if consumer else set()
            among = sorted(grown.keys() - named)
            yield Seen(grown, {pattern: _matched(pattern, among) for pattern in patterns})
            yield Seen(
                grown, {pattern: list(consumer.patterns.get(pattern, ())) for pattern in patterns} if consumer else {}
            )


def _shown(entries: Iterable[LoggedRequest]) -> dict[str, int]:
    """By topic, how many partitions the answers show."""
    counts: dict[str, int] = {}
    for entry in entries:
        response = entry.recorded.response if entry.recorded.error is Error.NONE else None
        if isinstance(response, ConsumerGroupHeartbeatResponse) and response.assignment is not None:
            for topic in response.assignment.topic_partitions:
                counts[topic.topic_id] = max(counts.get(topic.topic_id, 0), *(p + 1 for p in topic.partitions), 0)
    return counts


def _patterns_of(consumer: ConsumerGroup | None, entry: LoggedRequest) -> list[str]:
    """The regular expressions in use, with the one that this request brings."""
    used = set() if consumer is None else set(consumer.patterns_in_use)
    brought = getattr(entry.request, "subscribed_topic_regex", None)
    return sorted(used | ({brought} if brought else set()))


def _matched(pattern: str, topics: list[str]) -> list[str]:
    """Those that it matches, and those whose names nobody knows: a name that matches nothing may be an id."""
    if why_unreadable(pattern) is not None:
        return []
    return list(matching(pattern, topics)) or topics
