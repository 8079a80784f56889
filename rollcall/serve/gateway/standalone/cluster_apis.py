"""Metadata and DescribeCluster: the gateways, the topics of the settings, and who leads their partitions.

The gateway that is asked leads every partition, so that a client depends on no other. Asking for a topic does not
create it. Knows nodes and topics; knows no group and no record.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any

from rollcall.schemas.errors import Error
from rollcall.serve.gateway.exchange import Answer, Ask, Building, Caller, Endpoint
from rollcall.serve.gateway.group_apis import Node
from rollcall.serve.gateway.topic_ids import TopicIds

CLUSTER_ID = "rollcall"
_ALL_TOPICS_IS_EMPTY_LIST = 0
_BROKERS = 1

Values = dict[str, Any]


class Cluster:
    """Answers what clients ask about the cluster. nodes: this gateway first, as a caller should reach it."""

    def __init__(self, topics: Mapping[str, int], topic_ids: TopicIds, nodes: Callable[[Caller], list[Node]]) -> None:
        self._topics = topics
        self._topic_ids = topic_ids
        self._nodes = nodes

    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint("Metadata", 3, 0, 13, self._metadata),
            Endpoint("DescribeCluster", 60, 0, 2, self._describe_cluster),
        ]

    def _metadata(self, ask: Ask) -> Answer:
        """Each topic once, however often it is named."""
        nodes = self._nodes(ask.caller)
        asked = dict.fromkeys(self._asked(ask))

        def build() -> Values:
            return {
                "brokers": _brokers(nodes, "node_id"),
                "cluster_id": CLUSTER_ID,
                "controller_id": nodes[0][0],
                "topics": [self._topic(name, topic_id, nodes[0][0]) for name, topic_id in asked],
            }

        return Building(len(asked) + sum(self._topics.get(name or "", 0) for name, _ in asked), build)

    def _asked(self, ask: Ask) -> list[tuple[str | None, uuid.UUID | None]]:
        """(name, id) of each topic asked for, the name None if it is unknown. All topics if none is named. A request by
        id has an empty name or none, and is answered by the id.
        """
        topics = ask.message.topics
        if topics is None or (not topics and ask.codec.version == _ALL_TOPICS_IS_EMPTY_LIST):
            return list(self._topic_ids.by_name.items())
        ids = [getattr(topic, "topic_id", None) for topic in topics]
        by_id = self._topic_ids.name_by_id
        return [
            (topic.name if topic_id is None else by_id.get(str(topic_id)), topic_id)
            for topic, topic_id in zip(topics, ids, strict=True)
        ]

    def _topic(self, name: str | None, topic_id: uuid.UUID | None, leader: int) -> Values:
        if name is None and topic_id is not None:
            return {"topic_id": topic_id, "error_code": Error.UNKNOWN_TOPIC_ID}
        if name is None or name not in self._topics:
            return {"name": name, "error_code": Error.UNKNOWN_TOPIC_OR_PARTITION}
        partitions = [
            {"partition_index": partition, "leader_id": leader, "replica_nodes": [leader], "isr_nodes": [leader]}
            for partition in range(self._topics[name])
        ]
        return {"name": name, "topic_id": self._topic_ids.by_name[name], "partitions": partitions}

    def _describe_cluster(self, ask: Ask) -> Values:
        nodes = self._nodes(ask.caller)
        values = {"cluster_id": CLUSTER_ID, "controller_id": nodes[0][0], "brokers": _brokers(nodes, "broker_id")}
        return {**values, "endpoint_type": _BROKERS}


def _brokers(nodes: list[Node], id_name: str) -> list[Values]:
    return [{id_name: node_id, "host": host, "port": port} for node_id, host, port in nodes]
