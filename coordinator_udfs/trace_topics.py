"""The topics of a trace: lines that change them, and their names in the place of ids.

Knows names and partition counts; knows no group and no rule of the protocol.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rollcall.coordinator_udfs.protocol.config import GroupConfig

TOPIC_VERBS = ("CreateTopics", "CreatePartitions", "DeleteTopics")


class TopicError(ValueError):
    """A change of topics that cannot be made; the text says why."""


def config_after(verb: str, named: Any, config: GroupConfig) -> GroupConfig:
    """The settings once a line has changed the topics. named: counts by topic, for DeleteTopics a list of names.

    Raises TopicError: another shape, a topic that exists already or does not exist, a count that is no larger.
    """
    topics = dict(config.topics or {})
    if verb == "DeleteTopics":
        if not isinstance(named, list) or not all(isinstance(topic, str) for topic in named):
            raise TopicError(f"topics: {named!r} is not a list of names")
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
    """An answer's fields, at any depth, with the topic's name as `topic` in place of `topic_id`."""
    if isinstance(value, dict) and "topic_id" in value:
        ways = [value.pop(key, "") for key in ("topic_name", "name", "topic_id")]
        return {"topic": next(filter(None, ways), ""), **by_topic_name(value)}
    if isinstance(value, dict):
        return {key: by_topic_name(inner) for key, inner in value.items()}
    return [by_topic_name(item) for item in value] if isinstance(value, list) else value
