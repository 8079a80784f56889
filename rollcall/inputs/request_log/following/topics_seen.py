"""What recorded answers show of a cluster's topics: their partition counts, and what regular expressions match. No line
shows that a topic has grown or that the broker has resolved an expression. Later answers do: members are given
partitions that nobody had. The heartbeat that needs this carries it to the group. If several things fit one answer, the
one that fits most of the next answers is used.

Knows the model and what is read ahead; changes the request alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import NamedTuple

from rollcall.coordinator_udfs.protocol.consumer.group import ConsumerGroup
from rollcall.coordinator_udfs.protocol.consumer.patterns import matching, why_unreadable
from rollcall.coordinator_udfs.protocol.consumer.refusals import JOIN
from rollcall.inputs.request_log.explaining.inferred_causes import counts_in
from rollcall.inputs.request_log.following.group_model import GroupModel
from rollcall.inputs.request_log.following.order import LOOKED_AT, Order
from rollcall.inputs.request_log.following.topic_names import TopicNames
from rollcall.inputs.request_log.following.trial import Trial
from rollcall.inputs.request_log.recorded import LoggedRequest
from rollcall.inputs.request_log.topic_metadata import TopicMetadata
from rollcall.inputs.tolerances import TOPIC_SHOWN_WITHIN_MS
from rollcall.schemas.causes import CauseKind
from rollcall.schemas.errors import Error
from rollcall.schemas.limits import is_believable
from rollcall.schemas.messages import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse


class Seen(NamedTuple):
    """What a heartbeat may have found to be new."""

    topics: dict[str, int] | None
    patterns: dict[str, list[str]] | None


@dataclass(slots=True)
class TopicsSeen:
    """What a log shows of the topics of one group."""

    model: GroupModel
    order: Order
    names: TopicNames
    shown: TopicMetadata
    """What METADATA lines show."""

    def fit(self, entry: LoggedRequest, at_ms: int) -> Trial | None:
        """The heartbeat tried with what is new by then; None if nothing that the recording shows makes it fit."""
        request, model = entry.request, self.model
        if not isinstance(request, ConsumerGroupHeartbeatRequest) or request.cluster_topics is not None:
            return None
        best: Seen | None = None
        most = -1
        following = list(islice(self.order.in_order(), LOOKED_AT))
        for seen in self._candidates(entry):
            self._show(entry, seen)
            trial = model.try_request(entry, at_ms)
            fitting = model.try_in_turn(following, at_ms, trial.group)[1] if trial.fits else -1
            if fitting > most:
                best, most = seen, fitting
        self._show(entry, best or Seen(None, None))
        if best is None:
            return None
        if model.is_older_than_log and request.member_epoch > JOIN and request.subscribed_topic_names is None:
            # Partitions that nobody was seen to own need not be new.
            request.inferred_cause = CauseKind.METADATA_CHANGED.value
        return model.try_request(entry, at_ms)

    def show_upgraded(self, entry: LoggedRequest) -> None:
        """A heartbeat that converts a classic group to a consumer group carries the topics that its members share."""
        request, members = entry.request, self.model.group.members
        if not isinstance(request, ConsumerGroupHeartbeatRequest) or not entry.joins_consumers or not members:
            return
        counts = counts_in(member.assignment for member in members.values())
        if counts and request.cluster_topics is None and is_believable(counts):
            self._show(entry, Seen(counts, request.resolved_patterns))

    def _show(self, entry: LoggedRequest, seen: Seen) -> None:
        request = entry.request
        assert isinstance(request, ConsumerGroupHeartbeatRequest)
        request.cluster_topics, request.resolved_patterns = seen
        request.topic_ids = self.names.ids_of(seen.topics or (), self.shown, entry.began_ms) or None

    def _candidates(self, entry: LoggedRequest) -> Iterator[Seen]:
        """What may be new, the likeliest first."""
        consumer = self.model.group.consumer
        known = (consumer.cluster if consumer is not None else None) or {}
        until_ms = entry.began_ms + TOPIC_SHOWN_WITHIN_MS
        ahead = takewhile(lambda other: other.began_ms <= until_ms, self.order.since(entry))
        for shown in (*self._by_lines(entry), _shown(ahead), _shown([entry])):
            grown = known | {topic: max(count, known.get(topic, 0)) for topic, count in shown.items()}
            if not is_believable(grown):
                continue
            if grown != known or consumer is None:
                yield Seen(grown, None)
            patterns = _patterns_of(consumer, entry)
            if patterns:
                members = () if consumer is None else consumer.members.values()
                among = sorted(grown.keys() - {topic for member in members for topic in member.topics})
                resolved = {} if consumer is None else {each: [*consumer.patterns.get(each, ())] for each in patterns}
                yield Seen(grown, {pattern: _matched(pattern, among) for pattern in patterns})
                yield Seen(grown, resolved)

    def _by_lines(self, entry: LoggedRequest) -> list[dict[str, int]]:
        """By topic of the group, how many partitions METADATA lines show: by then, and next."""
        named = set(getattr(entry.request, "subscribed_topic_names", None) or ())
        consumer = self.model.group.consumer
        if consumer is not None:
            named.update(consumer.named_topics, *consumer.patterns.values())
        looks = (
            {name: one.partitions for name in sorted(named) if (one := look(name, entry.began_ms)) is not None}
            for look in (self.shown.at, self.shown.after)
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
