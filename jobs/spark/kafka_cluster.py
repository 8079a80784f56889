"""Asks a Kafka cluster for a topic, by the admin client of Spark's Kafka connector: TLS and SASL are set as for that.

Knows that client and its JVM. Must not know what the topic is for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from rollcall.programs.errors import NO_RIGHT_TO_TOPIC, NO_TOPIC, ClusterError
from rollcall.programs.kafka_options import KAFKA_PREFIX

ANSWER_WITHIN_S = 15
"""How long a cluster has to answer a program that starts."""
_REASONS = {
    "UnknownTopicOrPartitionException": NO_TOPIC,
    "TopicAuthorizationException": NO_RIGHT_TO_TOPIC,
    "TimeoutException": f"no broker answered within {ANSWER_WITHIN_S} s",
}
"""Sentences by the class of the Kafka client's error; for other classes its own text is shown."""


def check_topic(spark: SparkSession, options: Mapping[str, str], topic: str) -> None:
    """options: the connector's. Raises ClusterError: no answer, no such topic, or this user may not describe it."""
    jvm: Any = cast(Any, spark.sparkContext._jvm)
    properties = jvm.java.util.Properties()
    for key, value in options.items():
        if key.startswith(KAFKA_PREFIX):
            properties.setProperty(key.removeprefix(KAFKA_PREFIX), value)
    shown = f"kafka.bootstrap.servers={options['kafka.bootstrap.servers']}"
    topics = jvm.java.util.ArrayList()
    topics.add(topic)
    try:
        admin = jvm.org.apache.kafka.clients.admin.AdminClient.create(properties)
    except Py4JError as error:
        raise ClusterError(f"{shown}: {_reason(error)}.") from None
    try:
        admin.describeTopics(topics).allTopicNames().get(ANSWER_WITHIN_S, jvm.java.util.concurrent.TimeUnit.SECONDS)
    except Py4JError as error:
        raise ClusterError(f"{shown}: {topic}: {_reason(error)}.") from None
    finally:
        admin.close(jvm.java.time.Duration.ofSeconds(1))


def _reason(error: Py4JError) -> str:
    cause = getattr(error, "java_exception", None)
    while cause is not None and cause.getCause() is not None:
        cause = cause.getCause()
    kind = "" if cause is None else str(cause.getClass().getSimpleName())
    why = str(error) if cause is None else str(cause.getMessage() or kind)
    return _REASONS.get(kind, why).rstrip(".")
