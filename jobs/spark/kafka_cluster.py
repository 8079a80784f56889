"""Asks a Kafka cluster for its id, its version and for topic names by id.

It uses the admin client of Spark's Kafka connector, so TLS and SASL are set as for the connector. Knows that client and
its JVM. Must not know what the answers are used for.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any, cast

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from rollcall.programs.errors import UserError
from rollcall.programs.kafka_options import KAFKA_PREFIX

ANSWER_WITHIN_S = 15
"""How long a cluster has to answer a program that starts."""
NAMES_WITHIN_S = 3
"""How long a batch waits for names of topics."""
ASK_AGAIN_AFTER_S = 30.0
"""The pause before an id without a name is asked for again."""


_REASONS = {
    "UnknownTopicOrPartitionException": "there is no such topic, or this user may not know it",
    "TopicAuthorizationException": "this user has no right to it",
    "TimeoutException": f"no broker answered within {ANSWER_WITHIN_S} s",
}
"""Sentences by the class of the Kafka client's error; for other classes its own text is shown."""


class ClusterError(UserError):
    """The cluster does not answer, or not to this user; the text says why."""


class KafkaCluster:
    """An admin client of one cluster. options: the connector's, of which those for Kafka's clients are used."""

    def __init__(self, spark: SparkSession, options: Mapping[str, str], shown: str = "") -> None:
        """shown: how the user named the cluster. Raises ClusterError: the options make no client."""
        self._jvm: Any = cast(Any, spark.sparkContext._jvm)
        properties = self._jvm.java.util.Properties()
        for key, value in options.items():
            if key.startswith(KAFKA_PREFIX):
                properties.setProperty(key.removeprefix(KAFKA_PREFIX), value)
        properties.setProperty("client.id", "rollcall-shadow-admin")
        self._shown = shown or f"FROM=kafka://{options['kafka.bootstrap.servers']}"
        try:
            self._admin = self._jvm.org.apache.kafka.clients.admin.AdminClient.create(properties)
        except Py4JError as error:
            raise self._error(error) from None
        self._unnamed: dict[str, float] = {}

    def close(self) -> None:
        self._admin.close(self._jvm.java.time.Duration.ofSeconds(1))

    def cluster_id(self) -> str:
        """The cluster's own id, whichever of its brokers is asked. Raises ClusterError."""
        try:
            return str(self._answer(self._admin.describeCluster().clusterId(), ANSWER_WITHIN_S))
        except Py4JError as error:
            raise self._error(error) from None

    def metadata_version(self) -> int | None:
        """The last level of the feature metadata.version that the asked broker supports; None: it names none."""
        try:
            features = self._answer(self._admin.describeFeatures().featureMetadata(), ANSWER_WITHIN_S)
            supported = features.supportedFeatures().get("metadata.version")
        except Py4JError:
            return None
        return None if supported is None else int(supported.maxVersion())

    def check_topic(self, topic: str) -> None:
        """Raises ClusterError: there is no such topic, or this user may not describe it."""
        topics = self._jvm.java.util.ArrayList()
        topics.add(topic)
        try:
            self._answer(self._admin.describeTopics(topics).allTopicNames(), ANSWER_WITHIN_S)
        except Py4JError as error:
            raise self._error(error, f"{topic}: ") from None

    def names(self, topic_ids: Iterable[str]) -> dict[str, str]:
        """Names by topic id, if this user may describe the topics; the others are asked for again later."""
        now = time.monotonic()
        asked = [one for one in topic_ids if now - self._unnamed.get(one, -ASK_AGAIN_AFTER_S) >= ASK_AGAIN_AFTER_S]
        found: dict[str, str] = {}
        if not asked:
            return found
        self._unnamed.update(dict.fromkeys(asked, now))
        answers = self._admin.describeTopics(self._ids(asked)).topicIdValues()
        for topic_id in answers.keySet():
            try:
                found[str(topic_id)] = str(self._answer(answers.get(topic_id), NAMES_WITHIN_S).name())
            except Py4JError:
                continue
        for topic_id in found:
            self._unnamed.pop(topic_id, None)
        return found

    def _ids(self, topic_ids: Iterable[str]) -> Any:
        ids = self._jvm.java.util.ArrayList()
        for topic_id in topic_ids:
            try:
                ids.add(self._jvm.org.apache.kafka.common.Uuid.fromString(topic_id))
            except Py4JError:
                continue
        return self._jvm.org.apache.kafka.common.TopicCollection.ofTopicIds(ids)

    def _answer(self, future: Any, within_s: int) -> Any:
        return future.get(within_s, self._jvm.java.util.concurrent.TimeUnit.SECONDS)

    def _error(self, error: Py4JError, about: str = "") -> ClusterError:
        cause = getattr(error, "java_exception", None)
        while cause is not None and cause.getCause() is not None:
            cause = cause.getCause()
        kind = "" if cause is None else str(cause.getClass().getSimpleName())
        why = str(error) if cause is None else str(cause.getMessage() or kind)
        return ClusterError(f"{self._shown}: {about}{_REASONS.get(kind, why).rstrip('.')}.")
