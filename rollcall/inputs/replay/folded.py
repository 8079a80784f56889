"""The work of a process on a bucket of a dump: it folds the records of the bucket's groups, and writes rows to files.

Must not know a format, a record or a rule.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from rollcall.inputs.quarantined import quarantine_rows
from rollcall.inputs.replay.row_files import ROWS_A_FILE, RowFiles
from rollcall.inputs.replay.spilled_dump import Records, fold_bucket
from rollcall.schemas.effect_rows import QUARANTINED, EffectRow, texts_of
from rollcall.tables.rows import typed_rows

SOURCE = "offsets-topic"


def fold_into_files(
    bucket: int, records: Records, sessions: Mapping[str, int], raw_max_bytes: int
) -> tuple[int, list[Path]]:
    """Folds the records of a bucket's groups, and writes rows to files beside; returns the bucket and the files."""
    out = RowFiles(records.spilled.with_name(f"folded-{bucket:03}"))
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

    held = 0
    for group_id, rows in fold_bucket(records, sessions, raw_max_bytes):
        effects[group_id] += rows
        held += len(rows)
        if held >= ROWS_A_FILE:
            write()
            held = 0
    write()
    return bucket, out.files
