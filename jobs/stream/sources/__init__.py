"""The sources of requests: each returns a stream of rows of `rollcall.schemas.tables.REQUESTS`.

Each file has one source. An input that cannot become a row is passed on with a null group_id and its text, so that it
goes to quarantine. Must not know what is done with the rows.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession

from rollcall.jobs.config import JobConfig
from rollcall.jobs.stream.sources.delta_table import load_delta
from rollcall.jobs.stream.sources.kafka import load_kafka
from rollcall.tables.home import Home

Source = Callable[[SparkSession, Home, JobConfig, str], DataFrame]
"""Its last argument is the file with the job's note; see `rollcall.jobs.stream.sources.pace`."""

SOURCES: dict[str, Source] = {"delta": load_delta, "kafka": load_kafka, "request-log": load_delta}
"""By the value of spark.coordinator.source. A request log's importer writes into the request table."""
