"""What recorded answers show of a cluster's topics: their partition counts, and what regular expressions match. No line
shows that a topic has grown or that the broker has resolved an expression. Later answers do: members are given
partitions that nobody had. The heartbeat that needs this carries it to the group. If several things fit one answer, the
one that fits most of the next answers is used.

Knows the model and what is read ahead; changes the request alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from rollcall.coordinator_udfs.protocol.consumer.group import ConsumerGroup
from rollcall.coordinator_udfs.protocol.consumer.patterns import matching, why_unreadable
from rollcall.coordinator_udfs.protocol.consumer.refusals import JOIN
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.inputs.request_log.following.group_model import GroupModel
from rollcall.inputs.request_log.following.topic_names import TopicNames
from rollcall.inputs.request_log.following.trial import Trial
from rollcall.inputs.request_log.following.upcoming import Upcoming
from rollcall.inputs.request_log.following.worked_on import LOOKED_AT, count_fitting
from rollcall.inputs.request_log.recorded import LoggedRequest
from rollcall.inputs.request_log.topic_metadata import TopicMetadata
from rollcall.schemas.causes import CauseKind
from rollcall.schemas.cluster_sizes import is_believable
from rollcall.schemas.consumer_protocol import ConsumerProtocolError, decode_assignment
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse

SHOWN_WITHIN_MS = 15_000
"""Members get new partitions within a few heartbeats."""


class Seen(NamedTuple):
    """What a heartbeat may have found to be new."""

    topics: dict[str, int] | None
    patterns: dict[str, list[str]] | None


def fit_by_topics(
    model: GroupModel, upcoming: Upcoming, entry: LoggedRequest, at_ms: int, names: TopicNames, shown: TopicMetadata
) -> Trial | None:
    """The heartbeat tried with what is new by then; None if nothing that the recording shows makes it fit."""
    request = entry.request
    if not isinstance(request, ConsumerGroupHeartbeatRequest) or request.cluster_topics is not None:
        return None
    best: tuple[int, Seen] | None = None
    following = list(islice(upcoming.in_order(), LOOKED_AT))
    for seen in _candidates(model.group, entry, upcoming, shown):
        request.cluster_topics, request.resolved_patterns = seen
        request.topic_ids = names.ids_of(seen.topics or (), shown, entry.began_ms)
        trial = model.try_request(entry, at_ms)
        if trial.fits:
            fitting = count_fitting(model, trial.group, following, at_ms)
            if best is None or fitting > best[0]:
                best = fitting, seen
    request.cluster_topics = request.topic_ids = request.resolved_patterns = None
    if best is None:
        return None
    request.cluster_topics, request.resolved_patterns = best[1]
    request.topic_ids = names.ids_of(best[1].topics or (), shown, entry.began_ms) or None
    if model.is_older_than_log and request.member_epoch > JOIN and request.subscribed_topic_names is None:
        # Partitions that nobody was seen to own need not be new.
        request.inferred_cause = CauseKind.METADATA_CHANGED.value
    return model.try_request(entry, at_ms)


def show_upgraded(group: Group, entry: LoggedRequest, names: TopicNames, shown: TopicMetadata) -> None:
    """A heartbeat that converts a classic group to a consumer group carries the topics that its members share."""
    request = entry.request
    if not isinstance(request, ConsumerGroupHeartbeatRequest) or request.member_epoch != JOIN or not group.members:
        return
    counts: dict[str, int] = {}
    for member in group.members.values():
        try:
            shared = decode_assignment(member.assignment).partitions if member.assignment else ()
        except ConsumerProtocolError:
            continue
        for topic, partition in shared:
            counts[topic] = max(counts.get(topic, 0), partition + 1)
    if counts and request.cluster_topics is None and is_believable(counts):
        request.cluster_topics = counts
        request.topic_ids = names.ids_of(counts, shown, entry.began_ms) or None


def _candidates(
    group: Group, entry: LoggedRequest, upcoming: Upcoming, shown_by_lines: TopicMetadata
) -> Iterator[Seen]:
    consumer = group.consumer
    known = (consumer.cluster if consumer is not None else None) or {}
    until_ms = entry.began_ms + SHOWN_WITHIN_MS
    ahead = [other for other in upcoming.in_order() if other.began_ms <= until_ms]
    sizes = [*_by_lines(group, entry, shown_by_lines), _shown([entry, *ahead]), _shown([entry])]
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


def _by_lines(group: Group, entry: LoggedRequest, shown: TopicMetadata) -> list[dict[str, int]]:
    """By topic of the group, how many partitions METADATA lines show: by then, and next."""
    named = set(getattr(entry.request, "subscribed_topic_names", None) or ())
    consumer = group.consumer
    if consumer is not None:
        named.update(consumer.named_topics, *consumer.patterns.values())
    looks = (
        {name: one.partitions for name in sorted(named) if (one := look(name, entry.began_ms)) is not None}
        for look in (shown.at, shown.after)
    )
    return [counts for counts in looks if counts]


def _shown(entries: Iterable[LoggedRequest]) -> dict[str, int]:
    """By topic, how many partitions the answers show."""
    counts: dict[str, int] = {}
    for entry in entries:
        response = entry.recorded.response if entry.recorded.error is Error.NONE else None
        if isinstance(response, ConsumerGroupHeartbeatResponse) and response.assignment is not None:
            for topic in response.assignment.topic_partitions:
                counts[topic.topic] = max(counts.get(topic.topic, 0), *(p + 1 for p in topic.partitions), 0)
    return counts


def _patterns_of(consumer: ConsumerGroup | None, entry: LoggedRequest) -> list[str]:
    """The regular expressions in use, with the one that this request brings."""
    used = set() if consumer is None else set(consumer.patterns_in_use)
    brought = getattr(entry.request, "subscribed_topic_regex", None)
    return sorted(used | ({brought} if brought else set()))


def _matched(pattern: str, topics: list[str]) -> list[str]:
    """The topics that it matches, and those with unknown names: a name that matches nothing may be an id."""
    if why_unreadable(pattern) is not None:
        return []
    return list(matching(pattern, topics)) or topics
