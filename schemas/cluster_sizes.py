"""What a request may report of topics: how many partitions, as the cost of a group's assignment grows with them; ids.

Knows the one request that reports topics; knows no rule of the protocol.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from rollcall.schemas.consumer_group_messages import ConsumerGroupHeartbeatRequest

_IS_ID = re.compile("[A-Za-z0-9_-]{22}")
_NO_ID = "A" * 22
PARTITIONS_MAX = 200_000
"""The limit for all topics of a group together; no real cluster has more."""


def unfit_cluster(request: object) -> str:
    """Why the topics in a request are refused; "" if they are fine, or if it has none."""
    if not isinstance(request, ConsumerGroupHeartbeatRequest) or not request.cluster_topics:
        return ""
    below = next((topic for topic, partitions in request.cluster_topics.items() if partitions < 0), None)
    if below is not None:
        return f"cluster_topics: a topic has {request.cluster_topics[below]} partitions"
    unfit = next((text for text in (request.topic_ids or {}).values() if not is_topic_id(text)), None)
    if unfit is not None:
        return f"topic_ids: {unfit[:100]!r} is not an id of a topic"
    return "" if is_believable(request.cluster_topics) else f"cluster_topics: more than {PARTITIONS_MAX} partitions"


def is_believable(topics: Mapping[str, int]) -> bool:
    """Whether a cluster may have these numbers of partitions, by topic."""
    return sum(topics.values()) <= PARTITIONS_MAX


def is_topic_id(text: str) -> bool:
    """Whether this is a Kafka Uuid as text; the one of zeros stands for none."""
    return _IS_ID.fullmatch(text) is not None and text != _NO_ID
