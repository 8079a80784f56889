"""How large a cluster may be that a request tells of: a group's plan costs by the partitions there are.

Knows the one request that tells of topics; knows no rule of the protocol.
"""

from __future__ import annotations

from collections.abc import Mapping

from schemas.consumer_group_messages import ConsumerGroupHeartbeatRequest

PARTITIONS_MAX = 200_000
"""Of all topics that a group is told of together; no cluster that is run has more."""


def unfit_cluster(request: object) -> str:
    """Why the topics that a request tells of cannot be a cluster's; "" if they can, or it tells of none."""
    if not isinstance(request, ConsumerGroupHeartbeatRequest) or not request.cluster_topics:
        return ""
    below = next((topic for topic, partitions in request.cluster_topics.items() if partitions < 0), None)
    if below is not None:
        return f"cluster_topics: a topic has {request.cluster_topics[below]} partitions"
    return "" if is_believable(request.cluster_topics) else f"cluster_topics: more than {PARTITIONS_MAX} partitions"


def is_believable(topics: Mapping[str, int]) -> bool:
    """Whether a cluster may have so many partitions, by topic."""
    return sum(topics.values()) <= PARTITIONS_MAX
