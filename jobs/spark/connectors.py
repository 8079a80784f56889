"""Checks, before anything is written, that Delta, the needed connectors and the topic are there; otherwise a sentence
says what is missing.

Knows a class of each connector, and the admin client of Kafka's, for which TLS and SASL are set as for the connector.
Must not know what they are used for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from py4j.java_gateway import JavaClass  # type: ignore[import-untyped]
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from rollcall.jobs.config import JobConfig
from rollcall.jobs.spark.jars import DELTA_COORDINATES
from rollcall.jobs.stream.sources.kafka import CONNECTOR
from rollcall.programs.errors import NO_RIGHT_TO_TOPIC, NO_TOPIC, ClusterError
from rollcall.programs.kafka_options import KAFKA_PREFIX
from rollcall.programs.preflight import Missing

_ANSWER_WITHIN_S = 15
"""How long a cluster has to answer a program that starts."""
_REASONS = {
    "UnknownTopicOrPartitionException": NO_TOPIC,
    "TopicAuthorizationException": NO_RIGHT_TO_TOPIC,
    "TimeoutException": f"no broker answered within {_ANSWER_WITHIN_S} s",
}
"""Sentences by the class of the Kafka client's error; for other classes its own text is shown."""


def check_connectors(spark: SparkSession, config: JobConfig) -> None:
    """Raises Missing: the classes of Delta are not there, or for source kafka those of Spark's connector.

    Raises ClusterError: the Kafka cluster does not answer within 15 s, or has no such topic for this user.
    """
    jvm: Any = cast(Any, spark.sparkContext._jvm)
    if not isinstance(jvm.org.apache.spark.sql.delta.catalog.DeltaCatalog, JavaClass):
        raise Missing(f"Spark's Delta connector is missing: add --packages {DELTA_COORDINATES}.")
    if config.source != "kafka":
        return
    if not isinstance(jvm.org.apache.spark.sql.kafka010.KafkaSourceProvider, JavaClass):
        raise Missing(f"spark.coordinator.source=kafka needs Spark's connector: add --packages {CONNECTOR}.")
    _check_topic(spark, dict(config.kafka_options), config.kafka_topic)


def _check_topic(spark: SparkSession, options: Mapping[str, str], topic: str) -> None:
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
        admin.describeTopics(topics).allTopicNames().get(_ANSWER_WITHIN_S, jvm.java.util.concurrent.TimeUnit.SECONDS)
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
