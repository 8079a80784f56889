"""A cluster whose topic is followed: its id, the topic and its partitions, names of other topics.

Knows confluent-kafka's admin client. Must not know what answers are used for.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import Future
from typing import Any

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicPartition

from rollcall.inputs.following.listed_offsets import ANSWER_WITHIN_S, LATEST, ListedOffsets, answered
from rollcall.inputs.offsets_topic import TOPIC
from rollcall.programs.errors import NO_RIGHT_TO_TOPIC, NO_TOPIC, ClusterError

NAMES_WITHIN_S = 3
ASK_AGAIN_AFTER_S = 30.0
"""The pause before an id without a name is asked for again."""
_REASONS = {
    KafkaError.UNKNOWN_TOPIC_OR_PART: NO_TOPIC,
    KafkaError._UNKNOWN_TOPIC: NO_TOPIC,
    KafkaError.TOPIC_AUTHORIZATION_FAILED: NO_RIGHT_TO_TOPIC,
}
_NOBODY = (KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._ALL_BROKERS_DOWN, KafkaError._RESOLVE)


class FollowedCluster(ListedOffsets):
    """settings: confluent-kafka's. shown: how the user named the cluster."""

    def __init__(self, settings: Mapping[str, Any], shown: str) -> None:
        self._said: KafkaError | None = None
        super().__init__({**settings, "error_cb": self._hear})
        self._shown = shown
        self._names: dict[str, str] = {}
        self._asked_at = -ASK_AGAIN_AFTER_S
        self._unnamed: set[str] = set()

    def open(self) -> str:
        """The cluster's own id, whichever of its brokers is asked. Raises ClusterError: no answer, or no such topic."""
        try:
            found = self._admin.list_topics(TOPIC, timeout=ANSWER_WITHIN_S)
        except KafkaException as error:
            self._admin.poll(0)
            raise ClusterError(f"{self._shown}: {self._reason(error.args[0])}.") from None
        if (refused := found.topics[TOPIC].error) is not None:
            why = _REASONS.get(refused.code(), refused.str())
            raise ClusterError(f"{self._shown}: {TOPIC}: {why}.")
        return str(found.cluster_id)

    def partition_ids(self, within_s: float) -> list[int]:
        """The topic's partitions. Raises OSError: the cluster does not answer."""
        self._admin.poll(0)
        return list(answered(lambda: self._admin.list_topics(TOPIC, timeout=within_s)).topics[TOPIC].partitions)

    def ask_ends(self, partitions: Collection[int]) -> Mapping[int, Future[Any]]:
        """Where each partition of the topic ends for who reads committed records."""
        wanted = {TopicPartition(TOPIC, one): LATEST for one in partitions}
        found = self._admin.list_offsets(wanted, isolation_level=IsolationLevel.READ_COMMITTED)
        return {place.partition: answer for place, answer in found.items()}

    def names(self, topic_ids: Iterable[str]) -> dict[str, str]:
        """Names by topic id, if this user may describe the topics; the others are asked for again later."""
        wanted, now = set(topic_ids), time.monotonic()
        unknown = wanted - self._names.keys()
        if unknown - self._unnamed or (unknown and now >= self._asked_at + ASK_AGAIN_AFTER_S):
            self._asked_at = now
            try:
                topics = self._admin.list_topics(timeout=NAMES_WITHIN_S).topics
                self._names.update({topic_id: topic for topic, topic_id in self.topic_ids(topics).items()})
            except (KafkaException, OSError):
                pass
            self._unnamed = (self._unnamed | unknown) - self._names.keys()
        return {topic_id: self._names[topic_id] for topic_id in wanted & self._names.keys()}

    def _hear(self, error: KafkaError) -> None:
        """What the client says of its connections; that all brokers are down says less than why."""
        if error.code() != KafkaError._ALL_BROKERS_DOWN:
            self._said = error

    def _reason(self, error: KafkaError) -> str:
        if self._said is not None and self._said.code() not in _NOBODY:
            return str(self._said.str()).rstrip(".")
        return f"no broker answered within {ANSWER_WITHIN_S:g} s" if error.code() in _NOBODY else error.str()
