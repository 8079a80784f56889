"""A line of an export as comma-separated values: the field that is a log line, and the one that is its time.

Knows quotes and commas. Columns are found by what stands in them, for each export names them otherwise.
"""

from __future__ import annotations

import csv

from app_logs.stamps import Stamp, stamp_at


def csv_line(text: str) -> tuple[str, Stamp | None] | None:
    """The longest field, of those with blanks if any are, and the first one that is a time; None: no such line.

    A message has blanks; a time may have one.
    """
    if not _may_be_one(text):
        return None
    try:
        fields = [field.strip() for field in next(csv.reader([text]))]
    except (csv.Error, StopIteration):
        return None
    if len(fields) < 2:
        return None
    stamps = [stamp_at(field) for field in fields]
    times = {field: stamp for field, stamp in zip(fields, stamps, strict=True) if stamp and stamp.length == len(field)}
    messages = [field for field in fields if " " in field and field not in times] or fields
    return max(messages, key=len), next(iter(times.values()), None)


def _may_be_one(text: str) -> bool:
    if text.startswith('"'):
        return '","' in text or '",' in text
    stamp = stamp_at(text)
    return stamp is not None and text[stamp.length : stamp.length + 1] == ","
