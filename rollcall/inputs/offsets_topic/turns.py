"""One group's records of a batch as rows of the effects table, with its history read before and written after.

Knows how records, documents and rows fit together; must not know Spark, nor what a record means.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rollcall.inputs.offsets_topic.dumps.json_lines import write_line
from rollcall.inputs.offsets_topic.dumps.log_record import LogRecord
from rollcall.inputs.offsets_topic.history.fold import apply, finish
from rollcall.inputs.offsets_topic.history.state import DocumentError, History, read_document, write_document
from rollcall.inputs.offsets_topic.records.decoding import Record, Skipped, decode
from rollcall.schemas.effect_rows import QUARANTINED, EffectRow, rows_of
from rollcall.schemas.layout import LayoutError
from rollcall.schemas.shown_effects import ShownEffect


class FoldedRecords(NamedTuple):
    """The result of a group's records."""

    rows: list[EffectRow]
    """Facts, and between them rows for the quarantine."""
    document: str | None
    """None: nothing of the group need be remembered."""
    is_held_back: bool
    """Whether facts are held back for records that may follow; a turn without records emits them."""


def take_turn(
    group_id: str,
    records: Sequence[LogRecord],
    document: str | None,
    names: Mapping[str, str],
    raw_max_bytes: int,
    session_ms: int = -1,
) -> FoldedRecords:
    """Applies records, in whatever order they came, to a group; none: nothing follows for now.

    names: topic names by id. session_ms: see History.
    """
    rows: list[EffectRow] = []
    history = History(group_id=group_id)
    if document is not None:
        try:
            history = read_document(document)
        except DocumentError as error:
            rows.append(_quarantined(f"state: {error}", None, document, raw_max_bytes))
    if session_ms >= 0:
        history.session_ms = session_ms
    rows += fold(history, sorted(records, key=lambda row: row.offset), names, raw_max_bytes)
    if not records:
        rows += end(history, names)
    return FoldedRecords(rows, None if _is_blank(history) else write_document(history), history.is_held_back)


def fold(
    history: History, records: Iterable[LogRecord], names: Mapping[str, str], raw_max_bytes: int
) -> list[EffectRow]:
    """Applies records in their order to a group's history: facts, and what goes to quarantine before them."""
    rows: list[EffectRow] = []
    readable: list[Record] = []
    for row in records:
        record = _read(row, rows, raw_max_bytes)
        if record is not None:
            readable.append(record)
    return rows + _numbered(apply(history, readable, names), history)


def end(history: History, names: Mapping[str, str]) -> list[EffectRow]:
    """The facts that were held back."""
    return _numbered(finish(history, names), history)


def unreadable(records: Sequence[LogRecord], raw_max_bytes: int) -> list[EffectRow]:
    """Records whose key names no group: rows for the quarantine, except those of unknown types."""
    rows: list[EffectRow] = []
    for row in records:
        _read(row, rows, raw_max_bytes)
    return rows


def _read(row: LogRecord, rows: list[EffectRow], raw_max_bytes: int) -> Record | None:
    """The record of a row; None for one that is skipped, or that went to quarantine."""
    try:
        record = decode(row.partition, row.offset, row.timestamp_ms, row.key, row.value)
    except LayoutError as error:
        reason = f"partition {row.partition} offset {row.offset}: {error}"
        rows.append(_quarantined(reason, row.timestamp_ms, write_line(LogRecord(*row[:5])).decode(), raw_max_bytes))
        return None
    return None if isinstance(record, Skipped) else record


def _numbered(facts: Sequence[ShownEffect], history: History) -> list[EffectRow]:
    """Rows of facts, each with its place among all of its group."""
    rows = rows_of(facts, history.seq + 1)
    history.seq += len(rows)
    return rows


def _quarantined(reason: str, at_ms: int | None, raw: str, raw_max_bytes: int) -> EffectRow:
    return EffectRow(0, QUARANTINED, at_ms, received_at_ms=at_ms, cause=reason, detail=raw[:raw_max_bytes])


def _is_blank(history: History) -> bool:
    """Whether a group is as one that was never seen."""
    return (
        history.group_type is None
        and history.is_covered
        and not (history.members or history.last_commit_ms or history.departures or history.is_held_back)
    )
