"""Checks, before anything is written, that Delta and the needed connectors are there; else one sentence says which.

Knows a class of each connector. Must not know what it is used for.
"""

from __future__ import annotations

from typing import Any, cast

from py4j.java_gateway import JavaClass  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from rollcall.jobs.config import JobConfig
from rollcall.jobs.spark.jars import DELTA_COORDINATES
from rollcall.jobs.spark.kafka_cluster import check_topic
from rollcall.jobs.stream.sources.kafka import CONNECTOR
from rollcall.programs.preflight import Missing


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
    check_topic(spark, dict(config.kafka_options), config.kafka_topic)
