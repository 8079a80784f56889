"""A topic's records as request rows, without a broker: what a record may leave out, and what the job then says."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rollcall.jobs.config import JobConfig
from rollcall.jobs.stream.sources.kafka import load_kafka, request_rows
from rollcall.programs.preflight import Missing
from rollcall.schemas.tables import REQUESTS
from rollcall.tables.home import Home

RECORDS = {
    "a row, the request an object": (
        None,
        b'{"group_id": "g", "request_id": "r", "received_at_ms": 5, "request_seq": 1, "request": {"api": "X", "n": 1}}',
        ("g", "r", 5, 1, '{"api":"X","n":1}'),
    ),
    "a row, the request a text": (
        None,
        b'{"group_id": "g", "request_id": "r", "received_at_ms": 5, "request_seq": 1, "request": "{\\"api\\": 1}"}',
        ("g", "r", 5, 1, '{"api": 1}'),
    ),
    "a bare request under its group's key": (b"g", b'{"api": "X"}', ("g", None, 1000, 7, '{"api": "X"}')),
    "a bare request that names its group": (
        b"other",
        b'{"api": "X", "group_id": "g", "request_id": "r"}',
        ("g", "r", 1000, 7, '{"api": "X", "group_id": "g", "request_id": "r"}'),
    ),
    "no JSON": (b"g", b"{", ("g", None, 1000, 7, "{")),
    "nothing": (b"g", None, ("g", None, 1000, 7, None)),
}


def test_a_record_becomes_a_request_row(spark: SparkSession) -> None:
    at = datetime.fromtimestamp(1, UTC)
    rows = [
        (n, bytearray(key) if key else None, None if value is None else bytearray(value), at, 7)
        for n, (key, value, _) in enumerate(RECORDS.values())
    ]
    records = spark.createDataFrame(rows, "n int, key binary, value binary, timestamp timestamp, offset long")
    found = request_rows(records.orderBy("n"))
    assert found.columns == REQUESTS.names
    assert [tuple(row) for row in found.collect()] == [expected for _, _, expected in RECORDS.values()]


def test_a_missing_connector_is_named(spark: SparkSession, tmp_path: Path) -> None:
    config = JobConfig.from_pairs(
        {
            "spark.coordinator.source": "kafka",
            "spark.coordinator.kafka.topic": "requests",
            "kafka.bootstrap.servers": "localhost:9092",
        }
    )
    with pytest.raises(Missing, match=r"needs Spark.s connector: add --packages org\.apache"):
        load_kafka(spark, Home(tmp_path), config)
