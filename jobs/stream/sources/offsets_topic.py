"""The records of a cluster's `__consumer_offsets`, as a stream of rows of `rollcall.schemas.tables.RECORDS`.

Skipped records never reach Python: Spark's own expressions find them by the first bytes of the key, the record's type.
Knows Spark's Kafka connector and where a key names its group. Must not know what a record says.
"""

from __future__ import annotations

from typing import NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from rollcall.inputs.offsets_topic import TOPIC
from rollcall.inputs.offsets_topic.history.fold import COMMITS
from rollcall.inputs.offsets_topic.records.shapes import RECORD_TYPES
from rollcall.jobs.config import JobConfig
from rollcall.jobs.stream.sources.ticks import load_ticks
from rollcall.schemas.tables import RECORDS

COUNTS = "records"
"""The name of the counts that each batch's progress carries: see Counted."""
TICK_MS = 2_000
"""How often a batch runs without records, for facts that wait for the other records of a request."""


class Counted(NamedTuple):
    """How many records a batch has read, from its progress."""

    read: int = 0
    commits: int = 0
    """Of these, committed offsets."""
    unknown: int = 0
    """Of these, records of a type that nobody knows, which are skipped."""


def load_offsets_topic(spark: SparkSession, config: JobConfig, *, has_commits: bool, checkpoint: str = "") -> DataFrame:
    """All partitions of the topic, from its beginning unless the settings say otherwise, with ticks in between.

    Records of aborted transactions are left out by the consumer. has_commits: False leaves committed offsets out.
    checkpoint: as load_ticks.
    """
    reader = spark.readStream.format("kafka").options(**{"kafka.isolation.level": "read_committed"})
    reader = reader.options(**dict(config.kafka_options)).option("subscribe", TOPIC)
    reader = reader.option("startingOffsets", config.kafka_starting_offsets)
    records = reader.option("maxOffsetsPerTrigger", config.source_max_requests).load()
    ticks = load_ticks(spark, TICK_MS, checkpoint)
    nothing = ticks.select([F.lit(None).cast(column.type).alias(column.name) for column in RECORDS.columns])
    return record_rows(records, has_commits=has_commits).union(nothing)


def record_rows(records: DataFrame, *, has_commits: bool) -> DataFrame:
    """Rows of RECORDS from a topic's records: key, value, partition, offset and timestamp; the rest is counted only."""
    is_commit, is_typed = _is_of_type(*COMMITS), F.length("key") >= 2
    is_unknown = is_typed & ~_is_of_type(*RECORD_TYPES)
    counts = [
        F.count(F.lit(1)).alias("read"),
        F.count_if(is_commit).alias("commits"),
        F.count_if(is_unknown).alias("unknown"),
    ]
    # A record whose type cannot be read goes to quarantine.
    is_wanted = ~F.coalesce(is_unknown, F.lit(False))
    if not has_commits:
        is_wanted &= ~F.coalesce(is_commit, F.lit(False))
    return (
        records.observe(COUNTS, *counts)
        .where(is_wanted)
        .select(
            _group_id().alias("group_id"),
            "partition",
            "offset",
            F.unix_millis("timestamp").alias("timestamp_ms"),
            "key",
            "value",
        )
    )


def _is_of_type(*numbers: int) -> Column:
    """Whether a record is of one of these types; null if its key has no type."""
    types = ", ".join(f"X'{number:04X}'" for number in numbers)
    return F.expr(f"substring(key, 1, 2) IN ({types})")


def _group_id() -> Column:
    """The text after the type in every key, with its length in two bytes before it; null if it cannot be read."""
    length = "CAST(conv(hex(substring(key, 3, 2)), 16, 10) AS INT)"
    text = f"CAST(substring(key, 5, {length}) AS STRING)"
    return F.expr(f"CASE WHEN length(key) >= 4 + {length} AND is_valid_utf8({text}) THEN {text} END")
