"""A topic's records as rows, without a broker: Spark's own expressions find groups as the pure part does."""

from __future__ import annotations

from pyspark.sql import Row, SparkSession

from rollcall.inputs.offsets_topic.dumps.log_record import LogRecord
from rollcall.inputs.offsets_topic.records.decoding import group_id_of
from rollcall.jobs.stream.sources.offsets_topic import record_rows
from rollcall.schemas.tables import RECORDS
from tests.offsets_topic.folded import CAPTURES, NAMES, read_dump
from tests.streaming.topic_records import connector_rows

UNKNOWN = LogRecord(9, 0, 1_000, b"\x00\x63\x00\x01g", b"x")
SHORT, NO_KEY = LogRecord(9, 1, 1_000, b"\x00", None), LogRecord(9, 2, 1_000, None, b"x")
CUT, NO_TEXT = (
    LogRecord(9, 3, 1_000, b"\x00\x02\x00\x09orders", None),
    LogRecord(9, 4, 1_000, b"\x00\x02\x00\x01\xff", None),
)
SHARE = LogRecord(9, 5, 1_000, b"\x00\x09\x00\x01g", b"x")


def rows_of(spark: SparkSession, records: list[LogRecord], *, has_commits: bool) -> list[Row]:
    rows = record_rows(spark.createDataFrame(connector_rows(records)), has_commits=has_commits)
    assert rows.columns == RECORDS.names
    return rows.orderBy("partition", "offset").collect()


def test_every_recorded_record_names_its_group_and_commits_are_left_out_where_asked(spark: SparkSession) -> None:
    records = [one for name in NAMES for one in read_dump(CAPTURES / name / "offsets-topic.jsonl.gz")]
    expected = sorted((one.partition, one.offset, str(group_id_of(one.key)), one.timestamp_ms) for one in records)
    found = rows_of(spark, records, has_commits=True)
    assert sorted((row.partition, row.offset, row.group_id, row.timestamp_ms) for row in found) == expected
    commits = sum((one.key or b"")[:2] in (b"\x00\x00", b"\x00\x01") for one in records)
    assert commits > 0
    assert len(rows_of(spark, records, has_commits=False)) == len(records) - commits


def test_what_cannot_be_read_goes_on_and_what_nobody_knows_does_not(spark: SparkSession) -> None:
    found = rows_of(spark, [UNKNOWN, SHORT, NO_KEY, CUT, NO_TEXT, SHARE], has_commits=False)
    assert [(row.offset, row.group_id) for row in found] == [(1, None), (2, None), (3, None), (4, None), (5, "g")]
