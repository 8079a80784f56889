"""Requests from a Kafka topic: each record is one request row as JSON.

A record's value is a row of the request table, {"group_id": ..., "request_id": ..., "received_at_ms": ...,
"request_seq": ..., "request": {...} or "{...}"}, or the request alone, as in the column `request`. Where the value
names no group, the record's key is the group id; so use the group id as the key. Where the value has no received_at_ms
or request_seq, the record's timestamp or offset is used.

Knows Spark's Kafka connector (which must be on the class path) and its options; must not know what a request says.
"""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rollcall.jobs.config import JobConfig
from rollcall.jobs.stream.sources.pace import load_ticks
from rollcall.programs.preflight import Missing
from rollcall.schemas.tables import REQUESTS
from rollcall.tables.home import Home

CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"


def load_kafka(spark: SparkSession, home: Home, config: JobConfig, status: str = "") -> DataFrame:
    """The topic as a stream that ticks. status: see Pace. Raises Missing: the connector is not on the class path."""
    reader = spark.readStream.format("kafka").options(**dict(config.kafka_options))
    reader = reader.option("subscribe", config.kafka_topic).option("startingOffsets", config.kafka_starting_offsets)
    try:
        records = reader.option("maxOffsetsPerTrigger", config.source_max_requests).load()
    except AnalysisException as error:
        if "kafka" not in str(error).lower():
            raise
        raise Missing(f"spark.coordinator.source=kafka needs Spark's connector: add --packages {CONNECTOR}.") from None
    requests = request_rows(records)
    if not config.source_tick_ms:
        return requests
    return requests.union(load_ticks(spark, config.source_tick_ms, status=status))


def request_rows(records: DataFrame) -> DataFrame:
    """Rows of the request table from a topic's records: key, value, timestamp and offset."""
    text = F.col("value").cast("string")
    row = F.from_json(text, REQUESTS.ddl)
    return records.select(text.alias("text"), row.alias("row"), "key", "timestamp", "offset").select(
        F.coalesce("row.group_id", F.col("key").cast("string")).alias("group_id"),
        F.col("row.request_id").alias("request_id"),
        F.coalesce("row.received_at_ms", F.unix_millis("timestamp")).alias("received_at_ms"),
        F.coalesce("row.request_seq", "offset").alias("request_seq"),
        F.coalesce("row.request", "text").alias("request"),
    )
