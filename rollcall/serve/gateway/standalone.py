"""The data plane of a gateway on its own: Metadata, DescribeCluster, ListOffsets, Fetch and Produce.

Enough for unmodified consumers to run and to share the partitions out. Topics are those of the settings; partitions are
empty for ever, or grow by the clock for a demo. The gateway that is asked leads every partition, so that a client
depends on no other. Asking for a topic does not create it. A Fetch without news waits as long as the client allows,
holding no thread. There are no fetch sessions. Produce is answered, with a refusal, because librdkafka fetches nothing
from a broker that does not answer Produce and asks again in a busy loop. Knows topics and offsets; knows no group.
"""

from __future__ import annotations

import asyncio
import datetime
import io
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import time
from typing import Any

from kio.records.schema import NewRecordBatch, Record
from kio.records.writers import write_new_batch
from kio.schema.errors import ErrorCode
from kio.static.primitive import TZAwareMicros, i8, i16, i32, i64

from rollcall.schemas.errors import Error
from rollcall.serve.gateway.exchange import MAX_PARTITIONS, Answer, Ask, Building, Caller, Endpoint, Later
from rollcall.serve.gateway.group_apis import Node
from rollcall.serve.gateway.topic_ids import TopicIds
from rollcall.serve.gateway.wire.codec import WireError

_NO_SESSION = 0
_SECOND = datetime.timedelta(seconds=1)
_LONGEST_WAIT_S = 300.0
"""A fetch is answered with nothing after at most this long; Kafka's clients ask for half a second."""
_RECORDS_OF_A_PARTITION, _RECORDS_OF_AN_ANSWER = 20, 1000
_RECORD_BYTES = 300
"""More than a record and its batch take: a topic's name has 249 characters at most."""
LOG_START = 0
LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL = -1, -2, -3, -4
"""What ListOffsets asks for where a time would be."""
NONE = -1
_STEP_MS = 1000
_EPOCH = datetime.datetime.fromtimestamp(0, datetime.UTC)
Values = dict[str, Any]
_REFUSED: Values = {
    "error_code": ErrorCode.policy_violation,
    "base_offset": NONE,
    "error_message": "the gateway stands alone: its topics take no records",
}
CLUSTER_ID = "rollcall"
_ALL_TOPICS_IS_EMPTY_LIST = 0
_BROKERS = 1


class TopicLogs:
    """Answers what consumers ask about records."""

    def __init__(self, topics: Mapping[str, int], topic_ids: TopicIds, growth: Growth) -> None:
        self._topics = topics
        self._growth = growth
        self._topic_ids = topic_ids

    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint("Produce", 0, 3, 12, self._produce, max_elements=MAX_PARTITIONS),
            Endpoint("Fetch", 1, 4, 17, self._fetch, holds=True, max_elements=MAX_PARTITIONS),
            Endpoint("ListOffsets", 2, 1, 10, self._list_offsets, max_elements=MAX_PARTITIONS),
        ]

    def _exists(self, topic: str | None, partition: int) -> bool:
        return topic is not None and 0 <= partition < self._topics.get(topic, 0)

    def _list_offsets(self, ask: Ask) -> Answer:
        asked = ask.message.topics

        def build() -> Values:
            topics = [
                {"name": topic.name, "partitions": [self._listed(topic.name, listed) for listed in topic.partitions]}
                for topic in asked
            ]
            return {"topics": topics}

        return Building(sum(len(topic.partitions) for topic in asked), build)

    def _listed(self, topic: str, partition: Any) -> Values:
        index = partition.partition_index
        if not self._exists(topic, index):
            return {"partition_index": index, "error_code": Error.UNKNOWN_TOPIC_OR_PARTITION}
        offset, timestamp = self._growth.listed(topic, partition.timestamp)
        return {"partition_index": index, "offset": offset, "timestamp": timestamp}

    def _produce(self, ask: Ask) -> Answer:
        """Refuses every record. Raises WireError: acks=0 gets no refusal; as with Kafka, the connection ends."""
        if ask.message.acks == 0:
            raise WireError("Produce without acknowledgement to a topic that takes no records")
        produced = [(topic.name, [part.index for part in topic.partition_data]) for topic in ask.message.topic_data]

        def build() -> Values:
            topics = [
                {"name": name, "partition_responses": [_REFUSED | {"index": index} for index in indexes]}
                for name, indexes in produced
            ]
            return {"responses": topics}

        return Building(sum(len(indexes) for _, indexes in produced), build)

    def _fetch(self, ask: Ask) -> Answer:
        asked = ask.message
        if getattr(asked, "session_id", _NO_SESSION) != _NO_SESSION:
            return {"error_code": ErrorCode.fetch_session_id_not_found}
        named = [(self._name(topic), partition) for topic in asked.topics for partition in topic.partitions]
        news = sum(self._growth.end(name) > partition.fetch_offset for name, partition in named)
        elements = len(named) + news * _RECORDS_OF_A_PARTITION
        wait_s = min(asked.max_wait / _SECOND, _LONGEST_WAIT_S)
        if wait_s <= 0 or news or any(not self._exists(name, partition.partition) for name, partition in named):
            return Building(elements, lambda: self._fetched(asked))
        spoken, frame = ask.codec, ask.frame
        # A request waits as its bytes, since a parsed one takes many times as much memory.
        answer = Building(elements, lambda: self._fetched(spoken.read_request(frame)[1]))
        return Later(asyncio.ensure_future(asyncio.sleep(wait_s)), lambda _: answer)

    def _name(self, topic: Any) -> str | None:
        return self._topic_ids.name_by_id.get(str(topic.topic_id)) if hasattr(topic, "topic_id") else topic.topic

    def _fetched(self, asked: Any) -> Values:
        responses = []
        left = _RECORDS_OF_AN_ANSWER
        for topic in asked.topics:
            name = self._name(topic)
            missing = Error.UNKNOWN_TOPIC_ID if name is None else Error.UNKNOWN_TOPIC_OR_PARTITION
            partitions = []
            for partition in topic.partitions:
                count = min(left, _RECORDS_OF_A_PARTITION, max(1, partition.partition_max_bytes // _RECORD_BYTES))
                partitions.append(self._partition(name, partition, missing, count))
                left -= count if partitions[-1]["records"] else 0
            key = {"topic_id": topic.topic_id} if hasattr(topic, "topic_id") else {"topic": topic.topic}
            responses.append({**key, "partitions": partitions})
        return {"responses": responses}

    def _partition(self, name: str | None, partition: Any, missing: Error, count: int) -> Values:
        """The partition with at most count records."""
        values: Values = {"partition_index": partition.partition, "records": b""}
        if name is None or not self._exists(name, partition.partition):
            return {**values, "error_code": missing, "high_watermark": NONE}
        begin, end = max(LOG_START, partition.fetch_offset), self._growth.end(name)
        values["records"] = self._growth.batch(name, begin, min(end, begin + count))
        # A consumer that has committed some later offset is at the end as well.
        end = max(begin, end)
        return {**values, "high_watermark": end, "last_stable_offset": end, "log_start_offset": LOG_START}


@dataclass(frozen=True)
class Growth:
    """How the topics of a gateway grow; without an entry in per_second, a topic stays empty."""

    per_second: Mapping[str, int] = field(default_factory=dict)
    """Records per second and partition."""
    since_ms: int = 0

    def end(self, topic: str | None) -> int:
        """Return the next offset of each partition of a topic."""
        per_second = self.per_second.get(topic or "", 0)
        return per_second and per_second * max(0, (int(time() * 1000) - self.since_ms) // _STEP_MS)

    def listed(self, topic: str, asked: int) -> tuple[int, int]:
        """Return an offset and its record's time, as Kafka lists them. asked: a time or one of the numbers above."""
        end = self.end(topic)
        if asked in (EARLIEST, EARLIEST_LOCAL):
            return LOG_START, NONE
        if asked == LATEST:
            return end, NONE
        if asked == MAX_TIMESTAMP:
            # The first of the records that share the latest time.
            asked = self.since_ms + end // max(1, self.per_second.get(topic, 0)) * _STEP_MS
        if asked < 0 or not end:
            return NONE, NONE
        offset = self.per_second[topic] * max(0, -((self.since_ms - asked) // _STEP_MS) - 1)
        return (offset, self._at_ms(topic, offset)) if offset < end else (NONE, NONE)

    def batch(self, topic: str, begin: int, end: int) -> bytes:
        """Return the records of a partition between two offsets as one batch; none if there are none."""
        if begin >= end:
            return b""
        records = tuple(
            Record(
                attributes=i8(0),
                timestamp=TZAwareMicros.parse(_EPOCH + datetime.timedelta(milliseconds=self._at_ms(topic, offset))),
                offset=i64(offset),
                key=None,
                value=f"{topic} {offset}".encode(),
                headers=(),
            )
            for offset in range(begin, end)
        )
        buffer = io.BytesIO()
        made = NewRecordBatch(
            producer_id=i64(NONE), producer_epoch=i16(NONE), base_sequence=i32(NONE), records=records, attributes=i16(0)
        )
        write_new_batch(buffer, made)
        return buffer.getvalue()

    def _at_ms(self, topic: str, offset: int) -> int:
        return self.since_ms + (offset // self.per_second[topic] + 1) * _STEP_MS


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
