"""A line of an export as comma-separated values: the field that is a log line, and the one that is its time.

Knows quotes and commas. Columns are found by what stands in them, for each export names them otherwise.
"""

from __future__ import annotations

import csv

from app_logs.stamps import Stamp, stamp_at


def csv_line(text: str) -> tuple[str, Stamp | None] | None:
    """The longest field and the first one that is a time; None: the line is no such export's."""
    if not _may_be_one(text):
        return None
    try:
        fields = [field.strip() for field in next(csv.reader([text]))]
    except (csv.Error, StopIteration):
        return None
    if len(fields) < 2:
        return None
    stamps = (stamp_at(field) for field in fields)
    whole = (stamp for stamp, field in zip(stamps, fields, strict=True) if stamp and stamp.length == len(field))
    return max(fields, key=len), next(whole, None)


def _may_be_one(text: str) -> bool:
    if text.startswith('"'):
        return '","' in text or '",' in text
    stamp = stamp_at(text)
    return stamp is not None and text[stamp.length : stamp.length + 1] == ","
