"""One group's records of a batch as rows of the effects table, with its history read before and written after.

Knows how records, documents and rows go together; must not know Spark, nor what a record means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from offsets_topic.dumps.json_lines import write_line
from offsets_topic.dumps.log_record import END_OFFSET, LogRecord
from offsets_topic.history.fold import apply, finish
from offsets_topic.history.state import DocumentError, History, read_document, write_document
from offsets_topic.records.decoding import Record, Skipped, decode
from offsets_topic.records.layout import RecordError
from schemas.effect_rows import QUARANTINED, EffectRow, row_of
from schemas.effects import Effect


class Row(NamedTuple):
    """A record as it crosses to a group."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    """None: no record, but the word that nothing follows for now."""
    value: bytes | None


NOTHING_FOLLOWS = Row(-1, END_OFFSET, 0, None, None)


class Turn(NamedTuple):
    """What came of a group's records."""

    rows: list[EffectRow]
    """Facts, and in between what goes to quarantine."""
    document: str | None
    """None: nothing of the group need be remembered."""
    is_held_back: bool
    """Whether facts wait for what may follow: where nothing does, a turn of an end alone tells them."""


def take_turn(
    group_id: str, records: Sequence[Row], document: str | None, names: Mapping[str, str], raw_max_bytes: int
) -> Turn:
    """Applies records, in whatever order they came, to a group. names: topic names by id."""
    rows: list[EffectRow] = []
    history = History(group_id=group_id)
    if document is not None:
        try:
            history = read_document(document)
        except DocumentError as error:
            rows.append(_quarantined(f"state: {error}", None, document, raw_max_bytes))
    in_order = sorted(records, key=lambda row: row.offset)
    is_end = bool(in_order) and in_order[-1].key is None
    readable: list[Record] = []
    for row in in_order[:-1] if is_end else in_order:
        record = _read(row, rows, raw_max_bytes)
        if record is not None:
            readable.append(record)
    told = apply(history, readable, names)
    if is_end:
        told += finish(history, names)
    rows += _numbered(told, history)
    return Turn(rows, None if _is_blank(history) else write_document(history), history.is_held_back)


def unreadable(records: Sequence[Row], raw_max_bytes: int) -> list[EffectRow]:
    """Records whose key names no group: rows for the quarantine, but for those of types that nobody knows."""
    rows: list[EffectRow] = []
    for row in records:
        _read(row, rows, raw_max_bytes)
    return rows


def _read(row: Row, rows: list[EffectRow], raw_max_bytes: int) -> Record | None:
    """The record of a row; None for one that is skipped, or that went to quarantine."""
    try:
        record = decode(row.partition, row.offset, row.timestamp_ms, row.key, row.value)
    except RecordError as error:
        reason = f"partition {row.partition} offset {row.offset}: {error}"
        rows.append(_quarantined(reason, row.timestamp_ms, _raw(row), raw_max_bytes))
        return None
    return None if isinstance(record, Skipped) else record


def _numbered(told: Sequence[Effect], history: History) -> list[EffectRow]:
    """Rows of facts, each with its place among all of its group."""
    rows = []
    for effect in told:
        history.seq += 1
        rows.append(row_of(effect, history.seq))
    return rows


def _quarantined(reason: str, at_ms: int | None, raw: str, raw_max_bytes: int) -> EffectRow:
    return EffectRow(0, QUARANTINED, at_ms, received_at_ms=at_ms, cause=reason, detail=raw[:raw_max_bytes])


def _raw(row: Row) -> str:
    """A record as a line of the JSON format that dumps may have."""
    return write_line(LogRecord(row.partition, row.offset, row.timestamp_ms, row.key, row.value)).decode()


def _is_blank(history: History) -> bool:
    """Whether a group is as one that was never seen."""
    return (
        history.group_type is None
        and history.is_covered
        and not (history.members or history.last_commit_ms or history.departures or history.is_held_back)
    )
