"""ListOffsets, Fetch and Produce of partitions that are empty for ever: their first and next offset are the same.

A Fetch waits as long as the client allows, holding a timer and no thread. There are no fetch sessions. Produce is
answered, with a refusal, because librdkafka fetches nothing from a broker that does not answer Produce and asks again
in a busy loop. Knows topics and offsets; knows no group.
"""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Mapping
from typing import Any

from kio.schema.errors import ErrorCode

from gateway.exchange import Answer, Ask, Endpoint, Later
from gateway.topic_ids import TopicIds
from gateway.wire.codec import WireError
from gateway.wire.shaping import entity_of
from schemas.errors import Error

_LATEST, _EARLIEST, _EARLIEST_LOCAL = -1, -2, -4
_NONE = -1
_NO_SESSION = 0

Values = dict[str, Any]
_REFUSED: Values = {
    "error_code": ErrorCode.policy_violation,
    "base_offset": _NONE,
    "error_message": "the gateway stands alone: its topics stay empty",
}


class EmptyLog:
    """Answers what consumers ask about records. offset: the first and next one of every partition."""

    def __init__(self, topics: Mapping[str, int], topic_ids: TopicIds, offset: int) -> None:
        self._topics = topics
        self._topic_ids = topic_ids
        self._offset = offset

    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint("Produce", 0, 3, 12, self._produce),
            Endpoint("Fetch", 1, 4, 17, self._fetch, holds=True),
            Endpoint("ListOffsets", 2, 1, 10, self._list_offsets),
        ]

    def _exists(self, topic: str | None, partition: int) -> bool:
        return topic is not None and 0 <= partition < self._topics.get(topic, 0)

    def _list_offsets(self, ask: Ask) -> Any:
        topics = [
            {"name": topic.name, "partitions": [self._listed(topic.name, partition) for partition in topic.partitions]}
            for topic in ask.message.topics
        ]
        return entity_of(ask.codec.response_type, {"topics": topics})

    def _produce(self, ask: Ask) -> Any:
        """Refuses every record. Raises WireError: acks=0, so no answer can tell; as with Kafka, the connection ends."""
        if ask.message.acks == 0:
            raise WireError("Produce without acknowledgement to a topic that stays empty")
        topics = [
            {"name": topic.name, "partition_responses": [_REFUSED | {"index": p.index} for p in topic.partition_data]}
            for topic in ask.message.topic_data
        ]
        return entity_of(ask.codec.response_type, {"responses": topics})

    def _listed(self, topic: str, partition: Any) -> Values:
        index = partition.partition_index
        if not self._exists(topic, index):
            return {"partition_index": index, "error_code": Error.UNKNOWN_TOPIC_OR_PARTITION}
        is_known = partition.timestamp in (_LATEST, _EARLIEST, _EARLIEST_LOCAL)
        return {"partition_index": index, "offset": self._offset if is_known else _NONE}

    def _fetch(self, ask: Ask) -> Answer:
        if getattr(ask.message, "session_id", _NO_SESSION) != _NO_SESSION:
            return entity_of(ask.codec.response_type, {"error_code": ErrorCode.fetch_session_id_not_found})
        response = self._fetched(ask)
        wait_s = ask.message.max_wait / datetime.timedelta(seconds=1)
        has_errors = any(partition.error_code for topic in response.responses for partition in topic.partitions)
        return response if has_errors or wait_s <= 0 else _after(wait_s, response)

    def _fetched(self, ask: Ask) -> Any:
        responses = []
        for topic in ask.message.topics:
            has_ids = hasattr(topic, "topic_id")
            name = self._topic_ids.name_by_id.get(str(topic.topic_id)) if has_ids else topic.topic
            missing = Error.UNKNOWN_TOPIC_ID if name is None else Error.UNKNOWN_TOPIC_OR_PARTITION
            partitions = [self._partition(name, partition, missing) for partition in topic.partitions]
            key = {"topic_id": topic.topic_id} if has_ids else {"topic": topic.topic}
            responses.append({**key, "partitions": partitions})
        return entity_of(ask.codec.response_type, {"responses": responses})

    def _partition(self, name: str | None, partition: Any, missing: Error) -> Values:
        values: Values = {"partition_index": partition.partition, "records": b""}
        if not self._exists(name, partition.partition):
            return {**values, "error_code": missing, "high_watermark": _NONE}
        # A consumer that has committed some other offset is at the end as well.
        end = max(self._offset, partition.fetch_offset)
        return {**values, "high_watermark": end, "last_stable_offset": end, "log_start_offset": self._offset}


def _after(wait_s: float, response: Any) -> Later:
    loop = asyncio.get_running_loop()
    waited: asyncio.Future[None] = loop.create_future()
    timer = loop.call_later(wait_s, waited.set_result, None)
    waited.add_done_callback(lambda _: timer.cancel())
    return Later(waited, lambda _: response)
