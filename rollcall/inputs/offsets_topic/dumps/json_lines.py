"""One JSON object a line: {"partition", "offset", "timestamp_ms", "key", "value"}, key and value base64 of their bytes.

`value` null is a tombstone. Two more fields may stand there: "producer_id" for a record of a transaction, and beside it
"marker", COMMIT or ABORT, for the control record that ends one. Knows only this format.
"""

from __future__ import annotations

import msgspec

from rollcall.inputs.offsets_topic.dumps.log_record import NO_PRODUCER, LogRecord, Marker


class _DumpedRecord(msgspec.Struct, kw_only=True):
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    producer_id: int = NO_PRODUCER
    marker: Marker | None = None


_decoder = msgspec.json.Decoder(_DumpedRecord)


def is_line(text: bytes) -> bool:
    """Whether a line looks like this format's."""
    return text.startswith(b"{") and b'"timestamp_ms"' in text


def is_record(text: bytes) -> bool:
    """Whether it is one; an application's log may have a time of this name, too."""
    try:
        return is_line(text) and bool(read_line(text))
    except (ValueError, RecursionError):
        return False


def read_line(text: bytes) -> LogRecord:
    """The record of a line. Raises ValueError: the text says which field and why."""
    line = _decoder.decode(text)
    return LogRecord(
        line.partition, line.offset, line.timestamp_ms, line.key, line.value, line.producer_id, line.marker
    )


def write_line(record: LogRecord) -> bytes:
    """A record as a line, without its end."""
    fields = record._asdict()
    if record.producer_id == NO_PRODUCER:
        del fields["producer_id"]
    if record.marker is None:
        del fields["marker"]
    return msgspec.json.encode(fields)
