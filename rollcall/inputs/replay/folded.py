"""The work of a process on a bucket of a dump: it folds the records of the bucket's groups, and writes rows to files.

Must not know a format, a record or a rule.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from rollcall.inputs.offsets_topic.dumps.log_record import LogRecord
from rollcall.inputs.offsets_topic.history.state import History
from rollcall.inputs.offsets_topic.turns import end, fold, unreadable
from rollcall.inputs.quarantined import quarantine_rows
from rollcall.inputs.replay.row_files import ROWS_A_FILE, RowFiles
from rollcall.inputs.replay.spill import Piece, pieces_of
from rollcall.programs.processes import note_done
from rollcall.schemas.effect_rows import QUARANTINED, EffectRow, texts_of
from rollcall.tables.rows import typed_rows

SOURCE = "offsets-topic"
_records = msgspec.msgpack.Decoder(list[tuple[str | None, LogRecord]])


class GivenNames(NamedTuple):
    """What a group's own records may lack."""

    names: Mapping[str, str]
    """Topic names by topic id."""
    sessions: Mapping[str, int]
    """By group id, session timeouts of consumer groups that the user gave, ms."""


def fold_into_files(
    bucket: int, spilled: Path, pieces: Sequence[Piece], known: GivenNames, raw_max_bytes: int
) -> tuple[int, list[Path]]:
    """Folds the records of a bucket's groups, and writes rows to files beside; returns the bucket and the files."""
    out = RowFiles(spilled.with_name(f"folded-{bucket:03}"))
    histories: dict[str, History] = {}
    effects: defaultdict[str | None, list[EffectRow]] = defaultdict(list)

    def write() -> None:
        facts, unfit = list[str](), list[str]()
        for group_id, rows in effects.items():
            facts += texts_of(group_id, [row for row in rows if row.effect != QUARANTINED])
            unfit += texts_of(group_id, [row for row in rows if row.effect == QUARANTINED])
        effects.clear()
        out.write("effects", typed_rows(facts))
        if unfit:
            out.write("quarantine", quarantine_rows(typed_rows(unfit), SOURCE))

    for data in pieces_of(spilled, pieces):
        records: defaultdict[str | None, list[LogRecord]] = defaultdict(list)
        for group_id, row in _records.decode(data):
            records[group_id].append(row)
        for group_id, rows in records.items():
            if group_id is None:
                effects[None] += unreadable(rows, raw_max_bytes)
            else:
                session_ms = known.sessions.get(group_id, -1)
                history = histories.setdefault(group_id, History(group_id=group_id, session_ms=session_ms))
                effects[group_id] += fold(history, rows, known.names, raw_max_bytes)
            note_done(len(rows))
        if sum(map(len, effects.values())) >= ROWS_A_FILE:
            write()
    for group_id, history in histories.items():
        effects[group_id] += end(history, known.names)
    write()
    return bucket, out.files
