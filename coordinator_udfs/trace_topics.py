"""The topics of a trace: lines that change them, and their names in the place of ids.

Knows names and partition counts; knows no group and no rule of the protocol.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from coordinator_udfs.protocol.config import GroupConfig

TOPIC_VERBS = ("CreateTopics", "CreatePartitions", "DeleteTopics")


class TopicError(ValueError):
    """Topics that cannot be changed so; the text says why."""


def config_after(verb: str, named: Any, config: GroupConfig) -> GroupConfig:
    """The settings once a line has changed the topics. named: counts by topic, for DeleteTopics a list of names.

    Raises TopicError: not of that shape, a topic that is there already or is not, a count that is none or no larger.
    """
    topics = dict(config.topics or {})
    if verb == "DeleteTopics":
        if not isinstance(named, list) or not all(isinstance(topic, str) for topic in named):
            raise TopicError(f"topics: {named!r} is no list of names")
        for topic in named:
            if topics.pop(topic, None) is None:
                raise TopicError(f"topics: there is no topic {topic!r} to delete")
        return replace(config, topics=topics)
    if not isinstance(named, dict):
        raise TopicError(f"topics: {named!r} does not give the number of partitions by topic")
    for topic, count in named.items():
        if (topic in topics) != (verb == "CreatePartitions"):
            raise TopicError(f"topics: {topic!r} {'exists already' if topic in topics else 'does not exist'}")
        least = topics.get(topic, 0) + 1
        if not isinstance(count, int) or isinstance(count, bool) or count < least:
            raise TopicError(f"topics: {topic!r}: {count!r} is not a number of partitions from {least} on")
        topics[topic] = count
    return replace(config, topics=topics, topics_version=config.topics_version + (verb == "CreateTopics"))


def by_topic_name(value: Any) -> Any:
    """An answer's fields with `topic` where they have `topic_id`, at any depth."""
    if isinstance(value, dict):
        return {"topic" if key == "topic_id" else key: by_topic_name(inner) for key, inner in value.items()}
    return [by_topic_name(item) for item in value] if isinstance(value, list) else value
