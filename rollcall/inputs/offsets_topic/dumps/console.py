"""What kafka-console-consumer prints with its default formatter and BytesDeserializer: every byte of every record.

    CreateTime:1795306760415<tab>Partition:0<tab>Offset:0<tab>key<tab>value

A byte that is not a plain character is written as \\xHH, so key and value come back as they were; "null" stands for
none. The command that makes it is in docs/offsets-topic.md. Knows only this format.
"""

from __future__ import annotations

import re

from rollcall.inputs.offsets_topic.dumps.log_record import LogRecord

_COLUMN = re.compile(rb"(CreateTime|LogAppendTime|NoTimestampType|Partition|Offset)(?::(-?\d+))?\Z")
_ESCAPE = re.compile(rb"\\x([0-9A-Fa-f]{2})")
_NEEDED = ("print.timestamp", "print.partition", "print.offset", "print.key")


def is_line(text: bytes) -> bool:
    """Whether a line looks like this format's."""
    return text.startswith((b"CreateTime:", b"LogAppendTime:", b"Partition:", b"Offset:"))


def read_line(text: bytes) -> LogRecord:
    """The record of a line. Raises ValueError: which column is missing, or what cannot be read."""
    columns = text.split(b"\t")
    numbers: dict[str, int] = {}
    while columns and (found := _COLUMN.match(columns[0])) is not None:
        numbers[found[1].decode()] = int(found[2] or -1)
        del columns[0]
    timestamp_ms = numbers.get("CreateTime", numbers.get("LogAppendTime"))
    if timestamp_ms is None or "Partition" not in numbers or "Offset" not in numbers or len(columns) < 2:
        raise ValueError(f"lacks a column: the formatter needs {', '.join(_NEEDED)}, each true")
    # Headers, where they are printed too, stand before the key.
    key, value = columns[-2:]
    return LogRecord(numbers["Partition"], numbers["Offset"], timestamp_ms, _bytes(key), _bytes(value))


def _bytes(text: bytes) -> bytes | None:
    if text == b"null":
        return None
    if text.count(b"\\") != len(_ESCAPE.findall(text)):
        raise ValueError(f"{text[:80]!r}: a backslash that begins no \\xHH; was BytesDeserializer asked for?")
    return _ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), text)
