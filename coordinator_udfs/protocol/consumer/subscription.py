"""What members subscribe to: names, resolved regular expressions, and the topics of these that exist.

Knows when the subscribed topics have changed; must not know what follows from it.
Source: ConsumerGroup.computeSubscribedTopicNames, computeSubscriptionType, computeMetadataHash.
"""

from __future__ import annotations

from collections.abc import Mapping

from rollcall.coordinator_udfs.protocol.consumer.group import ConsumerGroup, ConsumerMember


def topics_of(consumer: ConsumerGroup, member: ConsumerMember) -> frozenset[str]:
    """The names a member subscribes to, including those of its regular expression once that is resolved."""
    if not member.pattern:
        return frozenset(member.topics)
    return frozenset((*member.topics, *consumer.patterns.get(member.pattern, ())))


def subscribed_topics(consumer: ConsumerGroup) -> set[str]:
    """All names that any member subscribes to, whether such a topic exists or not."""
    return set(consumer.named_topics).union(*(consumer.patterns.get(p, ()) for p in consumer.patterns_in_use))


def existing_topics(consumer: ConsumerGroup, topics: Mapping[str, int] | None) -> dict[str, int]:
    """The subscribed topics that exist, with their partition counts, in order of name.

    Two looks are equal if and only if nothing that an assignment depends on has changed.
    """
    return {name: topics[name] for name in sorted(subscribed_topics(consumer) & topics.keys())} if topics else {}


def is_homogeneous(consumer: ConsumerGroup) -> bool:
    """Whether all members subscribe to the same names, or all only to the same regular expression."""
    distinct = {(member.topics, member.pattern) for member in consumer.members.values()}
    return len(distinct) < 2 and not any(topics and pattern for topics, pattern in distinct)
