"""Where requests come from: each source gives a stream of rows of `schemas.tables.REQUESTS`, whatever it reads.

Each file has one source. A source passes on what it cannot make into a row as well (null group_id, the text as it
came), so that it goes to quarantine. Must not know what becomes of its rows.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession

from jobs.config import JobConfig
from jobs.home import Home
from jobs.stream.sources.delta_table import load_delta
from jobs.stream.sources.kafka import load_kafka

Source = Callable[[SparkSession, Home, JobConfig], DataFrame]

SOURCES: dict[str, Source] = {"delta": load_delta, "kafka": load_kafka, "request-log": load_delta}
"""By the name that spark.coordinator.source gives them. A request log's importer writes into the request table."""
