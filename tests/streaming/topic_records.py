"""A topic's records in the shape in which Spark's Kafka connector gives them.

Knows that shape. Must not know what a record says.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pyarrow as pa

from rollcall.inputs.offsets_topic.dumps.log_record import LogRecord

_SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
    ]
)


def connector_rows(records: Sequence[LogRecord]) -> pa.Table:
    """Records as rows; of none the columns."""
    rows = [
        {
            "key": one.key,
            "value": one.value,
            "partition": one.partition,
            "offset": one.offset,
            "timestamp": datetime.fromtimestamp(one.timestamp_ms / 1000, UTC),
        }
        for one in records
    ]
    return pa.Table.from_pylist(rows, _SCHEMA)
